package import AvatarCore
import AvatarProviders

/// Judges a hop before the client sends anything: host and port by the host rules, the addresses by the address policy.
///
/// A name may have another address when the connection is made. Therefore the client connects only to the addresses that
/// the guard returns, or judges the connected peer again.
package struct HostGuard: Sendable {
    /// The allowed hosts and ports.
    package let rules: HostRules
    /// The allowed addresses.
    package let policy: AddressPolicy
    /// Whether a proxy may resolve a name that this machine cannot resolve.
    package let leavesNamesToProxy: Bool
    /// The lookups of host names.
    package let names: NameLookup

    /// The guard that `configuration` describes.
    package init(_ configuration: OriginConfiguration) {
        rules = configuration.hosts
        policy = configuration.guardPolicy
        leavesNamesToProxy = configuration.allowsPrivateNetworks
        names = NameLookup(configuration.resolver)
    }

    /// The addresses that a request to `url` may be sent to, after a name lookup if needed.
    ///
    /// - Parameter isNamed: whether the operator has named the server, so that its address may be private.
    /// - Returns: for a direct route, the allowed addresses of the host, at least one. Behind a proxy, all of its addresses;
    ///   none if only the proxy can resolve the name.
    /// - Throws: `OriginError` with the kind `forbiddenAddress` if the rules or the policy refuse the host, or with
    ///   `unreachable` or `offline` if its name has no known addresses; `CancellationError`.
    @discardableResult
    package func admit(_ url: AvatarKey, along route: Route, isNamed: Bool = false) async throws -> [IPAddress] {
        if let known = try admitKnown(url, along: route, isNamed: isNamed) { return known }
        switch try await names.answer(for: try name(of: url)) {
        case .addresses(let addresses):
            return try require(addresses, of: url, along: route, isNamed: isNamed)
        case _ where route != .direct && (leavesNamesToProxy || isNamed):
            return []
        case .noSuchName:
            throw failure(.unreachable, "the host name cannot be resolved", at: url, along: route)
        case .noAnswer:
            throw try await names.isOffline()
                ? failure(.offline, "there is no network: no name server answers", at: url, along: route)
                : failure(.unreachable, "the name servers of the host do not answer", at: url, along: route)
        }
    }

    /// The same addresses as `admit(_:along:)`; `nil` if a name lookup has to find them first.
    ///
    /// - Throws: `OriginError`, as `admit(_:along:)`.
    package func admitKnown(_ url: AvatarKey, along route: Route, isNamed: Bool = false) throws -> [IPAddress]? {
        let name = try name(of: url)
        if let address = IPAddress(name) {
            return try require([address], of: url, along: route, isNamed: isNamed)
        }
        guard case .addresses(let addresses) = names.known(name) else { return nil }
        return try require(addresses, of: url, along: route, isNamed: isNamed)
    }

    /// As `admitKnown(_:along:)` for a direct request, but `localhost` counts as the loopback address, which the system gives
    /// it. For previews: a request asks the system.
    package func judgeKnown(_ url: AvatarKey, isNamed: Bool = false) throws {
        let name = try name(of: url)
        guard name == "localhost" || name == "localhost.", let loopback = IPAddress("127.0.0.1") else {
            _ = try admitKnown(url, along: .direct, isNamed: isNamed)
            return
        }
        _ = try require([loopback], of: url, along: .direct, isNamed: isNamed)
    }

    /// The name or address of the host of `url`, if the rules allow it.
    private func name(of url: AvatarKey) throws -> String {
        guard let host = url.host else {
            throw OriginError(.unsupportedURL, "The URL \"\(url.redacted)\" has no host.")
        }
        if let refusal = rules.refusal(of: host) {
            throw OriginError(.forbiddenAddress, "\(url.redacted): the host \(host) \(refusal).")
        }
        return host.bareName
    }

    /// The `addresses` that a request to `url` may be sent to. A direct connection needs one that is allowed. Behind a
    /// proxy, which may choose any, all of them must be allowed.
    private func require(
        _ addresses: [IPAddress],
        of url: AvatarKey,
        along route: Route,
        isNamed: Bool
    ) throws -> [IPAddress] {
        let policy = isNamed ? policy.ofNamedServer : policy
        let allowed = addresses.filter(policy.allows)
        let isAllowed = route == .direct ? !allowed.isEmpty : allowed.count == addresses.count
        guard !isAllowed else { return allowed }
        let refused = addresses.first { !policy.allows($0) }
        throw OriginError(
            .forbiddenAddress,
            "\(url.redacted): the host has the address \(refused.map(\.description) ?? ""), which is not allowed."
        )
    }

    private func failure(_ kind: FailureKind, _ reason: String, at url: AvatarKey, along route: Route) -> OriginError {
        let consequence = route == .direct ? "" : ", so the guard cannot tell where the proxy would send the request"
        return OriginError(kind, "\(url.redacted): \(reason)\(consequence).")
    }
}
