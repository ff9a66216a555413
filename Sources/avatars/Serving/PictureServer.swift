import AvatarStoreHTTP
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// Serves a responder over HTTP/1.1 on one listening socket, until a graceful shutdown.
struct PictureServer: Service {
    /// The limits of all connections.
    enum Limits {
        /// The number of connections at once. Further ones wait in the system's queue.
        static let connections = 1000
        /// The bytes of a request's target and fields.
        static let headerBytes = 16 << 10
        /// The time for a request to arrive, from the connection or the response before it.
        static let headTime = TimeAmount.seconds(10)
        /// The time in which a client must take bytes that wait for it.
        static let sendTime = TimeAmount.seconds(20)
        /// The time for responses under way after a shutdown has begun.
        static let shutdownTime = Duration.seconds(4)
    }

    private typealias Connections = NIOAsyncChannel<HTTP1Channel.Value, Never>

    private let http: HTTP1Channel
    private let listener: Connections
    private let open = OpenConnections()
    private let logger: Logger

    /// Listens on `socket`. Requests are answered once `run` is called.
    ///
    /// - Throws: `AvatarStoreError` if the socket cannot be had.
    init(_ responder: AvatarResponder, on socket: ListeningSocket, logger: Logger) async throws {
        self.logger = logger
        var configuration = HTTP1Channel.Configuration(
            additionalChannelHandlers: [SlowReaderHandler(limit: Limits.sendTime)],
            idleTimeout: Limits.headTime
        )
        configuration.httpDecoder = .init(
            maxHeaderFieldSize: Limits.headerBytes,
            maxHeaderListSize: Limits.headerBytes,
            maxHeaderFieldCount: 100
        )
        http = HTTP1Channel(
            responder: { request, writer, _ in
                try await Self.send(responder.respond(to: request.head), writer)
            },
            configuration: configuration
        )
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(ChannelOptions.backlog, value: 1024)
            .serverChannelOption(ChannelOptions.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(ChannelOptions.allowRemoteHalfClosure, value: true)
        listener = try await socket.bind(bootstrap) { [http, open, logger] channel in
            open.add(channel)
            return http.setup(channel: channel, logger: logger)
        }
    }

    /// The address that the server listens on; `nil` for an inherited socket without one.
    var address: SocketAddress? { listener.channel.localAddress }

    /// Answers requests. Returns after a graceful shutdown, when the responses under way are sent, or after 4 seconds.
    ///
    /// - Throws: an error of the listening socket.
    func run() async throws {
        try await withGracefulShutdownHandler {
            try await listener.executeThenClose { connections in
                await withDiscardingTaskGroup { group in
                    do {
                        for try await connection in connections {
                            group.addTask { await http.handle(value: connection, logger: logger) }
                            await open.waitForRoom(below: Limits.connections)
                        }
                    } catch {
                        logger.error("The socket cannot be listened on any more.", metadata: ["error": "\(error)"])
                    }
                }
            }
        } onGracefulShutdown: {
            listener.channel.close(promise: nil)
            open.finish()
            Task {
                try? await Task.sleep(for: Limits.shutdownTime)  // Cancelled or not, what is left is closed.
                open.close()
            }
        }
    }

    /// Sends one response. An error after its head ends the connection, because only that can tell that bytes are missing.
    @concurrent private static func send(_ response: AvatarResponse, _ writer: consuming ResponseWriter) async throws {
        switch response.body {
        // These go out with their head, in one write.
        case .none:
            try await writer.writeResponse(response.head)
        case .bytes(let bytes):
            try await writer.write(response: response.head, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
        case .file, .events:
            var body = try await writer.writeHead(response.head)
            for try await piece in response.body { try await body.write(ByteBuffer(bytes: piece)) }
            try await body.finish(nil)
        }
    }
}

/// The connections of a server that are open.
private final class OpenConnections: Sendable {
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    func add(_ channel: any Channel) {
        channels.withLock { $0[ObjectIdentifier(channel)] = channel }
        channel.closeFuture.whenComplete { [weak self] _ in
            self?.channels.withLock { $0[ObjectIdentifier(channel)] = nil }
        }
    }

    /// Waits until fewer than `limit` connections are open. Looks again every 20 milliseconds.
    func waitForRoom(below limit: Int) async {
        while channels.withLock({ $0.count }) >= limit, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(20))  // When cancelled, the loop ends.
        }
    }

    /// Closes the connections that have no response under way, and the others after theirs.
    func finish() {
        for channel in channels.withLock({ Array($0.values) }) {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
    }

    /// Closes all connections.
    func close() {
        for channel in channels.withLock({ Array($0.values) }) { channel.close(promise: nil) }
    }
}

/// Closes a connection whose client does not take the bytes that wait for it.
private final class SlowReaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    private let limit: TimeAmount
    private var closing: Scheduled<Void>?

    init(limit: TimeAmount) {
        self.limit = limit
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        closing?.cancel()
        closing =
            context.channel.isWritable
            ? nil : context.eventLoop.assumeIsolated().scheduleTask(in: limit) { context.close(promise: nil) }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        closing?.cancel()
        context.fireChannelInactive()
    }
}
