import AvatarFoundation
import AvatarStore
import AvatarStoreHTTP
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle

/// Serves a responder over HTTP/1.1 on one listening socket, until a graceful shutdown.
struct ImageServer: Service {
    private typealias Connections = NIOAsyncChannel<HTTP1Channel.Value, Never>

    private let http: HTTP1Channel
    private let listener: Connections
    private let open: OpenConnections
    private let limits: ServerLimits
    private let logger: Logger

    /// Listens on `socket`. Requests are answered once `run` is called.
    ///
    /// - Parameter allowedHosts: the names for which the server answers too, if it checks the hosts of requests (`AnsweredHosts`).
    /// - Throws: `AvatarStoreError` if the socket cannot be used.
    init(
        _ current: CurrentResponder,
        on socket: ListeningSocket,
        limits: ServerLimits = ServerLimits(),
        allowedHosts: Set<String> = [],
        logger: Logger
    ) async throws {
        self.logger = logger
        self.limits = limits
        let open = OpenConnections()
        var configuration = HTTP1Channel.Configuration(
            additionalChannelHandlers: [SlowReaderHandler(limit: limits.sendTime)]
        )
        configuration.httpDecoder = .init(
            maxHeaderFieldSize: limits.headerBytes,
            maxHeaderListSize: limits.headerBytes,
            maxHeaderFieldCount: limits.headerFields
        )
        http = HTTP1Channel(
            responder: { request, writer, channel in
                let responder = current.value
                let connection = Connection(channel: channel, open: open, limits: limits, responder: responder)
                guard request.head.method == .post else {
                    return try await connection.send(await responder.respond(to: request.head), writer)
                }
                let content = try await request.body.collect(upTo: AvatarResponder.mostFormBytes)
                let client = OpenConnections.nameOfClient(at: channel.remoteAddress)
                let response = await responder.respond(
                    to: request.head,
                    content: Array(content.readableBytesView),
                    client: client
                )
                try await connection.send(response, writer)
            },
            configuration: configuration
        )
        self.open = open
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(ChannelOptions.backlog, value: 1024)
            .serverChannelOption(ChannelOptions.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(ChannelOptions.allowRemoteHalfClosure, value: true)
        listener = try await socket.bind(bootstrap) { [http] channel in
            guard let wait = open.add(channel, atMost: limits.connectionsPerClient) else {
                logger.warning(
                    "A client has as many connections as --per-client allows; further ones are closed.",
                    metadata: ["client": "\(channel.remoteAddress?.ipAddress ?? "")"]
                )
                channel.close(promise: nil)
                return channel.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
            }
            return http.setup(channel: channel, logger: logger).flatMapThrowing { connection in
                let pipeline = channel.pipeline.syncOperations
                let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
                let hosts = AnsweredHosts(listeningOn: channel.parent?.localAddress, names: allowedHosts)
                try pipeline.addHandler(
                    RequestHandler(current, limits: limits, hosts: hosts, wait: wait),
                    position: .after(parser)
                )
                open.keep(connection)
                return connection
            }
        }
    }

    /// The address that the server listens on; `nil` for an inherited socket without one.
    var address: SocketAddress? { listener.channel.localAddress }

    /// Whether only processes of this machine can connect.
    var isLocal: Bool { address?.isLoopback ?? true }

    /// Answers requests. Returns after a graceful shutdown, when the responses under way are sent or the time for them is
    /// over.
    func run() async throws {
        // The listener may have accepted connections that it did not hand over before it closed.
        defer { open.close() }
        try await withGracefulShutdownHandler {
            try await listener.executeThenClose { connections in
                await withDiscardingTaskGroup { group in
                    do {
                        for try await connection in connections {
                            group.addTask { await handle(connection) }
                            await open.waitForRoom(below: limits.connections, closingAfter: limits.leastWait)
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
                // Cancelled or not, what is left is closed.
                try? await Deadlines.shared.sleep(for: limits.shutdownTime)
                open.close()
            }
        }
    }

    /// Handles the requests of a connection. Its closing cancels a response that waits for a change.
    private func handle(_ connection: HTTP1Channel.Value) async {
        await withTaskGroup { group in
            group.addTask { await http.handle(value: connection, logger: logger) }
            // SwiftNIO never fails this future; a failure would mean a closed channel too.
            group.addTask { try? await connection.channel.closeFuture.get() }
            await group.next()
            group.cancelAll()
        }
    }
}

/// Sends the responses of one connection.
private struct Connection: Sendable {
    let channel: any Channel
    let open: OpenConnections
    let limits: ServerLimits
    let responder: AvatarResponder

    /// Sends one response. An error after its head ends the connection, because only that can tell that bytes are missing.
    @concurrent func send(_ response: AvatarResponse, _ writer: consuming ResponseWriter) async throws {
        switch response.body {
        // These go out with their head, in one write.
        case .none:
            try await writer.writeResponse(response.head)
        case .bytes(let bytes):
            try await writer.write(response: response.head, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
        case .file:
            try await sendPieces(response, writer)
        case .events:
            guard open.takeEventStream(atMost: limits.eventStreams) else { return try await refuseEvents(writer) }
            defer { open.returnEventStream() }
            channel.triggerUserOutboundEvent(RequestHandler.StreamBegins(), promise: nil)
            try await sendPieces(response, writer)
        }
    }

    /// Sends a response piece by piece.
    @concurrent private func sendPieces(_ response: AvatarResponse, _ writer: consuming ResponseWriter) async throws {
        var body = try await writer.writeHead(response.head)
        for try await piece in response.body {
            try await body.write(ByteBuffer(bytes: piece))
            // A write waits for the client only once the event loop has seen the one before it.
            try await channel.eventLoop.submit {}.get()
        }
        try await body.finish(nil)
    }

    /// Answers a client for which there is no stream of events left.
    @concurrent private func refuseEvents(_ writer: consuming ResponseWriter) async throws {
        let refusal = responder.refusal(
            .serviceUnavailable,
            "Too many clients get events. Ask for /changes as JSON, or try again later.",
            fields: [.retryAfter: "30"]
        )
        guard case .bytes(let bytes) = refusal.body else { return try await writer.writeResponse(refusal.head) }
        try await writer.write(response: refusal.head, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
