import AsyncHTTPClient
public import AvatarCore
public import HTTPTypes
public import NIOCore
import NIOHTTP1

/// The store's origin client, on AsyncHTTPClient: HTTP/1.1, and HTTP/2 over TLS where the origin offers it.
///
/// It follows redirects itself, judges each hop by its host and by its addresses before a byte of HTTP is sent, decodes
/// no content coding, and sends no credentials but those that the host's hook adds for a hop's own host.
public final class HTTPOrigin: OriginClient {
    /// The most bytes that the header of an answer may have.
    static let maximumHeaderBytes = 65_536

    let configuration: Configuration
    private let clients: ClientSet
    let hostGuard: HostGuard
    let outbox: Outbox

    /// A client with connections of its own; `shutdown` closes them.
    ///
    /// - Parameter eventLoopGroup: the host's event loops; by default those that all of its NIO libraries share.
    /// - Throws: `invalidConfiguration` if the trust roots cannot be read.
    public init(configuration: Configuration = Configuration(), eventLoopGroup: (any EventLoopGroup)? = nil) throws {
        self.configuration = configuration
        let group = eventLoopGroup ?? HTTPClient.defaultEventLoopGroup
        clients = try ClientSet(configuration, on: group)
        outbox = Outbox(group)
        hostGuard = HostGuard(configuration)
    }

    deinit {
        clients.abandon()
    }

    /// Closes all connections. Requests that are under way fail, and later ones too, as `offline`: nothing is said of a URL.
    public func shutdown() async throws {
        try await clients.shutdown()
    }

    /// `globalOnly`, or `privateNetworks` if the configuration allows those.
    public var addressGuard: AddressGuard { configuration.addressGuard }

    /// Sends `request`, follows redirects, and hands the final answer to `receive`.
    ///
    /// - Throws: `OriginError`; what `receive` throws passes through.
    public func send<Result: Sendable>(
        _ request: OriginRequest,
        receive: (OriginResponse) async throws -> Result
    ) async throws -> Result {
        let hops = try RedirectChain(from: request, limit: configuration.maximumRedirects)
        return try await follow(hops, for: request, from: try await execute(hops, request), receive: receive)
    }

    /// What a request for `url` says besides its conditions; `nil` for what is no URL.
    public func requestFields(for url: String) -> HTTPFields? {
        guard let hops = try? RedirectChain(from: OriginRequest(url: url), limit: 0) else { return nil }
        let headers = HopRequest(hops, along: .direct, fields: HTTPFields(), configuration: configuration).headers
        return HTTPFields(headers)
    }

    /// What a request led to: the head of an answer, and whoever has the rest.
    struct Answer: Sendable {
        let head: HTTPResponseHead
        let exchange: Exchange
    }

    /// Follows the redirects of `hops` from `first` on, and hands the final answer to `receive`.
    func follow<Result: Sendable>(
        _ hops: RedirectChain,
        for request: OriginRequest,
        from first: Answer,
        receive: (OriginResponse) async throws -> Result
    ) async throws -> Result {
        var hops = hops
        do {
            return try await follow(&hops, for: request, from: first, receive: receive)
        } catch var error as OriginError where hops.redirection != nil {
            error.redirectedHost = hops.url.host?.description
            throw error
        }
    }

    private func follow<Result: Sendable>(
        _ hops: inout RedirectChain,
        for request: OriginRequest,
        from first: Answer,
        receive: (OriginResponse) async throws -> Result
    ) async throws -> Result {
        var next = first
        while true {
            let answer = next
            defer { answer.exchange.release() }
            try check(answer.head, hops.url)
            let fields = HTTPFields(answer.head.headers)
            guard let location = answer.head.redirects ? fields[values: .location].first : nil else {
                let body = body(of: answer.exchange, at: hops.url)
                var response = OriginResponse(status: Int(answer.head.status.code), fields: fields, body: body)
                response.redirection = hops.redirection
                return try await receive(response)
            }
            try hops.follow(location, status: Int(answer.head.status.code), fields: fields)
            await answer.exchange.releaseAndWait()
            next = try await execute(hops, request)
        }
    }

    /// Sends the request of the present hop, and waits for the head of its answer.
    private func execute(_ hops: RedirectChain, _ request: OriginRequest) async throws -> Answer {
        let route = Route(to: hops.url, configuration.proxies)
        try await hostGuard.admit(hops.url, along: route)
        do {
            let exchange = try exchange(hops, request, along: route)
            return Answer(head: try await exchange.head(), exchange: exchange)
        } catch {
            throw OriginFailure.translate(error, host: hops.url, along: route)
        }
    }

    /// The request of the present hop, ready to be sent.
    func exchange(_ hops: RedirectChain, _ request: OriginRequest, along route: Route) throws -> Exchange {
        let hop = HopRequest(hops, along: route, fields: request.fields, configuration: configuration)
        var headers = hop.headers
        headers.replaceOrAdd(name: RequestTarget.fieldName, value: hop.target)
        let message = try HTTPClient.Request(url: hop.url, headers: headers)
        return Exchange(message, with: clients[route], willSend: request.willSend)
    }

    private func check(_ head: HTTPResponseHead, _ url: AvatarKey) throws {
        if case .forward(let proxy) = Route(to: url, configuration.proxies),
            head.status == .proxyAuthenticationRequired
        {
            throw OriginFailure.proxyCredentials(proxy, url)
        }
        guard head.headers.count <= ResponseHeadRepair.maximumFieldCount else { throw OriginFailure.tooManyFields(url) }
        // Within the client's own limit, which is a defence of memory.
        let size = head.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        guard size <= Self.maximumHeaderBytes else { throw OriginFailure.headerTooLarge(url) }
    }

    private func body(of exchange: Exchange, at url: AvatarKey) -> OriginBody {
        OriginBody {
            do {
                return try await exchange.next().map { Array($0.readableBytesView) }
            } catch {
                throw OriginFailure.translateInBody(error, host: url)
            }
        }
    }
}

extension HTTPFields {
    /// The fields of `headers`, without the blanks around values (RFC 9112 section 5). A name or value that HTTP does not
    /// allow is left out, as no rule can apply to it.
    init(_ headers: HTTPHeaders) {
        self.init()
        for (name, value) in headers {
            let value = String(value.withoutBlanks)
            guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else { continue }
            // Bytes that are no UTF-8 are lost by now: such a tag could not be sent back as it came.
            if name == .eTag, value.unicodeScalars.contains("\u{FFFD}") { continue }
            append(HTTPField(name: name, value: value))
        }
    }
}

extension HTTPResponseHead {
    /// Whether its Location is to be followed (RFC 9110 section 15.4). That of a 300 or 304 is not.
    fileprivate var redirects: Bool { [301, 302, 303, 307, 308].contains(status.code) }
}
