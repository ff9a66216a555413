import AvatarCore
import NIOCore

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
