import DequeModule

/// Targets waiting for a connection, one queue per host.
///
/// Hosts take turns, and each has a limit of active targets, so a slow host delays only itself.
struct HostQueues<Target> {
    private struct Queue {
        /// Targets not taken yet, in order of arrival.
        var waiting: Deque<Target> = []
        /// Targets taken and not finished.
        var active = 0
        /// A smaller limit for this host; `nil` for the limit of all hosts.
        var limit: Int?
        /// Whether the host has no turn until `release`.
        var isHeld = false
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
    private var turns: Deque<String> = []

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
        let hadTurn = hasTurn(host)
        queues[host, default: Queue()].waiting.append(target)
        if scatters, !atEnd { scatter(host) }
        waitingCount += 1
        if !hadTurn && hasTurn(host) { turns.append(host) }
    }

    /// Moves the last target of `host` to a random place among the last ones.
    private mutating func scatter(_ host: String) {
        guard let count = queues[host]?.waiting.count else { return }
        let place = Int.random(in: max(0, count - Self.scatterWidth)..<count)
        queues[host]?.waiting.swapAt(place, count - 1)
    }

    /// Inserts `target` before all others of `host`.
    mutating func addFirst(_ target: Target, host: String) {
        let hadTurn = hasTurn(host)
        queues[host, default: Queue()].waiting.prepend(target)
        waitingCount += 1
        if !hadTurn && hasTurn(host) { turns.append(host) }
    }

    /// Gives `host` no turn until `release`.
    mutating func hold(_ host: String) {
        guard queues[host]?.isHeld == false else { return }
        if hasTurn(host) { turns.removeAll { $0 == host } }
        queues[host]?.isHeld = true
    }

    /// Gives `host` turns again.
    mutating func release(_ host: String) {
        guard queues[host]?.isHeld == true else { return }
        queues[host]?.isHeld = false
        if hasTurn(host) { turns.append(host) }
    }

    /// Whether `host` would have a turn if it were not held.
    func wantsTurn(_ host: String) -> Bool {
        guard let queue = queues[host] else { return false }
        return hasRoom(queue, host)
    }

    private func hasRoom(_ queue: Queue, _ host: String) -> Bool {
        let most = limits[host] ?? perHost
        return !queue.waiting.isEmpty && queue.active < min(queue.limit ?? most, most)
    }

    /// Targets of `host` that were taken and not finished.
    func activeCount(of host: String) -> Int {
        queues[host]?.active ?? 0
    }

    /// Sets a smaller limit of active targets for `host`; `nil` removes it.
    mutating func setLimit(_ limit: Int?, ofHost host: String) {
        guard queues[host]?.limit != limit, limit != nil || queues[host] != nil else { return }
        let hadTurn = hasTurn(host)
        queues[host, default: Queue()].limit = limit
        if !hadTurn && hasTurn(host) { turns.append(host) }
        if hadTurn && !hasTurn(host) { turns.removeAll { $0 == host } }
    }

    /// Waiting targets of hosts that are below their limit and not held.
    var readyCount: Int {
        turns.count >= waitingCount ? waitingCount : turns.reduce(0) { $0 + (queues[$1]?.waiting.count ?? 0) }
    }

    /// The target that `next` would return.
    var first: Target? {
        turns.first.flatMap { queues[$0]?.waiting.first }
    }

    /// Takes the next target that may begin; `nil` if no host has one. End it with `finish`.
    mutating func next() -> Target? {
        guard let host = turns.popFirst(), let target = queues[host]?.waiting.popFirst() else { return nil }
        queues[host]?.active += 1
        waitingCount -= 1
        activeCount += 1
        if hasTurn(host) { turns.append(host) }
        return target
    }

    /// Ends one target of `host` that `next` returned.
    mutating func finish(host: String) {
        let hadTurn = hasTurn(host)
        queues[host]?.active -= 1
        activeCount -= 1
        if let queue = queues[host], queue.waiting.isEmpty, queue.active == 0 {
            queues[host] = nil
        } else if !hadTurn && hasTurn(host) {
            turns.append(host)
        }
    }

    /// Removes and returns all waiting targets. Active ones stay active.
    mutating func removeAll() -> [Target] {
        let targets = queues.values.flatMap(\.waiting)
        for host in queues.keys { queues[host]?.waiting = [] }
        turns = []
        waitingCount = 0
        return targets
    }

    /// Whether `host` has a turn: it has a waiting target, is below its limit and is not held.
    private func hasTurn(_ host: String) -> Bool {
        guard let queue = queues[host], !queue.isHeld else { return false }
        return hasRoom(queue, host)
    }
}
