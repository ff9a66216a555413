import Foundation
import ProgramRunning
import Synchronization

/// A server on loopback that sends what a test says, whether it is HTTP or not.
final class LyingServer: Sendable {
    /// A request as received.
    struct Request: Sendable {
        /// The head, without the empty line.
        var head: String
        var body: [UInt8]

        /// The value of a header field.
        func field(_ name: String) -> String? {
            head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
                .map { $0.drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces) }
        }
    }

    /// What follows a request.
    enum Reply: Sendable {
        /// The text; then the next request on the same connection.
        case text(String)
        /// The text; then the connection is closed.
        case textAndClose(String)
        /// Nothing, for as long as the client waits.
        case silence
        /// A body without an end.
        case endless
    }

    private let descriptor: CInt
    let port: UInt16
    private let reply: @Sendable (_ number: Int, _ request: Request) -> Reply
    private let received = Mutex<[Request]>([])
    /// The number of connections so far.
    let connections = Counter()

    /// A server that answers the request with a number, from 0, by `reply`.
    init(_ reply: @escaping @Sendable (_ number: Int, _ request: Request) -> Reply) throws {
        (descriptor, port) = try Socket.listen()
        self.reply = reply
        let descriptor = descriptor
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else {
                    // Only this thread closes the descriptor: else another listener might get its number meanwhile.
                    close(descriptor)
                    return
                }
                self?.connections.add()
                _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
                Thread.detachNewThread { [weak self] in
                    self?.serve(connection)
                    close(connection)
                }
            }
        }
    }

    deinit {
        // Ends `accept`.
        shutdown(descriptor, CInt(SHUT_RDWR))
    }

    var endpoint: String { "http://127.0.0.1:\(port)" }
    /// The requests so far.
    var requests: [Request] { received.withLock { $0 } }

    private func serve(_ connection: CInt) {
        while let request = Self.read(connection) {
            let number = received.withLock { requests in
                requests.append(request)
                return requests.count - 1
            }
            switch reply(number, request) {
            case .text(let text):
                _ = Self.write(text, connection)
            case .textAndClose(let text):
                _ = Self.write(text, connection)
                return
            case .silence:
                var byte: UInt8 = 0
                while recv(connection, &byte, 1, 0) > 0 {}
            case .endless:
                _ = Self.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", connection)
                let chunk = "1000\r\n" + String(repeating: "x", count: 0x1000) + "\r\n"
                while Self.write(chunk, connection) {}
            }
        }
    }

    private static func read(_ connection: CInt) -> Request? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let end = text.range(of: "\r\n\r\n") {
                var request = Request(head: String(text[..<end.lowerBound]), body: [])
                let size = text.utf8.distance(from: text.startIndex, to: end.upperBound)
                let length = Int(request.field("content-length") ?? "0") ?? 0
                if bytes.count >= size + length {
                    request.body = Array(bytes[size...])
                    return request
                }
            }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
    }

    private static func write(_ text: String, _ connection: CInt) -> Bool {
        let bytes = Array(text.utf8)
        return send(connection, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count
    }
}

extension LyingServer.Reply {
    /// A complete response.
    static func response(_ status: String, _ body: String = "", fields: [String] = []) -> Self {
        let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"] + fields
        return .text(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
    }

    /// An error document.
    static func error(_ status: String, _ code: String, fields: [String] = [], more: String = "") -> Self {
        .response(status, "<?xml version=\"1.0\"?><Error><Code>\(code)</Code>\(more)</Error>", fields: fields)
    }
}
