#if NIOOrigin
import AsyncHTTPClient
import AvatarCore
import AvatarOriginRules
import NIOCore
import NIOSSL

/// The HTTP clients of an `NIOHTTPOrigin`: one for direct connections, and one for each route through a proxy, because an
/// `HTTPClient` has one proxy for all requests.
struct ClientSet: Sendable {
    /// The client for direct connections. It checks the address of each peer.
    private let direct: HTTPClient
    /// The clients for connections through a proxy, by route.
    private let throughProxies: [Route: HTTPClient]

    /// The clients for `configuration`, with connections on the event loops of `group`.
    ///
    /// - Throws: `invalidConfiguration` if the file of additional trust roots cannot be read, or for a proxy with another
    ///   protocol than http.
    init(_ configuration: OriginConfiguration, on group: any EventLoopGroup) throws {
        for proxy in [configuration.proxies.http, configuration.proxies.https].compactMap({ $0 })
        where proxy.scheme != .http {
            throw AvatarStoreError(
                .invalidConfiguration,
                "The proxy \(proxy) must be an http:// proxy for NIOHTTPOrigin; HTTPOrigin supports \(proxy.scheme.rawValue)://."
            )
        }
        let common = try Self.common(configuration)
        var plain = common
        let guardPeer = PeerGuard(policy: configuration.guardPolicy).initializer
        plain.http1_1ConnectionDebugInitializer = { channel in
            guardPeer(channel).flatMap { RequestTarget.connectionInitializer(channel) }
        }
        plain.http2ConnectionDebugInitializer = { channel in
            guardPeer(channel).flatMap { ConnectionErrorHandler.initializer(channel) }
        }
        direct = HTTPClient(eventLoopGroup: group, configuration: plain)
        var throughProxies: [Route: HTTPClient] = [:]
        for route in Self.routes(configuration.proxies) {
            let client = Self.configuration(for: route, common, configuration)
            throughProxies[route] = HTTPClient(eventLoopGroup: group, configuration: client)
        }
        self.throughProxies = throughProxies
    }

    /// The client for `route`.
    subscript(route: Route) -> HTTPClient { throughProxies[route] ?? direct }

    /// Closes all connections, and returns when they are closed.
    func shutdown() async throws {
        for client in all { try await client.shutdown() }
    }

    /// Starts to close all connections without waiting.
    func abandon() {
        // HTTPClient traps if it is released without a shutdown. An error of the shutdown can only be ignored here.
        for client in all { client.shutdown(queue: .global()) { _ in } }
    }

    /// All clients.
    private var all: [HTTPClient] { [direct] + throughProxies.values }

    /// The routes through the configured proxies: `forward` for http URLs, `tunnel` for https URLs.
    private static func routes(_ proxies: ProxySettings) -> [Route] {
        [proxies.http.map { .forward($0) }, proxies.https.map { .tunnel($0) }].compactMap { $0 }
    }

    /// The settings that all clients share.
    ///
    /// - Throws: `invalidConfiguration` if the file of additional trust roots cannot be read.
    private static func common(_ configuration: OriginConfiguration) throws -> HTTPClient.Configuration {
        var client = HTTPClient.Configuration()
        client.redirectConfiguration = .disallow
        client.http1_1ConnectionDebugInitializer = RequestTarget.connectionInitializer
        client.http2StreamChannelDebugInitializer = RequestTarget.streamInitializer
        client.decompression = .disabled
        // Tracing would send a trace id to every origin.
        client.tracing.tracer = nil
        client.timeout.connect = .seconds(Int64(configuration.connectTimeoutSeconds))
        client.timeout.read = .seconds(Int64(configuration.idleTimeoutSeconds))
        client.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = configuration.poolLimit
        // PeerGuard closes forbidden connections while they come up, which the client's retry does not support.
        client.connectionPool.retryConnectionEstablishment = false
        if let file = configuration.additionalTrustRootsFile {
            client.tlsConfiguration = try tlsConfiguration(trusting: file)
        }
        return client
    }

    /// The settings of the client for `route`.
    private static func configuration(
        for route: Route,
        _ common: HTTPClient.Configuration,
        _ configuration: OriginConfiguration
    ) -> HTTPClient.Configuration {
        var client = common
        switch route {
        case .direct:
            break
        case .tunnel(let server):
            client.http2ConnectionDebugInitializer = ConnectionErrorHandler.initializer
            client.proxy = .server(
                host: server.host.bareName,
                port: server.host.port,
                authorization: server.user.map { .basic(username: $0, password: server.password ?? "") }
            )
        case .forward:
            // This client sees all requests as requests to the proxy. The store limits connections per host itself.
            client.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(64, configuration.poolLimit)
        }
        return client
    }

    /// The TLS settings that also trust the PEM certificates in `file`.
    ///
    /// - Throws: `invalidConfiguration` if the file cannot be read.
    private static func tlsConfiguration(trusting file: String) throws -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        do {
            tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(file))]
        } catch {
            throw AvatarStoreError(
                .invalidConfiguration,
                "The trust roots file \"\(file)\" must be a readable file of PEM certificates.",
                underlying: error
            )
        }
        return tls
    }
}
#endif
