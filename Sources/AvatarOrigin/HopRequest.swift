import AsyncHTTPClient
import AvatarCore
import HTTPTypes
import NIOHTTP1

/// A request for one hop, as text.
struct HopRequest {
    /// Where the connection goes: scheme and authority.
    private(set) var url: String
    /// The request target, byte for byte.
    private(set) var target: String
    private(set) var headers = HTTPHeaders()

    /// The request for the present hop of `hops`.
    ///
    /// Nothing that is meant for one origin is sent to another: the host's fields are asked for anew. The conditions are
    /// for one URL alone, whichever hop that is.
    init(
        _ hops: RedirectChain,
        along route: Route,
        fields: HTTPFields,
        configuration: HTTPOrigin.Configuration
    ) {
        (url, target) = hops.url.originAndTarget
        headers.add(name: "User-Agent", value: configuration.userAgent)
        headers.add(name: "Accept", value: "image/*, */*;q=0.1")
        // What is stored is the image's own bytes; a coding would have to be undone first.
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

    /// Addresses the request to the proxy, which is given the whole URL as target.
    private mutating func forward(_ key: AvatarKey, through proxy: ProxyServer) {
        headers.replaceOrAdd(name: "Host", value: String(url.dropFirst("http://".count)))
        if let authorization = proxy.authorization {
            headers.replaceOrAdd(name: "Proxy-Authorization", value: authorization)
        }
        target = key.rawValue
        url = "http://\(proxy.host)"
    }
}

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
