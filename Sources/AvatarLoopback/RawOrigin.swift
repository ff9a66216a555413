import AvatarFoundation
import NIOCore
import NIOPosix

/// A server on loopback that records the first line of each request byte for byte, and responds with any bytes. Unlike a
/// `LoopbackOrigin`, it can keep a connection open after bytes that are no HTTP, and send bytes that no request asked for.
package final class RawOrigin: Sendable {
    /// The bytes that it sends for a request.
    package struct Reply: Sendable {
        fileprivate let bytes: [UInt8]
        fileprivate let closes: Bool

        /// These bytes. Default: the connection stays open.
        package init(_ bytes: [UInt8], thenCloses closes: Bool = false) {
            (self.bytes, self.closes) = (bytes, closes)
        }

        /// An empty response on a connection that stays open.
        package static let empty = Reply(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8))
    }

    /// The state that the event loops and the test share.
    fileprivate struct State {
        var lines: [String] = []
        var connections: [ObjectIdentifier: any Channel] = [:]
        var listener: (any Channel)?
    }

    fileprivate let greeting: [UInt8]
    fileprivate let repliesPerConnection: Int
    fileprivate let respond: @Sendable (_ target: String) -> Reply
    fileprivate let state = Locked(State())

    private init(
        _ greeting: [UInt8],
        _ repliesPerConnection: Int,
        _ respond: @escaping @Sendable (_ target: String) -> Reply
    ) {
        (self.greeting, self.repliesPerConnection, self.respond) = (greeting, repliesPerConnection, respond)
    }

    /// Runs `body` with an origin.
    ///
    /// - Parameters:
    ///   - greeting: The bytes that it sends on each new connection, before a request. Default: none.
    ///   - repliesPerConnection: How many requests a connection gets replies to. At the next one it is closed without a word.
    ///     Default: all.
    ///   - respond: Makes the reply to a request for `target`. Default: an empty response.
    package static func withOrigin(
        greeting: [UInt8] = [],
        repliesPerConnection: Int = .max,
        _ respond: @escaping @Sendable (_ target: String) -> Reply = { _ in .empty },
        _ body: (RawOrigin) async throws -> Void
    ) async throws {
        let origin = RawOrigin(greeting, repliesPerConnection, respond)
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 64)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(RawConnection(origin))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        origin.state.withLock { $0.listener = listener }
        do {
            try await body(origin)
        } catch {
            try await origin.stop()
            throw error
        }
        try await origin.stop()
    }

    /// The first lines of the requests so far, one character per byte.
    package var lines: [String] { state.withLock { $0.lines } }

    /// How many connections are open now.
    package var openConnections: Int { state.withLock { $0.connections.count } }

    /// Forgets the lines so far.
    package func forget() { state.withLock { $0.lines = [] } }

    /// The URL of `target`.
    package func url(_ target: String) -> String {
        "http://127.0.0.1:\(state.withLock { $0.listener?.localAddress?.port } ?? 0)\(target)"
    }

    /// Sends `bytes` on all open connections, and returns once the system has taken them. A connection that the client
    /// closes meanwhile gets none.
    package func send(_ bytes: [UInt8]) async throws {
        for connection in state.withLock({ Array($0.connections.values) }) {
            do {
                try await connection.writeAndFlush(ByteBuffer(bytes: bytes))
            } catch {
                guard error is ChannelError || [EPIPE, ECONNRESET].contains((error as? IOError)?.errnoCode) else {
                    throw error
                }
            }
        }
    }

    private func stop() async throws {
        let (listener, connections) = state.withLock { ($0.listener, Array($0.connections.values)) }
        try await listener?.close()
        for connection in connections {
            connection.close(promise: nil)
            try await connection.closeFuture.get()
        }
    }
}

/// One connection of a `RawOrigin`.
private final class RawConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let origin: RawOrigin
    private var head: [UInt8] = []
    private var requestCount = 0

    init(_ origin: RawOrigin) {
        self.origin = origin
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        origin.state.withLock { $0.connections[ObjectIdentifier(channel)] = channel }
        guard !origin.greeting.isEmpty else { return }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: origin.greeting)), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        let channel = context.channel
        origin.state.withLock { $0.connections[ObjectIdentifier(channel)] = nil }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        for byte in unwrapInboundIn(data).readableBytesView {
            head.append(byte)
            guard head.count >= 4, head.suffix(4).elementsEqual("\r\n\r\n".utf8) else { continue }
            let line = head.prefix { $0 != UInt8(ascii: "\r") }
            head = []
            let text = String(String.UnicodeScalarView(line.map { Unicode.Scalar($0) }))
            origin.state.withLock { $0.lines.append(text) }
            requestCount += 1
            guard requestCount <= origin.repliesPerConnection else { return context.close(promise: nil) }
            let reply = origin.respond(text.split(separator: " ").dropFirst().first.map(String.init) ?? "")
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: reply.bytes)), promise: nil)
            if reply.closes { context.close(promise: nil) }
        }
    }

    /// A client may reset its connection.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
