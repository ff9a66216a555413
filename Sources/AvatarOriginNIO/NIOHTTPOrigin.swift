#if NIOOrigin
import AsyncHTTPClient
public import AvatarCore
@_exported public import AvatarOriginRules
public import HTTPTypes
public import NIOCore
import NIOHTTP1

/// An origin client on AsyncHTTPClient, for systems without libcurl: HTTP/1.1, and HTTP/2 over TLS if the origin offers it.
///
/// Pass it as `AvatarStore.Configuration.originClient`. It has the same settings as `HTTPOrigin`, but of the proxies it
/// supports http only, and it judges an address after the connection is made, before a byte of HTTP.
///
/// A response that an origin sends without a request, such as a late 408, may be taken for that to the next request if it
/// arrives in the moment before it. `HTTPOrigin` looks for such bytes first.
///
/// It follows redirects itself, and judges the host and the addresses of each hop before it sends a byte of HTTP. It
/// decodes no content coding. It sends no credentials except those that `Configuration.fieldsForHost` adds for the host
/// of the hop.
public final class NIOHTTPOrigin: OriginClient {
    /// The settings of an `NIOHTTPOrigin`.
    public typealias Configuration = OriginConfiguration

    /// The settings.
    let configuration: Configuration
    /// The HTTP clients, one for each route.
    private let clients: ClientSet
    /// Decides which hosts and addresses are contacted.
    let hostGuard: HostGuard
    /// Begun requests that wait for their batch.
    let outbox: Outbox

    /// The event loops of connections and timers.
    private let group: any EventLoopGroup

    /// An event loop for a timer.
    var eventLoop: any EventLoop { group.any() }

    /// Creates a client with its own connections, which `shutdown` closes.
    ///
    /// - Parameters:
    ///   - configuration: the settings.
    ///   - eventLoopGroup: the event loops of the host program; by default the ones that NIO libraries share.
    /// - Throws: `AvatarStoreError` with the code `invalidConfiguration` if the file of additional trust roots cannot
    ///   be read.
    public init(configuration: Configuration = Configuration(), eventLoopGroup: (any EventLoopGroup)? = nil) throws {
        self.configuration = configuration
        group = eventLoopGroup ?? HTTPClient.defaultEventLoopGroup
        clients = try ClientSet(configuration, on: group)
        outbox = Outbox(group)
        hostGuard = HostGuard(configuration)
    }

    deinit {
        clients.abandon()
    }

    /// Closes all connections. Requests in progress and later ones fail as `offline`, which is not held against any
    /// URL.
    ///
    /// - Throws: an error of the HTTP client, for example if it was shut down before.
    public func shutdown() async throws {
        try await clients.shutdown()
    }

    /// `globalOnly`, or `privateNetworks` if the configuration allows those.
    public var addressGuard: AddressGuard { configuration.addressGuard }

    /// Sends `request`, follows redirects, and passes the final response to `receive`.
    ///
    /// - Throws: `OriginError` if no response arrives or the rules forbid a hop; `CancellationError`; any error of
    ///   `receive`.
    public func send<Result: Sendable>(
        _ request: OriginRequest,
        receive: (OriginResponse) async throws -> Result
    ) async throws -> Result {
        let hops = try RedirectChain(from: request, limit: configuration.maximumRedirects)
        return try await follow(hops, for: request, from: try await execute(hops, request), receive: receive)
    }

    /// The header fields of a request for `url`, without conditions; `nil` if `url` is invalid.
    public func requestFields(for url: String) -> HTTPFields? {
        // The only error is an invalid URL, for which `send` throws it.
        guard let hops = try? RedirectChain(from: OriginRequest(url: url), limit: 0) else { return nil }
        let hop = HopRequest(hops, fields: HTTPFields(), configuration: configuration)
        return HTTPFields(hop.headers(along: .direct))
    }

    /// The head of a response, and the exchange that delivers its body.
    struct Answer: Sendable {
        let head: HTTPResponseHead
        let exchange: Exchange
        /// The beginning of the body, if it was read ahead.
        var start: BodyStart?
    }

    /// The beginning of a body that `begin` has read ahead.
    struct BodyStart: Sendable {
        /// The bytes so far.
        var bytes: [UInt8] = []
        /// Whether these are all.
        var isWhole = false
        /// The error that follows the bytes; `nil` if the body goes on.
        var error: (any Error)?
    }

    /// Follows redirects, beginning with the response `first`, and passes the final response to `receive`.
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
                let body = body(of: answer, at: hops.url)
                var response = OriginResponse(status: Int(answer.head.status.code), fields: fields, body: body)
                response.redirection = hops.redirection
                return try await receive(response)
            }
            try hops.follow(location, status: Int(answer.head.status.code), fields: fields)
            await answer.exchange.releaseAndWait()
            next = try await execute(hops, request)
        }
    }

    /// Sends the request of the current hop, and waits for the head of its response.
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

    /// The request of the current hop, ready to be sent.
    func exchange(_ hops: RedirectChain, _ request: OriginRequest, along route: Route) throws -> Exchange {
        let hop = HopRequest(hops, fields: request.fields, configuration: configuration)
        var headers = hop.headers(along: route)
        headers.replaceOrAdd(name: RequestTarget.fieldName, value: hop.target(along: route))
        let message = try HTTPClient.Request(url: hop.connectionURL(along: route), headers: headers)
        return Exchange(message, with: clients[route], willSend: request.willSend)
    }

    /// Refuses a response whose header is too large, and a proxy that asks for credentials.
    ///
    /// - Throws: `OriginError`.
    private func check(_ head: HTTPResponseHead, _ url: AvatarKey) throws {
        if case .forward(let proxy) = Route(to: url, configuration.proxies),
            head.status == .proxyAuthenticationRequired
        {
            throw FailureWording.proxyCredentials(proxy, url)
        }
        guard head.headers.count <= ResponseHeadLimits.maximumFieldCount else {
            throw FailureWording.error(FailureWording.tooManyFields, at: url)
        }
        // The HTTP client has a larger limit of its own, which protects memory.
        let size = head.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        guard size <= ResponseHeadLimits.maximumBytes else {
            throw FailureWording.error(FailureWording.headerTooLarge, at: url)
        }
    }

    /// The body of a response, whose errors are `OriginError`s.
    private func body(of answer: Answer, at url: AvatarKey) -> OriginBody {
        var start = answer.start
        let exchange = answer.exchange
        return OriginBody {
            if let bytes = start?.bytes, !bytes.isEmpty {
                start?.bytes = []
                return bytes
            }
            do {
                if let error = start?.error { throw error }
                if start?.isWhole == true { return nil }
                return try await exchange.next().map { Array($0.readableBytesView) }
            } catch {
                throw OriginFailure.translateInBody(error, host: url)
            }
        }
    }
}

extension HTTPFields {
    /// The fields of `headers`, without spaces and tabs around values (RFC 9112 section 5). A field with a name or
    /// value that HTTP does not allow is left out.
    init(_ headers: HTTPHeaders) {
        self.init()
        for (name, value) in headers {
            let value = String(value.withoutBlanks)
            guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else { continue }
            // Bytes that are not UTF-8 are lost by now, so such a tag could not be sent back verbatim.
            if name == .eTag, value.unicodeScalars.contains("\u{FFFD}") { continue }
            append(HTTPField(name: name, value: value))
        }
    }
}

extension HTTPResponseHead {
    /// Whether the client follows its Location (RFC 9110 section 15.4). It does not follow that of a 300 or 304.
    var redirects: Bool { [301, 302, 303, 307, 308].contains(status.code) }
}
#endif
