import Foundation
import Synchronization

/// Sockets on loopback.
package enum Socket {
    package struct Failure: Error {
        let code = errno
    }

    /// A listening socket and its port.
    package static func listen(port: UInt16 = 0) throws -> (descriptor: CInt, port: UInt16) {
        // Engines that start later must not inherit it, or a connection would outlive its end.
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure() }
        var yes: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && Glibc.listen(descriptor, 64) == 0
                    && getsockname(descriptor, address, &size) == 0
            }
        }
        guard isBound else {
            close(descriptor)
            throw Failure()
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    /// The ports that were given out, by the first of each range.
    private static let given = Mutex<Set<UInt16>>([])

    /// The first of `count` ports that are free, at most 10, together with those 10,000 above.
    ///
    /// They are for a server that cannot choose a port itself. They are below the ports that the system gives to connections and to
    /// listeners without a port of their own, and are given out once: no other test takes one before the server listens.
    package static func freePorts(_ count: UInt16) throws -> UInt16 {
        for _ in 0..<100 {
            let first = UInt16.random(in: 1_200...2_000) * 10
            guard given.withLock({ $0.insert(first).inserted }) else { continue }
            do {
                var descriptors: [CInt] = []
                defer { for descriptor in descriptors { close(descriptor) } }
                for port in first..<first + count {
                    descriptors.append(try listen(port: port).descriptor)
                    descriptors.append(try listen(port: port + 10_000).descriptor)
                }
                return first
            } catch {
                // One of them is in use: other ports are tried.
            }
        }
        throw Failure()
    }

    /// The number of open descriptors of this process.
    package static func openDescriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }
}
