import AsyncHTTPClient
import AvatarCore
import HTTPTypes
import NIOHTTP1

/// A request for one hop, as text.
struct HopRequest {
    private(set) var url: String
    private(set) var headers = HTTPHeaders()

    /// The request for the present hop of `hops`.
    ///
    /// Nothing that is meant for one origin is sent to another: the host's fields are asked for anew. The conditions are
    /// for one URL alone, whichever hop that is.
    init(
        _ hops: RedirectChain,
        along route: Route,
        _ fields: HTTPFields,
        _ configuration: HTTPOrigin.Configuration
    ) {
        url = hops.url.rawValue
        headers.add(name: "User-Agent", value: configuration.userAgent)
        headers.add(name: "Accept", value: "image/*")
        // What is stored is the image's own bytes; a coding would have to be undone first.
        headers.add(name: "Accept-Encoding", value: "identity")
        for field in fields where Self.conditions.contains(field.name) ? hops.isConditional : !hops.hasLeftOrigin {
            headers.replaceOrAdd(name: field.name.rawName, value: field.value)
        }
        if let hook = configuration.fieldsForHost, !hops.hasLostEncryption, let host = hops.url.host {
            for field in hook(host.description) { headers.replaceOrAdd(name: field.name, value: field.value) }
        }
        if case .forward(let proxy) = route { forward(through: proxy) }
    }

    private static let conditions: Set<HTTPField.Name> = [
        .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange, .range,
    ]

    /// Addresses the request to the proxy: `AbsoluteForm` joins the origin's host and the path again.
    private mutating func forward(through proxy: ProxyServer) {
        let rest = url.utf8.dropFirst("http://".utf8.count)
        let authority = rest.prefix { $0 != UInt8(ascii: "/") }
        headers.replaceOrAdd(name: "Host", value: String(Substring(authority)))
        if let authorization = proxy.authorization {
            headers.replaceOrAdd(name: "Proxy-Authorization", value: authorization)
        }
        url = "http://\(proxy.host)" + String(Substring(rest[authority.endIndex...]))
    }
}
