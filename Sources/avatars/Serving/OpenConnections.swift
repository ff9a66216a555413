import AvatarFoundation
import AvatarStore
import HummingbirdCore
import NIOCore
import Synchronization

/// The connections of a server that are open.
final class OpenConnections: Sendable {
    private struct Connection {
        let channel: any Channel
        /// The time that it waits for a request.
        let wait: RequestWait
        /// The client whose connections are counted; `nil` for one without a limit.
        let client: IPAddress?
        /// Its messages, once it is set up.
        var messages: HTTP1Channel.Value?
    }

    private struct State {
        var connections: [ObjectIdentifier: Connection] = [:]
        /// The number of connections of each client with a limit.
        var clients: [IPAddress: Int] = [:]
        /// Whether all connections were closed, so that a later one is closed too.
        var isClosed = false
    }

    private let state = Locked(State())
    private let eventStreams = Locked(0)

    /// The network of a client, whose connections are counted: its IPv4 address, or the first 64 bits of its IPv6 address, because a
    /// client has all addresses below them. `nil` for a peer on loopback or a Unix domain socket: a proxy has the connections of all
    /// its clients.
    static func client(at address: SocketAddress?) -> IPAddress? {
        guard let address, !address.isLoopback, let client = address.address else { return nil }
        return client.family == .v4 ? client : IPAddress(family: .v6, bits: (client.bits >> 64) << 64)
    }

    /// The name of the network of a client, whose wrong tokens are counted; `nil` as for `client(at:)`.
    static func nameOfClient(at address: SocketAddress?) -> String? {
        client(at: address).flatMap { client in
            client.family == .v4 ? address?.ipAddress : String(client.bits >> 64, radix: 16) + "::/64"
        }
    }

    /// Adds a connection until it is closed.
    ///
    /// - Returns: the time that it waits for requests; `nil` if its client has `limit` connections, and it is not added.
    func add(_ channel: any Channel, atMost limit: Int) -> RequestWait? {
        let wait = RequestWait()
        let client = limit > 0 ? Self.client(at: channel.remoteAddress) : nil
        let isAdded = state.withLock { state in
            if let client {
                guard state.clients[client, default: 0] < limit else { return false }
                state.clients[client, default: 0] += 1
            }
            state.connections[ObjectIdentifier(channel)] = Connection(channel: channel, wait: wait, client: client)
            return true
        }
        guard isAdded else { return nil }
        // Keeps this object alive: a connection may outlive the server that accepted it, and needs its messages.
        channel.closeFuture.whenComplete { _ in self.remove(channel) }
        return wait
    }

    private func remove(_ channel: any Channel) {
        // The lock is released before the messages are freed.
        _ = state.withLock { state in
            let removed = state.connections.removeValue(forKey: ObjectIdentifier(channel))
            if let client = removed?.client, let count = state.clients[client] {
                state.clients[client] = count > 1 ? count - 1 : nil
            }
            return removed
        }
    }

    /// Keeps the messages of an added connection until it is closed, and closes it if all others are.
    ///
    /// A listener that closes drops the connections that it has just accepted. SwiftNIO ends the process if messages that
    /// were not read to their end are dropped before their connection is closed.
    func keep(_ messages: HTTP1Channel.Value) {
        let isLate = state.withLock { state in
            state.connections[ObjectIdentifier(messages.channel)]?.messages = messages
            return state.isClosed
        }
        if isLate { messages.channel.close(promise: nil) }
    }

    /// Waits until fewer than `limit` connections are open. Looks again every 20 milliseconds, and closes connections that have waited
    /// for a request for longer than `wait`: idle or slow clients must not keep others out.
    func waitForRoom(below limit: Int, closingAfter wait: TimeAmount) async {
        while count >= limit, !Task.isCancelled {
            closeLongestWaiting(after: wait)
            try? await Deadlines.shared.sleep(for: .milliseconds(20))  // When cancelled, the loop ends.
        }
    }

    private var count: Int {
        state.withLock { $0.connections.count }
    }

    /// The most connections that are closed at once to make room.
    private static let mostClosedAtOnce = 64

    /// Closes connections that have waited for a request for longer than `wait`, those that waited longest first.
    private func closeLongestWaiting(after wait: TimeAmount) {
        let latest = NIODeadline.now() - wait
        let waiting = connections.compactMap { connection in
            connection.wait.since.map { (since: $0, connection.channel) }
        }
        .filter { $0.since <= latest }.sorted { $0.since < $1.since }
        // Not the younger half: its requests may be on their way.
        for (_, channel) in waiting.prefix(max(1, min(Self.mostClosedAtOnce, waiting.count / 2))) {
            channel.triggerUserOutboundEvent(RequestHandler.CloseWaiting(), promise: nil)
        }
    }

    /// Takes one of at most `limit` streams of events. Give it back with `returnEventStream`.
    ///
    /// - Returns: whether one was left.
    func takeEventStream(atMost limit: Int) -> Bool {
        eventStreams.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
    }

    /// Gives back what `takeEventStream` took.
    func returnEventStream() {
        eventStreams.withLock { $0 -= 1 }
    }

    private var connections: [Connection] {
        state.withLock { Array($0.connections.values) }
    }

    private var channels: [any Channel] { connections.map(\.channel) }

    /// Closes the connections that have no response under way, and the others after theirs.
    func finish() {
        for channel in channels {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
    }

    /// Closes all connections, and those that come later.
    func close() {
        state.withLock { $0.isClosed = true }
        for channel in channels {
            channel.triggerUserOutboundEvent(RequestHandler.CloseNow(), promise: nil)
        }
    }
}

/// Whether a connection waits for a request, and since when.
final class RequestWait: Sendable {
    /// In nanoseconds; 0 while a response is under way.
    private let begin = Atomic(NIODeadline.now().uptimeNanoseconds)

    /// When the wait began; `nil` while a response is under way.
    var since: NIODeadline? {
        let time = begin.load(ordering: .relaxed)
        return time > 0 ? .uptimeNanoseconds(time) : nil
    }

    /// A response is under way.
    func end() {
        begin.store(0, ordering: .relaxed)
    }

    /// The last response was sent.
    func beginAgain(at time: NIODeadline) {
        begin.store(time.uptimeNanoseconds, ordering: .relaxed)
    }
}

/// Closes a connection whose client does not take the bytes that wait for it.
final class SlowReaderHandler: ChannelInboundHandler, RemovableChannelHandler {
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
            ? nil
            : context.eventLoop.assumeIsolated().scheduleTask(in: limit) {
                context.triggerUserOutboundEvent(RequestHandler.CloseNow(), promise: nil)
            }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        closing?.cancel()
        context.fireChannelInactive()
    }
}
