#if NIOOrigin
import AvatarCore
import AvatarOriginRules
import NIOCore

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
#endif
