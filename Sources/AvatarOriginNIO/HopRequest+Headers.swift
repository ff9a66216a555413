#if NIOOrigin
import AvatarOriginRules
import NIOHTTP1

extension HopRequest {
    /// The header fields of the request, with those for a proxy that forwards it.
    func headers(along route: Route) -> HTTPHeaders {
        var headers = HTTPHeaders(fields.all)
        guard case .forward(let proxy) = route else { return headers }
        headers.replaceOrAdd(name: "Host", value: String(origin.dropFirst("http://".count)))
        if let authorization = proxy.authorization {
            headers.replaceOrAdd(name: "Proxy-Authorization", value: authorization)
        }
        return headers
    }

    /// The URL that the HTTP client connects to: of the origin, or of a proxy that forwards requests.
    func connectionURL(along route: Route) -> String {
        guard case .forward(let proxy) = route else { return origin }
        return "http://\(proxy.host)"
    }
}
#endif
