import HummingbirdCore
import NIOCore
import Synchronization

/// The connections of a server that are open.
final class OpenConnections: Sendable {
    private struct Connection {
        let channel: any Channel
        /// Its messages, once it is set up.
        var messages: HTTP1Channel.Value?
    }

    private struct State {
        var connections: [ObjectIdentifier: Connection] = [:]
        /// Whether all connections were closed, so that a later one is closed too.
        var isClosed = false
    }

    private let state = Mutex(State())
    private let eventStreams = Mutex(0)

    /// Adds a connection until it is closed.
    func add(_ channel: any Channel) {
        state.withLock { $0.connections[ObjectIdentifier(channel)] = Connection(channel: channel) }
        // Keeps this object alive: a connection may outlive the server that accepted it, and needs its messages.
        channel.closeFuture.whenComplete { _ in self.remove(channel) }
    }

    private func remove(_ channel: any Channel) {
        // The lock is released before the messages are freed.
        _ = state.withLock { $0.connections.removeValue(forKey: ObjectIdentifier(channel)) }
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

    /// Waits until fewer than `limit` connections are open. Looks again every 20 milliseconds.
    func waitForRoom(below limit: Int) async {
        while count >= limit, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(20))  // When cancelled, the loop ends.
        }
    }

    private var count: Int {
        // Not inlined into an async function; see CONTRIBUTING.md, "Locks".
        @inline(never) get { state.withLock { $0.connections.count } }
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
    // Not inlined into an async function; see CONTRIBUTING.md, "Locks".
    @inline(never)
    func returnEventStream() {
        eventStreams.withLock { $0 -= 1 }
    }

    private var channels: [any Channel] {
        state.withLock { $0.connections.values.map(\.channel) }
    }

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
