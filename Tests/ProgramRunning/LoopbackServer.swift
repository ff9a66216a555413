package import NIOCore
import NIOPosix
import Synchronization

/// A server on loopback that serves each connection in a task of its own.
package final class LoopbackServer: Sendable {
    private let listener: any Channel
    private let accepted: AcceptedChannels

    private init(_ listener: any Channel, _ accepted: AcceptedChannels) {
        (self.listener, self.accepted) = (listener, accepted)
    }

    /// Runs `body` with a server, and closes the server and its connections afterwards.
    ///
    /// - Parameters:
    ///   - prepare: Adds handlers to the channel of a connection, such as one for TLS. Default: none.
    ///   - serve: Serves a connection, which is closed when it returns or throws.
    package static func withServer(
        prepare: @escaping @Sendable (any Channel) throws -> Void = { _ in },
        serving serve: @escaping @Sendable (inout LoopbackConnection) async throws -> Void,
        _ body: (LoopbackServer) async throws -> Void
    ) async throws {
        let accepted = AcceptedChannels()
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 64)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try prepare(channel)
                    let messages = try LoopbackConnection.Messages(wrappingChannelSynchronously: channel)
                    accepted.add(channel)
                    // From here, because SwiftNIO ends the process if the messages of a connection are dropped. A listener
                    // that hands connections over drops those that it has just accepted when it closes.
                    Task { await LoopbackConnection.serve(messages, serve) }
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let server = LoopbackServer(listener, accepted)
        do {
            try await body(server)
        } catch {
            try await server.close()
            throw error
        }
        try await server.close()
    }

    /// The port it listens on at 127.0.0.1.
    package var port: Int { listener.localAddress?.port ?? 0 }

    private func close() async throws {
        try await listener.close()
        accepted.close()
    }
}

/// The connections of a server, until it closes them.
private final class AcceptedChannels: Sendable {
    private struct State {
        var channels: [any Channel] = []
        var isClosed = false
    }

    private let state = Mutex(State())

    func add(_ channel: any Channel) {
        let isLate = state.withLock { state in
            state.channels.append(channel)
            return state.isClosed
        }
        if isLate { channel.close(promise: nil) }
    }

    func close() {
        let channels = state.withLock { state in
            state.isClosed = true
            return state.channels
        }
        for channel in channels { channel.close(promise: nil) }
    }
}

/// A connection of a client to a `LoopbackServer`.
package struct LoopbackConnection {
    fileprivate typealias Messages = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private let channel: any Channel
    private var input: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let output: NIOAsyncChannelOutboundWriter<ByteBuffer>
    /// Bytes that came with those that were read.
    private var rest = ByteBuffer()

    private init(
        _ channel: any Channel,
        _ input: NIOAsyncChannelInboundStream<ByteBuffer>,
        _ output: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) {
        (self.channel, self.input, self.output) = (channel, input.makeAsyncIterator(), output)
    }

    fileprivate static func serve(
        _ messages: Messages,
        _ serve: @Sendable (inout LoopbackConnection) async throws -> Void
    ) async {
        do {
            try await messages.executeThenClose { input, output in
                var connection = LoopbackConnection(messages.channel, input, output)
                try await serve(&connection)
            }
        } catch {
            // One side closed, refused the handshake, or is unreachable: the other one sees its connection end.
        }
    }

    /// Sends bytes to the client.
    package func send(_ bytes: some Sequence<UInt8> & Sendable) async throws {
        try await output.write(ByteBuffer(bytes: bytes))
    }

    /// Reads exactly `count` bytes.
    ///
    /// - Throws: `ChannelError.eof` if the client sends fewer.
    package mutating func read(_ count: Int) async throws -> [UInt8] {
        while rest.readableBytes < count { try await readMore() }
        return rest.readBytes(length: count) ?? []
    }

    /// Reads to the end of the first `mark`.
    ///
    /// - Throws: `ChannelError.eof` if it does not come.
    package mutating func read(to mark: String) async throws -> String {
        while true {
            if let end = rest.readableBytesView.firstRange(of: mark.utf8)?.upperBound {
                return rest.readString(length: end - rest.readerIndex) ?? ""
            }
            try await readMore()
        }
    }

    private mutating func readMore() async throws {
        guard var more = try await input.next(isolation: #isolation) else { throw ChannelError.eof }
        rest.writeBuffer(&more)
    }

    /// Connects to a server, and passes all bytes between it and the client, until one of them closes.
    ///
    /// - Parameters:
    ///   - answer: Bytes for the client, once the server is connected. Default: none.
    ///   - request: Bytes for the server, before those of the client. Default: none.
    package mutating func relay(
        to host: String = "127.0.0.1",
        port: Int,
        answer: String = "",
        request: String = ""
    ) async throws {
        let server = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: host, port: port) { channel in
                channel.eventLoop.makeCompletedFuture { try Messages(wrappingChannelSynchronously: channel) }
            }
        let (output, channel) = (output, channel)
        try await server.executeThenClose { responses, requests in
            if !answer.isEmpty { try await output.write(ByteBuffer(string: answer)) }
            if !request.isEmpty { try await requests.write(ByteBuffer(string: request)) }
            async let back: Void = {
                for try await bytes in responses { try await output.write(bytes) }
                channel.close(promise: nil)
            }()
            if rest.readableBytes > 0 { try await requests.write(rest) }
            while let bytes = try await input.next(isolation: #isolation) { try await requests.write(bytes) }
            server.channel.close(promise: nil)
            try await back
        }
    }
}
