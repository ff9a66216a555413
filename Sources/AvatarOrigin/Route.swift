import AvatarCore

/// The way of a request to its origin.
enum Route: Hashable, Sendable {
    case direct
    /// For https: the proxy connects to the origin and passes bytes on (RFC 9110 section 9.3.6).
    case tunnel(ProxyServer)
    /// For http: the proxy is sent the request with its whole URL (RFC 9112 section 3.2.2). Few proxies let anybody
    /// through to port 80 with CONNECT.
    case forward(ProxyServer)

    init(to url: AvatarKey, _ settings: ProxySettings) {
        guard let server = settings.server(for: url) else {
            self = .direct
            return
        }
        self = url.isSecure ? .tunnel(server) : .forward(server)
    }

    /// The proxy on the way.
    var proxy: ProxyServer? {
        switch self {
        case .direct: nil
        case .tunnel(let server), .forward(let server): server
        }
    }
}

extension AvatarKey {
    /// Whether this is an https URL.
    var isSecure: Bool { rawValue.utf8.starts(with: "https:".utf8) }
}
