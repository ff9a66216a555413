import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A real HTTP proxy on loopback, for CONNECT tunnels and for requests with an absolute URL. It records its requests, and
/// can send all of them to one destination.
package final class LoopbackProxy: Sendable {
    /// A request as it arrived: the request line and the fields.
    package struct Request: Sendable {
        package let line: String
        package let fields: [String]

        /// The value of the first field `name`.
        package func value(of name: String) -> String? {
            let prefix = name.lowercased() + ": "
            return fields.first { $0.lowercased().hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
        }
    }

    private struct State {
        var requests: [Request] = []
        var channels: [any Channel] = []
    }

    private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private let destination: (host: String, port: Int)?
    private let credentials: String?
    private let state = Mutex(State())
    private let listener: Mutex<(any Channel)?> = Mutex(nil)

    private init(_ destination: (String, Int)?, _ credentials: String?) {
        self.destination = destination
        self.credentials = credentials
    }

    /// Runs `body` with a proxy, and stops it afterwards.
    ///
    /// - Parameters:
    ///   - destination: Where every request goes. `nil`: to the host that the request names.
    ///   - credentials: The `user:password` that it requires. `nil`: none.
    package static func withProxy(
        to destination: (host: String, port: Int)? = nil,
        credentials: String? = nil,
        _ body: (LoopbackProxy) async throws -> Void
    ) async throws {
        let proxy = LoopbackProxy(destination, credentials)
        try await proxy.listen()
        do {
            try await body(proxy)
        } catch {
            try await proxy.stop()
            throw error
        }
        try await proxy.stop()
    }

    /// The port it listens on at 127.0.0.1.
    package var port: Int { listener.withLock { $0?.localAddress?.port } ?? 0 }

    /// The proxy's URL, as environment variables such as `http_proxy` hold it.
    package var address: String { "http://127.0.0.1:\(port)" }

    /// The requests so far.
    package var requests: [Request] { state.withLock { $0.requests } }

    // MARK: How it works

    private func listen() async throws {
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture { try Connection(wrappingChannelSynchronously: channel) }
            }
        listener.withLock { $0 = server.channel }
        Task {
            try await server.executeThenClose { clients in
                try await withThrowingDiscardingTaskGroup { group in
                    for try await client in clients { group.addTask { await self.serve(client) } }
                }
            }
        }
    }

    private func stop() async throws {
        let listener = listener.withLock { $0 }
        listener?.close(promise: nil)
        for channel in state.withLock({ $0.channels }) { channel.close(promise: nil) }
        try await listener?.closeFuture.get()
    }

    private func serve(_ client: Connection) async {
        state.withLock { $0.channels.append(client.channel) }
        do {
            try await client.executeThenClose { input, output in
                var input = input.makeAsyncIterator()
                var head = ""
                while !head.hasSuffix("\r\n\r\n"), let bytes = try await input.next() { head += String(buffer: bytes) }
                guard let request = note(head) else { return }
                guard isWelcome(request) else {
                    let answer = "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"
                    return try await output.write(ByteBuffer(string: answer))
                }
                let origin = try await connect(for: request)
                try await origin.executeThenClose { answers, requests in
                    if request.line.hasPrefix("CONNECT ") {
                        try await output.write(ByteBuffer(string: "HTTP/1.1 200 Connected\r\n\r\n"))
                    } else {
                        try await requests.write(ByteBuffer(string: Self.forwarded(request)))
                    }
                    async let back: Void = {
                        for try await bytes in answers { try await output.write(bytes) }
                        client.channel.close(promise: nil)
                    }()
                    while let bytes = try await input.next() { try await requests.write(bytes) }
                    origin.channel.close(promise: nil)
                    try await back
                }
            }
        } catch {
            // One side closed, or the origin is unreachable: the client sees its connection end.
        }
    }

    private func note(_ head: String) -> Request? {
        let lines = head.components(separatedBy: "\r\n").filter { !$0.isEmpty }
        guard let line = lines.first else { return nil }
        let request = Request(line: line, fields: Array(lines.dropFirst()))
        state.withLock { $0.requests.append(request) }
        return request
    }

    private func isWelcome(_ request: Request) -> Bool {
        guard let credentials else { return true }
        let expected = "Basic " + Data(credentials.utf8).base64EncodedString()
        return request.value(of: "Proxy-Authorization") == expected
    }

    private func connect(for request: Request) async throws -> Connection {
        let target = request.line.split(separator: " ")[1]
        let authority = target.hasPrefix("http://") ? target.dropFirst(7).prefix { $0 != "/" } : target
        let parts = authority.split(separator: ":")
        let asked = (host: String(parts[0]), port: parts.count > 1 ? Int(parts[1]) ?? 80 : 80)
        let destination = destination ?? asked
        let origin = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: destination.host, port: destination.port) { channel in
                channel.eventLoop.makeCompletedFuture { try Connection(wrappingChannelSynchronously: channel) }
            }
        state.withLock { $0.channels.append(origin.channel) }
        return origin
    }

    /// The request with the path only, on a connection of its own, without the fields meant for the proxy.
    private static func forwarded(_ request: Request) -> String {
        let parts = request.line.split(separator: " ")
        let path = parts[1].dropFirst("http://".count).drop { $0 != "/" }
        let kept = request.fields.filter { !$0.lowercased().hasPrefix("proxy-") }
        return (["GET \(path) HTTP/1.1"] + kept + ["Connection: close", "", ""]).joined(separator: "\r\n")
    }
}
