import AvatarStoreTesting
import Dispatch
import Foundation

/// A plain TCP connection, which shows the bytes on the wire.
struct PlainSocket {
    struct Failure: Error {
        let step: String
        let code: Int32
    }

    private let descriptor: Int32

    /// Connects to the origin at `host`. A read waits at most ten seconds.
    init(host: String, port: Int) throws {
        #if canImport(Darwin)
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        guard descriptor >= 0 else { throw Failure(step: "socket", code: errno) }
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        do {
            try connect(host: host, port: port)
        } catch {
            end()
            throw error
        }
    }

    func send(_ text: String) throws {
        let sent = Foundation.send(descriptor, text, text.utf8.count, 0)
        guard sent == text.utf8.count else { throw Failure(step: "send", code: errno) }
    }

    /// The first `limit` bytes received before the other side ends the connection.
    func read(limit: Int = .max) throws -> [UInt8] {
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while answer.count < limit {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { throw Failure(step: "recv", code: errno) }
            guard count > 0 else { break }
            answer += buffer[..<count]
        }
        return Array(answer.prefix(limit))
    }

    func end() {
        close(descriptor)
    }

    private func connect(host: String, port: Int) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { throw Failure(step: "inet_pton", code: 0) }
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure(step: "connect", code: errno) }
    }
}

extension PlainSocket {
    /// Connects to `origin`, sends `text`, reads as `read` does, and closes. On a thread of its own, because a read
    /// blocks.
    static func exchange(_ text: String, with origin: LoopbackOrigin, limit: Int = .max) async throws -> [UInt8] {
        let (host, port) = (origin.host, origin.port)
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                let answer = Result {
                    let socket = try PlainSocket(host: host, port: port)
                    defer { socket.end() }
                    try socket.send(text)
                    return try socket.read(limit: limit)
                }
                continuation.resume(with: answer)
            }
        }
    }

    /// Sends one GET with `Connection: close`, and returns the response as text.
    static func get(_ path: String, _ fields: String..., from origin: LoopbackOrigin) async throws -> String {
        let lines = ["GET \(path) HTTP/1.1", "Host: test", "Connection: close"] + fields + ["", ""]
        return String(decoding: try await exchange(lines.joined(separator: "\r\n"), with: origin), as: UTF8.self)
    }
}

extension LoopbackOrigin {
    /// Runs `body` with an origin.
    static func whileRunning(_ test: (LoopbackOrigin) async throws -> Void) async throws {
        let origin = try await start()
        do {
            try await test(origin)
        } catch {
            try await origin.stop()
            throw error
        }
        try await origin.stop()
    }
}
