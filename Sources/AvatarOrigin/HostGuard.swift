import AvatarCore
import NIOCore

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
        if let address = IPAddress(name) { return try require([address], of: url, along: route) }
        switch try await names.answer(for: name) {
        case .addresses(let addresses):
            try require(addresses, of: url, along: route)
        case _ where route != .direct && leavesNamesToProxy:
            break
        case .noSuchName:
            throw failure(.unreachable, "the host name cannot be resolved", at: url, along: route)
        case .noAnswer:
            throw try await names.isOffline()
                ? failure(.offline, "there is no network: no name server answers", at: url, along: route)
                : failure(.unreachable, "the name servers of the host do not answer", at: url, along: route)
        }
    }

    /// Whether a request may be sent to `url`, as far as that is known without asking a name server.
    ///
    /// - Throws: as `admit(_:along:)`.
    func admitsAtOnce(_ url: AvatarKey, along route: Route) throws -> Bool {
        let name = try name(of: url)
        if let address = IPAddress(name) {
            try require([address], of: url, along: route)
            return true
        }
        guard case .addresses(let addresses) = names.known(name) else { return false }
        try require(addresses, of: url, along: route)
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

    private func require(_ addresses: [IPAddress], of url: AvatarKey, along route: Route) throws {
        let isAllowed =
            route == .direct ? addresses.contains(where: policy.allows) : addresses.allSatisfy(policy.allows)
        guard !isAllowed else { return }
        let refused = addresses.first { !policy.allows($0) }
        throw OriginError(
            .forbiddenAddress,
            "\(url.redacted): the host has the address \(refused.map(\.description) ?? ""), which may not be contacted."
        )
    }

    private func failure(_ kind: FailureKind, _ reason: String, at url: AvatarKey, along route: Route) -> OriginError {
        let consequence = route == .direct ? "" : ", so that nobody knows where the proxy would send the request"
        return OriginError(kind, "\(url.redacted): \(reason)\(consequence).")
    }
}

/// Looks at the address a connection really has, after TCP and TLS and before a byte of HTTP.
///
/// Names prove nothing: a public name may resolve to a private address, and to another one the next time.
struct PeerGuard: Sendable {
    let policy: AddressPolicy

    /// What the HTTP client calls for each new connection.
    var initializer: @Sendable (any Channel) -> EventLoopFuture<Void> {
        { channel in
            guard let address = channel.remoteAddress, let peer = IPAddress(address), policy.allows(peer) else {
                // A connection that is refused without being closed is never freed.
                channel.eventLoop.execute { channel.close(mode: .all, promise: nil) }
                return channel.eventLoop.makeFailedFuture(ForbiddenPeer())
            }
            return channel.eventLoop.makeSucceededVoidFuture()
        }
    }
}

/// The connected peer has an address that the policy does not allow.
struct ForbiddenPeer: Error {}

extension IPAddress {
    fileprivate init?(_ address: SocketAddress) {
        switch address {
        case .v4(let v4):
            self.init(bytes: withUnsafeBytes(of: v4.address.sin_addr.s_addr) { Array($0) })
        case .v6(let v6):
            self.init(bytes: withUnsafeBytes(of: v6.address.sin6_addr) { Array($0) })
        case .unixDomainSocket:
            return nil
        }
    }
}
