import DequeModule

/// Targets that wait for a connection, in a queue a host.
///
/// Hosts take turns, and none gets more than its share at once, so a slow host holds up nobody but itself.
struct HostQueues<Target> {
    private struct Queue {
        var waiting: Deque<Target> = []
        var active = 0
        /// `nil`: as many as any host.
        var limit: Int?
    }

    private let perHost: Int
    private var queues: [String: Queue] = [:]
    /// Hosts that have something waiting and may begin more, each once, in the order of their turns.
    private var turns: Deque<String> = []

    /// Targets that wait.
    private(set) var waitingCount = 0
    /// Targets that were taken and are not finished.
    private(set) var activeCount = 0

    init(perHost: Int) {
        self.perHost = perHost
    }

    mutating func add(_ target: Target, host: String) {
        let hadTurn = hasTurn(host)
        queues[host, default: Queue()].waiting.append(target)
        waitingCount += 1
        if !hadTurn && hasTurn(host) { turns.append(host) }
    }

    /// Lets `host` have fewer at once than others; `nil`: as many.
    mutating func setLimit(_ limit: Int?, ofHost host: String) {
        guard queues[host]?.limit != limit, limit != nil || queues[host] != nil else { return }
        let hadTurn = hasTurn(host)
        queues[host, default: Queue()].limit = limit
        if !hadTurn && hasTurn(host) { turns.append(host) }
        if hadTurn && !hasTurn(host) { turns.removeAll { $0 == host } }
    }

    /// Targets that wait, of hosts that may begin more.
    var readyCount: Int {
        turns.count >= waitingCount ? waitingCount : turns.reduce(0) { $0 + (queues[$1]?.waiting.count ?? 0) }
    }

    /// What `next` would give.
    var first: Target? {
        turns.first.flatMap { queues[$0]?.waiting.first }
    }

    /// The next target that may begin; `nil` if none may.
    mutating func next() -> Target? {
        guard let host = turns.popFirst(), let target = queues[host]?.waiting.popFirst() else { return nil }
        queues[host]?.active += 1
        waitingCount -= 1
        activeCount += 1
        if hasTurn(host) { turns.append(host) }
        return target
    }

    /// Says that a target of `host` is finished.
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

    /// Takes out everything that waits.
    mutating func removeAll() -> [Target] {
        let targets = queues.values.flatMap(\.waiting)
        for host in queues.keys { queues[host]?.waiting = [] }
        turns = []
        waitingCount = 0
        return targets
    }

    /// A host has one turn in line while something of it waits and may begin.
    private func hasTurn(_ host: String) -> Bool {
        guard let queue = queues[host] else { return false }
        return !queue.waiting.isEmpty && queue.active < min(queue.limit ?? perHost, perHost)
    }
}
