import NIOCore
import Synchronization

/// Requests on their way to the event loops that send them, some at a time.
///
/// A request that another thread hands to an event loop wakes the loop's thread, which costs as much as the request. So
/// several are handed over at once. All of one host go to one loop: its connections are that loop's, and a request and
/// its answer pass from no thread to another.
final class Outbox: Sendable {
    /// So many wait for each other at the most: more would leave the network idle meanwhile.
    private static let mostWaiting = 8

    private let loops: [any EventLoop]
    private let waiting: Mutex<[[Send]]>

    typealias Send = @Sendable () -> Void

    init(_ group: any EventLoopGroup) {
        loops = Array(group.makeIterator())
        waiting = Mutex(Array(repeating: [], count: loops.count))
    }

    /// Calls `send` on the event loop of `host`, with the next ones of that loop or once `flush` is called.
    func add(to host: String, _ send: @escaping Send) {
        let place = Int(UInt(bitPattern: host.hashValue) % UInt(loops.count))
        let batch = waiting.withLock { waiting -> [Send] in
            waiting[place].append(send)
            return waiting[place].count < Self.mostWaiting ? [] : waiting.take(place)
        }
        hand(batch, to: loops[place])
    }

    /// Hands over what still waits.
    func flush() {
        for place in loops.indices { hand(waiting.withLock { $0.take(place) }, to: loops[place]) }
    }

    private func hand(_ batch: [Send], to loop: any EventLoop) {
        guard !batch.isEmpty else { return }
        loop.execute { for send in batch { send() } }
    }
}

extension [[Outbox.Send]] {
    fileprivate mutating func take(_ place: Int) -> [Outbox.Send] {
        let taken = self[place]
        self[place] = []
        return taken
    }
}
