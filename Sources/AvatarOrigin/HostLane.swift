import AvatarOriginRules

/// The requests to one origin: those in progress, and those that wait for a connection.
///
/// The store's scheduler cannot hold these back. It learns the protocol of an origin from its first response, and the lane from the
/// connection; it knows hosts by their names, and not those that a redirect or a proxy leads to; a server requests past it. Nor does
/// it know when descriptors are short. libcurl could queue them itself, but it wakes one waiting request of all hosts at a time, so
/// that a slow host could hold up another one. It also lets the time for a connection run while a request waits.
final class HostLane {
    /// The maximum number of requests at once on a connection over HTTP/2, libcurl's own limit.
    private static let mostStreams = 100
    /// The upper bound of `responsesToGrow`.
    private static let mostResponsesToGrow = 256

    /// The scheme and authority.
    let origin: String
    /// The maximum number of requests at once without HTTP/2.
    private let connections: Int
    /// Whether the origin may offer HTTP/2, which is known once a connection is there.
    private let isSecure: Bool
    /// Whether the last response came over HTTP/2.
    private(set) var isMultiplexed = false
    /// Whether the first response is expected to, because the origin has answered so before.
    private var isExpected = false
    /// The maximum number of requests at once over HTTP/2. Fewer than `mostStreams` after a connection has ended without a
    /// response to some of them, until responses arrive again.
    private var streams = mostStreams
    /// The number of responses since that, and the number after which `streams` grows. An origin whose connections each bear
    /// only a few requests would lose one with each growth, so the number doubles with each loss that comes soon.
    private var responses = 0
    private var responsesToGrow = 0
    /// The requests in progress.
    private(set) var runningCount = 0
    /// Whether the only request in progress has no connection yet. The others wait for it, since they may share it.
    private var isProbing = false
    /// Whether the last connection failed. The next requests then try at once, rather than one after the other.
    private var hasFailed = false
    /// Whether the lane waits for its turn, because the client has as many requests in progress as it may.
    var isCrowded = false
    /// The waiting requests, beginning at `first`, and how often each lost its connection over HTTP/2.
    private var queue: [(transfer: Transfer, losses: Int)] = []
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
        queue.append((transfer, 0))
        if transfer.hop.isMultiplexed, isSecure, responses == 0 { isExpected = true }
    }

    /// Puts a request back at the front of the queue.
    ///
    /// - Parameter losses: how often it lost its connection over HTTP/2.
    func putBack(_ transfer: Transfer, losses: Int) {
        queue.insert((transfer, losses), at: first)
    }

    /// The number of requests that wait.
    var waitingCount: Int { queue.count - first }

    /// Removes a waiting request.
    ///
    /// - Returns: whether it was waiting.
    func remove(_ transfer: Transfer) -> Bool {
        guard let place = queue[first...].firstIndex(where: { $0.transfer === transfer }) else { return false }
        queue.remove(at: place)
        return true
    }

    /// Removes all waiting requests.
    func removeAll() -> [Transfer] {
        defer { (queue, first) = ([], 0) }
        return queue[first...].map(\.transfer)
    }

    /// The next request, if it may begin now, how often it lost its connection, and whether the engine has to tell when its
    /// connection is there.
    func next() -> (transfer: Transfer, losses: Int, isProbe: Bool)? {
        guard first < queue.count, runningCount < (isProbing ? 1 : isMultiplexed || isExpected ? streams : connections)
        else {
            return nil
        }
        let (transfer, losses) = queue[first]
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
        return (transfer, losses, isProbing)
    }

    /// The request that probed has a connection.
    func hasConnected() {
        (isProbing, hasFailed) = (false, false)
    }

    /// A response has arrived.
    ///
    /// - Parameter version: the major version of its HTTP.
    func hasAnswered(version: CInt) {
        (isMultiplexed, isExpected) = (version >= 2, false)
        responses += 1
        if responses > responsesToGrow { streams = min(streams + 1, Self.mostStreams) }
    }

    /// A connection over HTTP/2 has ended without a response to a request on it. The origin may let each connection bear a
    /// few requests only, even one, so the next ones go one at a time.
    func hasLostStream() {
        // Of the requests that one end has cost, the first counts.
        if responses > 0 {
            let isSoon = responses <= 2 * responsesToGrow + 1
            responsesToGrow = isSoon ? min(max(4, 2 * responsesToGrow), Self.mostResponsesToGrow) : 0
        }
        responses = 0
        (streams, isExpected) = (1, false)
    }

    /// A request in progress has ended.
    func end(hasConnected: Bool) {
        runningCount -= 1
        if !hasConnected { hasFailed = true }
        if isProbing { isProbing = false }
    }
}
