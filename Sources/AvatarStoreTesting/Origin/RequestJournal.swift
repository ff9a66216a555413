/// The requests that an origin saw: all of them as counts, the latest in full.
struct RequestJournal {
    private static let capacity = 1000

    private(set) var total = 0
    private var counts: [String: Int] = [:]
    /// A ring once it is full; `total` then says where the oldest is.
    private var ring: [LoopbackOrigin.Request] = []

    mutating func record(_ request: LoopbackOrigin.Request) {
        let slot = total % Self.capacity
        if ring.count < Self.capacity {
            ring.append(request)
        } else {
            ring[slot] = request
        }
        total += 1
        counts[request.target, default: 0] += 1
        if request.path.utf8.count < request.target.utf8.count {
            counts[request.path, default: 0] += 1
        }
    }

    func count(for path: String) -> Int {
        counts[path] ?? 0
    }

    /// Oldest first.
    var latest: [LoopbackOrigin.Request] {
        guard ring.count == Self.capacity else { return ring }
        let oldest = total % Self.capacity
        return Array(ring[oldest...] + ring[..<oldest])
    }
}
