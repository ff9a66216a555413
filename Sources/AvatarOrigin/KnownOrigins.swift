import AvatarCore
import AvatarFoundation
import AvatarOriginRules

/// The facts that a client knows of an origin from its URL and the settings, which do not change. Requests of a sync mostly go to few
/// origins, and parsing the host again for each request costs a tenth of its processor time.
final class KnownOrigins: Sendable {
    /// The facts of one origin.
    struct Facts: Sendable {
        /// The host and port; `nil` for a URL without a host, which is refused.
        let host: HostName?
        let route: Route
        /// The addresses of a URL that names one; `nil` for a name, which has to be looked up.
        let addresses: [IPAddress]?
        /// Whether the host of the URL or the proxy is an address.
        let hasAddress: Bool
    }

    /// The maximum number of origins that are kept.
    private static let mostKnown = 4_096

    private let proxies: ProxySettings
    private let hostGuard: HostGuard
    private let known = Locked<[String: Facts]>([:])

    /// No origins, for a client with these settings.
    init(_ proxies: ProxySettings, _ hostGuard: HostGuard) {
        self.proxies = proxies
        self.hostGuard = hostGuard
    }

    /// The facts of `origin`, the scheme and authority of `url`.
    ///
    /// - Parameter isNamed: whether the operator has named the server, so that its address may be private.
    /// - Throws: `OriginError` if the rules or the policy refuse the host.
    func facts(of origin: String, in url: AvatarKey, isNamed: Bool) throws -> Facts {
        // No origin begins with a space.
        let name = isNamed ? " " + origin : origin
        if let facts = known.withLock({ $0[name] }) { return facts }
        let (host, route) = (url.host, Route(to: url, proxies))
        // Addresses in the URL are judged here, once and for all. Names are judged at each request.
        let isAddress = host.map { IPAddress($0.bareName) != nil } ?? false
        let facts = Facts(
            host: host,
            route: route,
            addresses: isAddress ? try hostGuard.admitKnown(url, along: route, isNamed: isNamed) : nil,
            hasAddress: [host, route.proxy?.host].contains { $0.map { IPAddress(host: $0.name) != nil } ?? false }
        )
        known.withLock { known in
            if known.count >= Self.mostKnown { known = [:] }
            known[name] = facts
        }
        return facts
    }
}
