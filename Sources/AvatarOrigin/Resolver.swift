import AvatarCore
import NIOCore

#if canImport(Glibc)
import Glibc
private let streamSocket = Int32(SOCK_STREAM.rawValue)
private let datagramSocket = Int32(SOCK_DGRAM.rawValue)
#else
import Darwin
private let streamSocket = SOCK_STREAM
private let datagramSocket = SOCK_DGRAM
#endif

extension NameLookup {
    /// The source of names and routes: the system, or a substitute in tests.
    package struct Resolver: Sendable {
        /// Looks up a name, and blocks the thread until there is a result.
        package var ask: @Sendable (_ name: String) -> Answer
        /// Returns whether this machine has a route to the internet.
        package var hasRoute: @Sendable () -> Bool

        /// A resolver with these functions.
        package init(
            ask: @escaping @Sendable (_ name: String) -> Answer,
            hasRoute: @escaping @Sendable () -> Bool
        ) {
            self.ask = ask
            self.hasRoute = hasRoute
        }

        /// The resolver of the system (`getaddrinfo`).
        package static let system = Resolver(ask: { addresses(of: $0) }, hasRoute: { NetworkRoute.leadsOut() })

        /// Looks `name` up with `getaddrinfo`, which blocks the thread.
        private static func addresses(of name: String) -> Answer {
            var hints = addrinfo()
            hints.ai_socktype = streamSocket
            var list: UnsafeMutablePointer<addrinfo>?
            let status = getaddrinfo(name, nil, &hints, &list)
            guard status == 0 else {
                return [EAI_AGAIN, EAI_SYSTEM, EAI_MEMORY].contains(status) ? .noAnswer : .noSuchName
            }
            defer { freeaddrinfo(list) }
            var addresses: [IPAddress] = []
            var next = list
            while let entry = next?.pointee {
                if let address = IPAddress(entry), !addresses.contains(address) { addresses.append(address) }
                next = entry.ai_next
            }
            return addresses.isEmpty ? .noSuchName : .addresses(addresses)
        }
    }
}

extension IPAddress {
    /// The address in a result of `getaddrinfo`; `nil` for another family than IPv4 and IPv6.
    fileprivate init?(_ entry: addrinfo) {
        guard let address = UnsafeRawPointer(entry.ai_addr) else { return nil }
        switch NIOBSDSocket.AddressFamily(rawValue: entry.ai_family) {
        case .inet:
            let socket = address.loadUnaligned(as: sockaddr_in.self)
            self.init(bytes: withUnsafeBytes(of: socket.sin_addr.s_addr) { Array($0) })
        case .inet6:
            let socket = address.loadUnaligned(as: sockaddr_in6.self)
            self.init(bytes: withUnsafeBytes(of: socket.sin6_addr) { Array($0) })
        default:
            return nil
        }
    }
}

/// The route from this machine to the internet.
enum NetworkRoute {
    /// Whether the system has a route to the internet, over IPv4 or IPv6.
    ///
    /// Connecting a datagram socket sends nothing; the system only looks up the route. The targets are two of the root
    /// name servers, whose addresses have been the same for decades.
    static func leadsOut() -> Bool {
        isKnown("198.41.0.4", .inet) || isKnown("2001:503:ba3e::2:30", .inet6)
    }

    private static func isKnown(_ address: String, _ family: NIOBSDSocket.AddressFamily) -> Bool {
        let descriptor = socket(family.rawValue, datagramSocket, 0)
        // Without a socket the route is unknown, and counts as present.
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
