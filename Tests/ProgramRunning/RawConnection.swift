import Dispatch
import Foundation

/// A plain stream socket to a server, which sends any bytes and shows the bytes that come back.
///
/// The calls block a Dispatch thread, not one of the tasks. A read waits at most a minute.
package final class RawConnection: Sendable {
    /// A call of the system failed.
    package struct Failure: Error {
        package let call: String
        package let code: Int32
    }

    /// The place that a server listens on.
    package enum Place: Sendable {
        case port(Int)
        case path(String)
    }

    private let descriptor: Int32

    /// Connects to `place`.
    ///
    /// - Parameter receiveBuffer: the bytes that the system keeps before they are read; `nil`: the usual number.
    package init(_ place: Place, receiveBuffer: Int32? = nil) throws {
        let isLocal = if case .path = place { true } else { false }
        #if canImport(Darwin)
        let stream = SOCK_STREAM
        #else
        let stream = Int32(SOCK_STREAM.rawValue)
        #endif
        descriptor = socket(isLocal ? AF_UNIX : AF_INET, stream, 0)
        // From here on `deinit` closes the descriptor, even if this initialiser throws.
        guard descriptor >= 0 else { throw Failure(call: "socket", code: errno) }
        var patience = timeval(tv_sec: 60, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
        if var receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4) }
        let result =
            switch place {
            case .port(let port): Self.connect(descriptor, port: port)
            case .path(let path): Self.connect(descriptor, path: path)
            }
        guard result == 0 else { throw Failure(call: "connect", code: errno) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private static func connect(_ descriptor: Int32, port: Int) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        return withUnsafePointer(to: address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private static func connect(_ descriptor: Int32, path: String) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        return withUnsafePointer(to: address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    // MARK: Bytes

    /// Sends all of `bytes`. A server that has closed the connection is no error: what it sent can still be read.
    package func send(_ bytes: [UInt8]) async {
        await Self.blocking { [descriptor] in
            var rest = bytes[...]
            while !rest.isEmpty {
                #if canImport(Darwin)
                let flags: Int32 = 0
                #else
                let flags = Int32(MSG_NOSIGNAL)
                #endif
                let sent = rest.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, flags) }
                guard sent > 0 else { return }
                rest = rest.dropFirst(sent)
            }
        }
    }

    package func send(_ text: String) async { await send(Array(text.utf8)) }

    /// The next bytes, at most `limit`; empty at the end of the connection, also if the server has reset it.
    ///
    /// - Throws: `Failure` if nothing comes for a minute.
    package func read(atMost limit: Int = 65536) async throws -> [UInt8] {
        let (bytes, code) = await Self.blocking { [descriptor] in
            var buffer = [UInt8](repeating: 0, count: limit)
            let count = recv(descriptor, &buffer, limit, 0)
            return (Array(buffer.prefix(max(0, count))), count < 0 ? errno : 0)
        }
        try Self.check(code)
        return bytes
    }

    /// All bytes up to the end of the connection, which is also where the server has reset it.
    ///
    /// - Parameter pause: between two reads of at most 64 KiB. They share one thread, so that a machine that is busy with
    ///   other tests does not make the pauses longer.
    /// - Throws: `Failure` if nothing comes for a minute.
    package func readToEnd(pausing pause: Duration = .zero) async throws -> [UInt8] {
        let (bytes, code) = await Self.blocking { [descriptor] in
            var all: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65536)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { return (all, count < 0 ? errno : 0) }
                all += buffer.prefix(count)
                if pause > .zero { usleep(UInt32(pause / .microseconds(1))) }
            }
        }
        try Self.check(code)
        return bytes
    }

    /// The text that has come once it holds `text`, or the connection has ended.
    package func read(until text: String) async throws -> String {
        var all: [UInt8] = []
        while true {
            let bytes = try await read()
            all += bytes
            let read = String(decoding: all, as: UTF8.self)
            if bytes.isEmpty || read.contains(text) { return read }
        }
    }

    private static func check(_ code: Int32) throws {
        guard code == 0 || code == ECONNRESET else { throw Failure(call: "recv", code: code) }
    }

    private static func blocking<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: work()) }
        }
    }
}
