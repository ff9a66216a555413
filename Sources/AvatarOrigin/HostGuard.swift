import AvatarCore

/// Judges a hop before anything is sent to it: host and port by the rules, its addresses by the policy.
///
/// A name may have other addresses when the connection is made, so `PeerGuard` judges that one again.
struct HostGuard: Sendable {
    let rules: HostRules
    let policy: AddressPolicy
    /// Whether a name that only a proxy can resolve is left to it.
    let leavesNamesToProxy: Bool
    let names: NameLookup

    init(_ configuration: HTTPOrigin.Configuration) {
        rules = configuration.hosts
        policy = configuration.guardPolicy
        leavesNamesToProxy = configuration.allowsPrivateNetworks
        names = NameLookup(configuration.resolver)
    }

    /// Returns if a request may be sent to `url`.
    ///
    /// - Throws: `OriginError`: `forbiddenAddress`, or `unreachable` or `offline` for a name without addresses;
    ///   `CancellationError`.
    func admit(_ url: AvatarKey, along route: Route) async throws {
        let name = try name(of: url)
        if let address = IPAddress(name) { return try require([address], url, route) }
        switch try await names.answer(for: name) {
        case .addresses(let addresses):
            try require(addresses, url, route)
        case _ where route != .direct && leavesNamesToProxy:
            break
        case .noSuchName:
            throw failure(.unreachable, "the host name cannot be resolved", url, route)
        case .noAnswer:
            throw try await names.isOffline()
                ? failure(.offline, "there is no network: no name server answers", url, route)
                : failure(.unreachable, "the name servers of the host do not answer", url, route)
        }
    }

    /// Whether a request may be sent to `url`, as far as that is known without asking a name server.
    ///
    /// - Throws: as `admit(_:along:)`.
    func admitsAtOnce(_ url: AvatarKey, along route: Route) throws -> Bool {
        let name = try name(of: url)
        if let address = IPAddress(name) {
            try require([address], url, route)
            return true
        }
        guard case .addresses(let addresses) = names.known(name) else { return false }
        try require(addresses, url, route)
        return true
    }

    /// The name or address of the host of `url`, which the rules allow.
    private func name(of url: AvatarKey) throws -> String {
        guard let host = url.host else { throw OriginError(.unsupportedURL, "\(url.redacted) names no host.") }
        if let refusal = rules.refusal(of: host) {
            throw OriginError(.forbiddenAddress, "\(url.redacted): the host \(host) \(refusal).")
        }
        return host.bareName
    }

    private func require(_ addresses: [IPAddress], _ url: AvatarKey, _ route: Route) throws {
        let isAllowed =
            route == .direct ? addresses.contains(where: policy.allows) : addresses.allSatisfy(policy.allows)
        guard !isAllowed else { return }
        let refused = addresses.first { !policy.allows($0) }
        throw OriginError(
            .forbiddenAddress,
            "\(url.redacted): the host has the address \(refused.map(\.description) ?? ""), which may not be contacted."
        )
    }

    private func failure(_ kind: FailureKind, _ reason: String, _ url: AvatarKey, _ route: Route) -> OriginError {
        let consequence = route == .direct ? "" : ", so that nobody knows where the proxy would send the request"
        return OriginError(kind, "\(url.redacted): \(reason)\(consequence).")
    }
}
