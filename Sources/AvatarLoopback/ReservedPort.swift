import AvatarFoundation
import NIOCore

/// A TCP port on which nothing listens, so that connections to it are refused. As long as it lives, the system gives the port to no
/// connection, and to a listener only if that asks for it by its number.
final class ReservedPort: Sendable {
    private let descriptor: Int32

    /// Reserves the port of `address`; `nil` if another program has taken it.
    init?(_ address: SocketAddress) {
        guard let descriptor = Self.bound(to: address) else { return nil }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    private static func bound(to address: SocketAddress) -> Int32? {
        let family: Int32 =
            switch address {
            case .v4: AF_INET
            case .v6: AF_INET6
            case .unixDomainSocket: AF_UNIX
            }
        #if canImport(Glibc)
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        #else
        let descriptor = socket(family, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { return nil }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard address.withSockAddr({ bind(descriptor, $0, socklen_t($1)) }) == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}
