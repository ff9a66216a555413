#if NIOOrigin
import NIOCore
import Synchronization

/// Passes requests to the event loops that send them, in batches.
///
/// Each hand-over from another thread wakes the thread of the event loop, which costs as much as the request itself.
/// All requests of one host go to one loop, which also owns its connections, so that a request and its response stay on
/// one thread.
final class Outbox: Sendable {
    /// The maximum size of a batch. A larger one would leave the network idle while it fills.
    private static let mostWaiting = 8

    /// The event loops. A host belongs to one by its hash.
    private let loops: [any EventLoop]
    /// The waiting requests, one batch per event loop.
    private let waiting: Mutex<[[Send]]>

    /// Sends one request. Called on the event loop.
    typealias Send = @Sendable () -> Void

    /// An outbox for the event loops of `group`.
    init(_ group: any EventLoopGroup) {
        loops = Array(group.makeIterator())
        waiting = Mutex(Array(repeating: [], count: loops.count))
    }

    /// Calls `send` on the event loop of `host`, when the batch of that loop is full or `flush` is called.
    func add(to host: String, _ send: @escaping Send) {
        let place = Int(UInt(bitPattern: host.hashValue) % UInt(loops.count))
        let batch = waiting.withLock { waiting -> [Send] in
            waiting[place].append(send)
            return waiting[place].count < Self.mostWaiting ? [] : waiting.take(place)
        }
        hand(batch, to: loops[place])
    }

    /// Passes on all incomplete batches.
    func flush() {
        for place in loops.indices { hand(waiting.withLock { $0.take(place) }, to: loops[place]) }
    }

    /// Passes a batch to its event loop.
    private func hand(_ batch: [Send], to loop: any EventLoop) {
        guard !batch.isEmpty else { return }
        loop.execute { for send in batch { send() } }
    }
}

extension [[Outbox.Send]] {
    /// Takes the batch of the event loop with the number `place`.
    fileprivate mutating func take(_ place: Int) -> [Outbox.Send] {
        let taken = self[place]
        self[place] = []
        return taken
    }
}
#endif
