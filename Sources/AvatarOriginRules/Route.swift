package import AvatarCore

/// The route of a request to its origin.
package enum Route: Hashable, Sendable {
    /// Without a proxy.
    case direct
    /// The proxy connects to the origin and forwards bytes: for https URLs (CONNECT, RFC 9110 section 9.3.6), and for all
    /// URLs if the proxy speaks SOCKS (RFC 1928).
    case tunnel(ProxyServer)
    /// For http: the proxy receives the request with the whole URL (RFC 9112 section 3.2.2), because few proxies allow
    /// CONNECT to port 80.
    case forward(ProxyServer)

    /// The route to `url` by the proxy settings.
    package init(to url: AvatarKey, _ settings: ProxySettings) {
        guard let server = settings.server(for: url) else {
            self = .direct
            return
        }
        self = url.isSecure || server.scheme.isSOCKS ? .tunnel(server) : .forward(server)
    }

    /// The proxy on the route; `nil` for a direct one.
    package var proxy: ProxyServer? {
        switch self {
        case .direct: nil
        case .tunnel(let server), .forward(let server): server
        }
    }
}

extension AvatarKey {
    /// Whether this is an https URL.
    package var isSecure: Bool { rawValue.utf8.starts(with: "https:".utf8) }
}
