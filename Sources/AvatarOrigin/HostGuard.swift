import AvatarCore
import NIOCore

/// Judges a hop before the client sends anything: host and port by the host rules, the addresses by the address policy.
///
/// A name may resolve to another address when the connection is made, so `PeerGuard` judges the connected peer again.
struct HostGuard: Sendable {
    /// The allowed hosts and ports.
    let rules: HostRules
    /// The allowed addresses.
    let policy: AddressPolicy
    /// Whether a proxy may resolve a name that this machine cannot resolve.
    let leavesNamesToProxy: Bool
    /// The lookups of host names.
    let names: NameLookup

    init(_ configuration: HTTPOrigin.Configuration) {
        rules = configuration.hosts
        policy = configuration.guardPolicy
        leavesNamesToProxy = configuration.allowsPrivateNetworks
        names = NameLookup(configuration.resolver)
    }

    /// Returns if a request may be sent to `url`, after a name lookup if needed.
    ///
    /// - Throws: `OriginError` with the kind `forbiddenAddress` if the rules or the policy refuse the host, or with
    ///   `unreachable` or `offline` if its name has no known addresses; `CancellationError`.
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

    /// Returns `true` if a request may be sent to `url`, and `false` if a name lookup has to decide first.
    ///
    /// - Throws: `OriginError`, as `admit(_:along:)`.
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

    /// Throws unless a request to `url` with these `addresses` is allowed. A direct connection needs one allowed
    /// address, as `PeerGuard` judges the one that is used. Behind a proxy, all addresses must be allowed.
    private func require(_ addresses: [IPAddress], of url: AvatarKey, along route: Route) throws {
        let isAllowed =
            route == .direct ? addresses.contains(where: policy.allows) : addresses.allSatisfy(policy.allows)
        guard !isAllowed else { return }
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

/// Judges the address of the connected peer, after TCP and TLS and before a byte of HTTP.
///
/// A name is no proof: a public name may resolve to a private address, and to another address at the next lookup.
struct PeerGuard: Sendable {
    /// The allowed addresses.
    let policy: AddressPolicy

    /// The function that the HTTP client calls for each new connection. It closes a connection to a forbidden address.
    var initializer: @Sendable (any Channel) -> EventLoopFuture<Void> {
        { channel in
            guard let address = channel.remoteAddress, let peer = IPAddress(address), policy.allows(peer) else {
                // The client does not close a connection that its initializer refuses.
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
