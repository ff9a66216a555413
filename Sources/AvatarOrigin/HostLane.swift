import AvatarOriginRules

/// The requests to one origin: those in progress, and those that wait for a connection.
///
/// libcurl could queue them itself, but it wakes one waiting request of all hosts at a time, so that a slow host could hold up
/// another one. It also lets the time for a connection run while a request waits.
final class HostLane {
    /// The maximum number of requests at once on a connection over HTTP/2, libcurl's own limit.
    private static let mostStreams = 100

    /// The scheme and authority.
    let origin: String
    /// The maximum number of requests at once without HTTP/2.
    private let connections: Int
    /// Whether the origin may offer HTTP/2, which is known once a connection is there.
    private let isSecure: Bool
    /// Whether the last response came over HTTP/2.
    var isMultiplexed = false
    /// The requests in progress.
    private(set) var runningCount = 0
    /// Whether the only request in progress has no connection yet. The others wait for it, since they may share it.
    private var isProbing = false
    /// Whether the last connection failed. The next requests then try at once, rather than one after the other.
    private var hasFailed = false
    /// Whether the lane waits for its turn, because the client has as many requests in progress as it may.
    var isCrowded = false
    /// The waiting requests, beginning at `first`.
    private var queue: [Transfer] = []
    private var first = 0

    /// A lane without requests.
    init(_ origin: String, connections: Int) {
        self.origin = origin
        self.connections = connections
        isSecure = origin.utf8.starts(with: "https:".utf8)
    }

    /// Whether the lane has no request at all.
    var isEmpty: Bool { runningCount == 0 && first == queue.count }

    /// Adds a request at the end of the queue.
    func add(_ transfer: Transfer) {
        queue.append(transfer)
    }

    /// Puts a request back at the front of the queue.
    func putBack(_ transfer: Transfer) {
        queue.insert(transfer, at: first)
    }

    /// The number of requests that wait.
    var waitingCount: Int { queue.count - first }

    /// Removes a waiting request.
    ///
    /// - Returns: whether it was waiting.
    func remove(_ transfer: Transfer) -> Bool {
        guard let place = queue[first...].firstIndex(where: { $0 === transfer }) else { return false }
        queue.remove(at: place)
        return true
    }

    /// Removes all waiting requests.
    func removeAll() -> [Transfer] {
        defer { (queue, first) = ([], 0) }
        return Array(queue[first...])
    }

    /// The next request, if it may begin now, and whether the engine has to tell when its connection is there.
    func next() -> (transfer: Transfer, isProbe: Bool)? {
        guard first < queue.count, runningCount < (isProbing ? 1 : isMultiplexed ? Self.mostStreams : connections)
        else {
            return nil
        }
        let transfer = queue[first]
        first += 1
        if first == queue.count {
            queue.removeAll(keepingCapacity: true)
            first = 0
        } else if first >= 1024 {
            queue.removeFirst(first)
            first = 0
        }
        isProbing = isSecure && runningCount == 0 && !hasFailed
        runningCount += 1
        return (transfer, isProbing)
    }

    /// The request that probed has a connection.
    func hasConnected() {
        (isProbing, hasFailed) = (false, false)
    }

    /// A request in progress has ended.
    func end(hasConnected: Bool) {
        runningCount -= 1
        if !hasConnected { hasFailed = true }
        if isProbing { isProbing = false }
    }
}
