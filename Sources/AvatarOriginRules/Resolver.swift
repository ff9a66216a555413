import AvatarCore

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

        /// How often a lookup is repeated that found no free descriptor: requests in progress free theirs as they end.
        private static let shortageAttempts = 50
        /// The wait before each repetition, in microseconds.
        private static let shortageWait: UInt32 = 50_000

        /// Looks `name` up with `getaddrinfo`, which blocks the thread.
        private static func addresses(of name: String) -> Answer {
            errno = 0
            var hints = addrinfo()
            hints.ai_socktype = streamSocket
            var list: UnsafeMutablePointer<addrinfo>?
            var status = getaddrinfo(name, nil, &hints, &list)
            for _ in 0..<shortageAttempts where status != 0 && ConnectFailure.isShortage(errno) {
                usleep(shortageWait)
                errno = 0
                status = getaddrinfo(name, nil, &hints, &list)
            }
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
        switch entry.ai_family {
        case AF_INET:
            let socket = address.loadUnaligned(as: sockaddr_in.self)
            self.init(bytes: withUnsafeBytes(of: socket.sin_addr.s_addr) { Array($0) })
        case AF_INET6:
            let socket = address.loadUnaligned(as: sockaddr_in6.self)
            self.init(bytes: withUnsafeBytes(of: socket.sin6_addr) { Array($0) })
        default:
            return nil
        }
    }
}

/// The route from this machine to the internet.
package enum NetworkRoute {
    /// Whether the system has a route to the internet, over IPv4 or IPv6.
    ///
    /// Connecting a datagram socket sends nothing; the system only looks up the route. The targets are two of the root
    /// name servers, whose addresses have been the same for decades.
    package static func leadsOut() -> Bool {
        isKnown(overIPv4) || isKnown(overIPv6)
    }

    /// 198.41.0.4, port 53.
    private static var overIPv4: sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(53).bigEndian
        address.sin_addr.s_addr = UInt32(0xC629_0004).bigEndian
        return address
    }

    /// 2001:503:ba3e::2:30, port 53.
    private static var overIPv6: sockaddr_in6 {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = UInt16(53).bigEndian
        let bytes: [UInt8] = [0x20, 0x01, 0x05, 0x03, 0xBA, 0x3E, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0x30]
        withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: bytes) }
        return address
    }

    private static func isKnown<Address>(_ address: Address) -> Bool {
        let family = Address.self == sockaddr_in.self ? AF_INET : AF_INET6
        let descriptor = socket(family, datagramSocket, 0)
        // Without a socket the route is unknown, and counts as present.
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        return withUnsafeBytes(of: address) { bytes in
            guard let start = bytes.baseAddress else { return true }
            let pointer = start.assumingMemoryBound(to: sockaddr.self)
            return connect(descriptor, pointer, socklen_t(bytes.count)) == 0
        }
    }
}
