import AsyncHTTPClient
import AvatarCore
import HTTPTypes
import NIOHTTP1

/// The URL, the target and the header fields of a request for one hop.
struct HopRequest {
    /// The scheme and authority that the connection goes to.
    private(set) var url: String
    /// The request target, byte for byte.
    private(set) var target: String
    /// The header fields.
    private(set) var headers = HTTPHeaders()

    /// The request for the current hop of `hops`.
    ///
    /// Fields for one origin are never sent to another, so `fieldsForHost` is called for each hop. The conditions are
    /// sent only to the URL that they belong to.
    ///
    /// - Parameters:
    ///   - hops: the redirect chain.
    ///   - route: the way to the origin.
    ///   - fields: the fields of the store's request.
    ///   - configuration: the settings of the client.
    init(
        _ hops: RedirectChain,
        along route: Route,
        fields: HTTPFields,
        configuration: HTTPOrigin.Configuration
    ) {
        (url, target) = hops.url.originAndTarget
        headers.add(name: "User-Agent", value: configuration.userAgent)
        headers.add(name: "Accept", value: "image/*, */*;q=0.1")
        // The store keeps the image's own bytes, so a content coding would have to be decoded first.
        headers.add(name: "Accept-Encoding", value: "identity")
        for field in fields where Self.conditions.contains(field.name) ? hops.isConditional : !hops.hasLeftOrigin {
            headers.replaceOrAdd(name: field.name.rawName, value: field.value)
        }
        if let hook = configuration.fieldsForHost, !hops.hasLostEncryption, let host = hops.url.host {
            for field in hook(host.description) { headers.replaceOrAdd(name: field.name, value: field.value) }
        }
        if let cookies = hops.cookies.field(for: hops.url) {
            let all = headers["Cookie"] + [cookies]
            headers.replaceOrAdd(name: "Cookie", value: all.joined(separator: "; "))
        }
        if case .forward(let proxy) = route { forward(hops.url, through: proxy) }
    }

    private static let conditions: Set<HTTPField.Name> = [
        .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange, .range,
    ]

    /// Sends the request to the proxy, with the whole URL as target.
    private mutating func forward(_ key: AvatarKey, through proxy: ProxyServer) {
        headers.replaceOrAdd(name: "Host", value: String(url.dropFirst("http://".count)))
        if let authorization = proxy.authorization {
            headers.replaceOrAdd(name: "Proxy-Authorization", value: authorization)
        }
        target = key.rawValue
        url = "http://\(proxy.host)"
    }
}

/// The route of a request to its origin.
enum Route: Hashable, Sendable {
    /// Without a proxy.
    case direct
    /// For https: the proxy connects to the origin and forwards bytes (CONNECT, RFC 9110 section 9.3.6).
    case tunnel(ProxyServer)
    /// For http: the proxy receives the request with the whole URL (RFC 9112 section 3.2.2), because few proxies allow
    /// CONNECT to port 80.
    case forward(ProxyServer)

    /// The route to `url` by the proxy settings.
    init(to url: AvatarKey, _ settings: ProxySettings) {
        guard let server = settings.server(for: url) else {
            self = .direct
            return
        }
        self = url.isSecure ? .tunnel(server) : .forward(server)
    }

    /// The proxy on the route; `nil` for a direct one.
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
