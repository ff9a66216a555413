package import AvatarCore

#if canImport(Glibc)
import Glibc
private let streamSocket = Int32(SOCK_STREAM.rawValue)
#else
import Darwin
private let streamSocket = SOCK_STREAM
#endif

/// Whether a server accepts connections. A trial sends it nothing.
package enum ConnectionTrial {
    /// Connects to `server`, and closes the connection at once. Blocks the thread, except for the look-up of the name.
    ///
    /// - Parameter limit: the time for each of its addresses, in milliseconds.
    /// - Returns: `nil` if a connection came up, else the reason in words.
    /// - Throws: `CancellationError`.
    package static func failure(of server: HostName, limit: Int32 = 3000) async throws -> String? {
        guard case .addresses(let addresses) = try await NameLookup(.system).answer(for: server.bareName) else {
            return "its name cannot be resolved"
        }
        var failure = ConnectFailure(codes: [])
        for address in addresses {
            switch attempt(address, server.port, limit) {
            case 0: return nil
            case ETIMEDOUT: failure.hasTimedOut = true
            case let code: failure.codes.append(code)
            }
        }
        return failure.judge { NetworkRoute.leadsOut() }.1
    }

    /// - Returns: 0, or the error number (errno).
    private static func attempt(_ address: IPAddress, _ port: Int, _ limit: Int32) -> CInt {
        let bytes = (0..<address.family.bitCount / 8).map { UInt8(truncatingIfNeeded: address.bits >> UInt128($0 * 8)) }
        guard address.family == .v6 else {
            var target = sockaddr_in()
            target.sin_family = sa_family_t(AF_INET)
            target.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
            withUnsafeMutableBytes(of: &target.sin_addr) { $0.copyBytes(from: bytes.reversed()) }
            return attempt(AF_INET, target, limit)
        }
        var target = sockaddr_in6()
        target.sin6_family = sa_family_t(AF_INET6)
        target.sin6_port = UInt16(truncatingIfNeeded: port).bigEndian
        withUnsafeMutableBytes(of: &target.sin6_addr) { $0.copyBytes(from: bytes.reversed()) }
        return attempt(AF_INET6, target, limit)
    }

    private static func attempt<Target>(_ family: Int32, _ target: Target, _ limit: Int32) -> CInt {
        let descriptor = socket(family, streamSocket, 0)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let isConnected = withUnsafeBytes(of: target) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { pointer in
                connect(descriptor, pointer.baseAddress, socklen_t(bytes.count))
            }
        }
        if isConnected == 0 { return 0 }
        guard errno == EINPROGRESS else { return errno }
        var event = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&event, 1, limit) > 0 else { return ETIMEDOUT }
        var code: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
        return code
    }
}
