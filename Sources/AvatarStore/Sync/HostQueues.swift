import DequeModule

/// Targets waiting for a connection, one queue per host.
///
/// Hosts take turns, and each has a limit of active targets, so a slow host delays only itself.
struct HostQueues<Target>: ~Copyable {
    /// A class, because a copy in the dictionary would be changed in three steps, each with a look-up.
    private final class Queue {
        /// The host: its name and port.
        let host: String
        /// The maximum number of active targets if the host has no smaller limit.
        let most: Int
        /// Targets not taken yet, in order of arrival.
        var waiting: Deque<Target> = []
        /// Targets taken and not finished.
        var active = 0
        /// A smaller limit for this host; `nil` for the limit of all hosts.
        var limit: Int?
        /// Whether the host has no turn until `release`.
        var isHeld = false

        init(host: String, most: Int) {
            (self.host, self.most) = (host, most)
        }

        /// Whether the host has a waiting target and is below its limit.
        var hasRoom: Bool { !waiting.isEmpty && active < min(limit ?? most, most) }
        /// Whether the host has a turn: it has room and is not held.
        var hasTurn: Bool { !isHeld && hasRoom }
    }

    /// The maximum number of active targets per host.
    private let perHost: Int
    /// Hosts with a limit of their own.
    private let limits: [String: Int]
    /// Whether the targets of a host are taken in random order, within the next ones that wait.
    private let scatters: Bool
    /// The number of waiting targets among which one is taken at random.
    private static var scatterWidth: Int { 1024 }
    /// The queues by host (name and port). A host without waiting and active targets has none.
    private var queues: [String: Queue] = [:]
    /// Hosts that have waiting targets and are below their limit, each once, in the order of their turns.
    private var turns: Deque<Queue> = []

    /// Waiting targets of all hosts.
    private(set) var waitingCount = 0
    /// Targets taken and not finished, of all hosts.
    private(set) var activeCount = 0

    /// Queues with at most `perHost` active targets per host.
    ///
    /// - Parameters:
    ///   - limits: other limits, by host.
    ///   - scatters: whether to take the targets of a host in random order, so that machines with one list do not all ask for
    ///     the same image at the same moment. Default: no.
    init(perHost: Int, limits: [String: Int] = [:], scatters: Bool = false) {
        (self.perHost, self.limits, self.scatters) = (perHost, limits, scatters)
    }

    /// Appends `target` to the queue of `host`; at the very end, or scattered among the last ones.
    mutating func add(_ target: Target, host: String, atEnd: Bool = false) {
        let queue = queue(of: host)
        let hadTurn = queue.hasTurn
        queue.waiting.append(target)
        if scatters, !atEnd { Self.scatter(queue) }
        waitingCount += 1
        if !hadTurn && queue.hasTurn { turns.append(queue) }
    }

    /// Moves the last target of `queue` to a random place among the last ones.
    private static func scatter(_ queue: Queue) {
        let count = queue.waiting.count
        let place = Int.random(in: max(0, count - scatterWidth)..<count)
        queue.waiting.swapAt(place, count - 1)
    }

    /// Inserts `target` before all others of `host`.
    mutating func addFirst(_ target: Target, host: String) {
        let queue = queue(of: host)
        let hadTurn = queue.hasTurn
        queue.waiting.prepend(target)
        waitingCount += 1
        if !hadTurn && queue.hasTurn { turns.append(queue) }
    }

    /// The queue of `host`, which is made if necessary.
    private mutating func queue(of host: String) -> Queue {
        if let queue = queues[host] { return queue }
        let queue = Queue(host: host, most: limits[host] ?? perHost)
        queues[host] = queue
        return queue
    }

    /// Gives `host` no turn until `release`.
    mutating func hold(_ host: String) {
        guard let queue = queues[host], !queue.isHeld else { return }
        if queue.hasTurn { turns.removeAll { $0 === queue } }
        queue.isHeld = true
    }

    /// Gives `host` turns again.
    mutating func release(_ host: String) {
        guard let queue = queues[host], queue.isHeld else { return }
        queue.isHeld = false
        if queue.hasTurn { turns.append(queue) }
    }

    /// Whether `host` would have a turn if it were not held.
    func wantsTurn(_ host: String) -> Bool {
        queues[host]?.hasRoom ?? false
    }

    /// Targets of `host` that were taken and not finished.
    func activeCount(of host: String) -> Int {
        queues[host]?.active ?? 0
    }

    /// Sets a smaller limit of active targets for `host`; `nil` removes it.
    mutating func setLimit(_ limit: Int?, ofHost host: String) {
        guard queues[host]?.limit != limit, limit != nil || queues[host] != nil else { return }
        let queue = queue(of: host)
        let hadTurn = queue.hasTurn
        queue.limit = limit
        if !hadTurn && queue.hasTurn { turns.append(queue) }
        if hadTurn && !queue.hasTurn { turns.removeAll { $0 === queue } }
    }

    /// Waiting targets of hosts that are below their limit and not held.
    var readyCount: Int {
        turns.count >= waitingCount ? waitingCount : turns.reduce(0) { $0 + $1.waiting.count }
    }

    /// The target that `next` would return.
    var first: Target? {
        turns.first?.waiting.first
    }

    /// Takes the next target that may begin; `nil` if no host has one. End it with `finish`.
    mutating func next() -> Target? {
        guard let queue = turns.popFirst(), let target = queue.waiting.popFirst() else { return nil }
        queue.active += 1
        waitingCount -= 1
        activeCount += 1
        if queue.hasTurn { turns.append(queue) }
        return target
    }

    /// Ends one target of `host` that `next` returned.
    mutating func finish(host: String) {
        activeCount -= 1
        guard let queue = queues[host] else { return }
        let hadTurn = queue.hasTurn
        queue.active -= 1
        if queue.waiting.isEmpty, queue.active == 0 {
            queues[host] = nil
        } else if !hadTurn && queue.hasTurn {
            turns.append(queue)
        }
    }

    /// Removes and returns all waiting targets. Active ones stay active.
    mutating func removeAll() -> [Target] {
        let targets = queues.values.flatMap(\.waiting)
        for queue in queues.values { queue.waiting = [] }
        turns = []
        waitingCount = 0
        return targets
    }
}
