import NIOCore
import NIOPosix
import Synchronization

/// A real SOCKS5 proxy on loopback (RFC 1928, RFC 1929). It records the hosts that it is asked for, and sends all to one port.
final class SOCKSProxy: Sendable {
    private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private let destination: Int
    private let credentials: (user: String, password: String)?
    private let reply: UInt8
    private let asked = Mutex<[String]>([])
    private let listener = Mutex<(any Channel)?>(nil)

    private init(_ destination: Int, _ credentials: (user: String, password: String)?, _ reply: UInt8) {
        (self.destination, self.credentials, self.reply) = (destination, credentials, reply)
    }

    /// Runs `body` with a proxy.
    ///
    /// - Parameters:
    ///   - destination: The port at 127.0.0.1 that every connection goes to.
    ///   - credentials: The user and the password that it requires. Default: none.
    ///   - reply: The reply to a request (RFC 1928 section 6). Default: 0, succeeded.
    static func withProxy(
        to destination: Int,
        credentials: (user: String, password: String)? = nil,
        reply: UInt8 = 0,
        _ body: (SOCKSProxy) async throws -> Void
    ) async throws {
        let proxy = SOCKSProxy(destination, credentials, reply)
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture { try Connection(wrappingChannelSynchronously: channel) }
            }
        proxy.listener.withLock { $0 = server.channel }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.executeThenClose { clients in
                    try await withThrowingDiscardingTaskGroup { group in
                        for try await client in clients { group.addTask { await proxy.serve(client) } }
                        group.cancelAll()
                    }
                }
            }
            // An accepted connection that is never served crashes the process, so the loop must handle all of them.
            defer { server.channel.close(promise: nil) }
            try await body(proxy)
        }
    }

    /// Its host and port.
    var address: String { "127.0.0.1:\(listener.withLock { $0?.localAddress?.port } ?? 0)" }

    /// The hosts and ports so far: an address, or a name in quotes.
    var hosts: [String] { asked.withLock { $0 } }

    private func serve(_ client: Connection) async {
        do {
            try await client.executeThenClose { input, output in
                var input = Input(input.makeAsyncIterator())
                guard try await greet(&input, output) else { return }
                let head = try await input.take(4)
                let host = try await host(ofType: head[3], &input)
                let port = try await input.take(2)
                asked.withLock { $0.append("\(host):\(Int(port[0]) << 8 | Int(port[1]))") }
                try await output.write(ByteBuffer(bytes: [5, reply, 0, 1, 0, 0, 0, 0, 0, 0]))
                guard reply == 0 else { return }
                try await splice(client, &input, output)
            }
        } catch {
            // One side closed, and the other one sees its connection end.
        }
    }

    /// Agrees on a method, and checks the credentials. Returns whether the client may go on.
    @concurrent private func greet(_ input: inout Input, _ output: NIOAsyncChannelOutboundWriter<ByteBuffer>)
        async throws -> Bool
    {
        let count = try await input.take(2)[1]
        let methods = try await input.take(Int(count))
        let method: UInt8 = credentials == nil ? 0 : 2
        guard methods.contains(method) else {
            try await output.write(ByteBuffer(bytes: [5, 0xFF]))
            return false
        }
        try await output.write(ByteBuffer(bytes: [5, method]))
        guard let credentials else { return true }
        let user = try await input.text(Int(input.take(2)[1]))
        let password = try await input.text(Int(input.take(1)[0]))
        let isWelcome = user == credentials.user && password == credentials.password
        try await output.write(ByteBuffer(bytes: [1, isWelcome ? 0 : 1]))
        return isWelcome
    }

    @concurrent private func host(ofType type: UInt8, _ input: inout Input) async throws -> String {
        switch type {
        case 1: try await input.take(4).map(String.init).joined(separator: ".")
        case 3: try await "\"\(input.text(Int(input.take(1)[0])))\""
        default: try await "\(input.take(16))"
        }
    }

    @concurrent private func splice(
        _ client: Connection,
        _ input: inout Input,
        _ output: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) async throws {
        let origin = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: destination) { channel in
                channel.eventLoop.makeCompletedFuture { try Connection(wrappingChannelSynchronously: channel) }
            }
        try await origin.executeThenClose { answers, requests in
            async let back: Void = {
                for try await bytes in answers { try await output.write(bytes) }
                client.channel.close(promise: nil)
            }()
            while let bytes = try await input.next() { try await requests.write(bytes) }
            origin.channel.close(promise: nil)
            try await back
        }
    }

    /// The bytes of a client, in pieces of a wanted length.
    private struct Input {
        private var source: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        private var buffer = ByteBuffer()

        init(_ source: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator) {
            self.source = source
        }

        @concurrent mutating func take(_ count: Int) async throws -> [UInt8] {
            while buffer.readableBytes < count {
                guard var more = try await source.next() else { throw ChannelError.eof }
                buffer.writeBuffer(&more)
            }
            return buffer.readBytes(length: count) ?? []
        }

        @concurrent mutating func text(_ count: Int) async throws -> String {
            String(decoding: try await take(count), as: UTF8.self)
        }

        @concurrent mutating func next() async throws -> ByteBuffer? {
            guard buffer.readableBytes == 0 else {
                defer { buffer = ByteBuffer() }
                return buffer
            }
            return try await source.next()
        }
    }
}
