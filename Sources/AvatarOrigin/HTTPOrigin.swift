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
    /// The longest body of a redirect that is read to keep its connection.
    private static let longestRedirectBody = 16_384

    private let configuration: Configuration
    private let clients: ClientSet
    private let hostGuard: HostGuard

    /// A client with connections of its own; `shutdown` closes them.
    ///
    /// - Parameter eventLoopGroup: the host's event loops; by default those that all of its NIO libraries share.
    /// - Throws: `invalidConfiguration` if the trust roots cannot be read.
    public init(configuration: Configuration = Configuration(), eventLoopGroup: (any EventLoopGroup)? = nil) throws {
        self.configuration = configuration
        clients = try ClientSet(configuration, on: eventLoopGroup ?? HTTPClient.defaultEventLoopGroup)
        hostGuard = HostGuard(configuration)
    }

    deinit {
        clients.abandon()
    }

    /// Closes all connections. A request after it fails.
    public func shutdown() async throws {
        try await clients.shutdown()
    }

    /// `"on"`, or `"privateNetworks"` if those may be contacted too.
    public var guardDescription: String {
        configuration.allowsPrivateNetworks ? "privateNetworks" : "on"
    }

    /// Sends `request`, follows redirects, and hands the final answer to `receive`.
    ///
    /// - Throws: `OriginError`; what `receive` throws passes through.
    public func send<Result: Sendable>(
        _ request: OriginRequest,
        receive: (OriginResponse) async throws -> Result
    ) async throws -> Result {
        var hops = try RedirectChain(from: request, limit: configuration.maximumRedirects)
        while true {
            let response = try await execute(hops, request)
            guard let location = response.redirectLocation else {
                let answer = OriginResponse(
                    status: Int(response.status.code),
                    fields: HTTPFields(response.headers),
                    body: body(of: response, at: hops.url)
                )
                return try await receive(answer)
            }
            try hops.follow(location)
            await drain(response)
        }
    }

    /// What a request for `url` says besides its conditions; `nil` for what is no URL.
    public func requestFields(for url: String) -> HTTPFields? {
        guard let hops = try? RedirectChain(from: OriginRequest(url: url), limit: 0) else { return nil }
        let headers = HTTPClientRequest(hops, along: .direct, HTTPFields(), configuration).headers
        return HTTPFields(headers)
    }

    /// Sends one request. A pooled connection may have been closed by the origin in the moment it was taken; since
    /// nothing was answered, that one attempt is made again on another.
    private func execute(_ hops: RedirectChain, _ request: OriginRequest) async throws -> HTTPClientResponse {
        let route = Route(to: hops.url, configuration.proxies)
        try await hostGuard.admit(hops.url, along: route)
        let message = HTTPClientRequest(hops, along: route, request.fields, configuration)
        var attempts = 0
        while true {
            attempts += 1
            request.willSend()
            do {
                let response = try await clients[route].execute(message, deadline: .distantFuture)
                try check(response, hops.url, route)
                return response
            } catch  where attempts < 2 && OriginFailure.isClosedConnection(error) {
                continue
            } catch {
                throw OriginFailure.translate(error, host: hops.url, along: route)
            }
        }
    }

    private func check(_ response: HTTPClientResponse, _ url: AvatarKey, _ route: Route) throws {
        if case .forward(let proxy) = route, response.status == .proxyAuthenticationRequired {
            throw OriginFailure.proxyCredentials(proxy, url)
        }
        // Within the client's own limit, which is a defence of memory.
        let size = response.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        guard size <= Self.maximumHeaderBytes else { throw OriginFailure.headerTooLarge(url) }
    }

    private func body(of response: HTTPClientResponse, at url: AvatarKey) -> OriginBody {
        var iterator = response.body.makeAsyncIterator()
        return OriginBody {
            do {
                return try await iterator.next(isolation: #isolation).map { Array($0.readableBytesView) }
            } catch {
                throw OriginFailure.translateInBody(error, host: url)
            }
        }
    }

    /// Reads the body of a redirect if it is small, as its connection can only then be used again.
    private func drain(_ response: HTTPClientResponse) async {
        guard let length = response.headers.first(name: "Content-Length").flatMap({ Int($0) }),
            length <= Self.longestRedirectBody
        else { return }
        do {
            for try await _ in response.body {}
        } catch {
            // The connection is lost, which is all that was at stake.
        }
    }
}

extension HTTPFields {
    /// The fields of `headers`; a name or value that HTTP does not allow is left out, as no rule can apply to it.
    init(_ headers: HTTPHeaders) {
        self.init()
        for (name, value) in headers {
            guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else { continue }
            // Bytes that are no UTF-8 are lost by now: such a tag could not be sent back as it came.
            if name == .eTag, value.unicodeScalars.contains("\u{FFFD}") { continue }
            append(HTTPField(name: name, value: value))
        }
    }
}

extension HTTPClientResponse {
    /// Where the answer sends us, if it does (RFC 9110 section 15.4). A 300 or 304 sends nobody anywhere.
    fileprivate var redirectLocation: String? {
        switch status.code {
        case 301, 302, 303, 307, 308: headers.first(name: "Location")
        default: nil
        }
    }
}
