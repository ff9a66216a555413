import NIOCore

#if canImport(Glibc)
import Glibc
private let datagramSocket = Int32(SOCK_DGRAM.rawValue)
#else
import Darwin
private let datagramSocket = SOCK_DGRAM
#endif

/// The way out of this machine.
enum NetworkRoute {
    /// Whether the system knows a way to the internet, over IPv4 or IPv6.
    ///
    /// A datagram socket that is connected sends nothing: the system only looks for the route. Where it leads to are two
    /// of the root name servers, which have had their addresses for decades.
    static func leadsOut() -> Bool {
        isKnown("198.41.0.4", .inet) || isKnown("2001:503:ba3e::2:30", .inet6)
    }

    private static func isKnown(_ address: String, _ family: NIOBSDSocket.AddressFamily) -> Bool {
        let descriptor = socket(family.rawValue, datagramSocket, 0)
        // Nothing can be said without a socket.
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        do {
            return try SocketAddress(ipAddress: address, port: 53).withSockAddr { address, size in
                connect(descriptor, address, socklen_t(size)) == 0
            }
        } catch {
            return true
        }
    }
}
