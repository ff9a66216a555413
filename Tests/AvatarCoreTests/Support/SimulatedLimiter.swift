import AvatarCore

/// A server that limits the rate of requests, in simulated time.
protocol SimulatedLimiter {
    /// Whether the request that arrives at `time`, in seconds, is answered. If not, it gets a 429 or 503.
    mutating func admits(at time: Double) -> Bool
}

/// A bucket that gains `rate` tokens a second, and holds `capacity` of them. A request takes one.
struct TokenBucket: SimulatedLimiter {
    private let rate: Double
    private let capacity: Double
    private var tokens: Double
    private var last = 0.0

    init(rate: Double, capacity: Double = 1) {
        (self.rate, self.capacity, tokens) = (rate, capacity, capacity)
    }

    mutating func admits(at time: Double) -> Bool {
        tokens = min(capacity, tokens + (time - last) * rate)
        last = time
        guard tokens > 1 - 1e-9 else { return false }
        tokens -= 1
        return true
    }
}

/// A count that begins again with each window of `seconds`.
struct FixedWindow: SimulatedLimiter {
    private let most: Int
    private let seconds: Double
    private let offset: Double
    private var window = -1.0
    private var count = 0

    init(_ most: Int, every seconds: Double, offset: Double = 0.37) {
        (self.most, self.seconds, self.offset) = (most, seconds, offset)
    }

    mutating func admits(at time: Double) -> Bool {
        let now = ((time + offset) / seconds).rounded(.down)
        if now != window { (window, count) = (now, 0) }
        guard count < most else { return false }
        count += 1
        return true
    }
}

/// nginx's `limit_req` with `nodelay`: a leaky bucket that counts in milliseconds. With `burst` 0, it measures the distance
/// of two requests.
struct NginxLimit: SimulatedLimiter {
    private let rate: Double
    private let burst: Double
    private var excess = 0.0
    private var last: Double?

    init(rate: Double, burst: Double = 0) {
        (self.rate, self.burst) = (rate, burst)
    }

    mutating func admits(at time: Double) -> Bool {
        let milliseconds = (time * 1000).rounded(.down)
        guard let last else {
            self.last = milliseconds
            return true
        }
        let now = max(0, excess - rate * (milliseconds - last) / 1000 + 1)
        guard now <= burst else { return false }
        (excess, self.last) = (now, milliseconds)
        return true
    }
}

/// One limiter until `time`, then another.
struct ChangedLimit: SimulatedLimiter {
    private var first: any SimulatedLimiter
    private var second: any SimulatedLimiter
    private let time: Double

    init(_ first: any SimulatedLimiter, until time: Double, then second: any SimulatedLimiter) {
        (self.first, self.second, self.time) = (first, second, time)
    }

    mutating func admits(at time: Double) -> Bool {
        time < self.time ? first.admits(at: time) : second.admits(at: time)
    }
}

/// Two limits at the same time: a request needs both.
struct BothLimits: SimulatedLimiter {
    private var first: any SimulatedLimiter
    private var second: any SimulatedLimiter

    init(_ first: any SimulatedLimiter, _ second: any SimulatedLimiter) {
        (self.first, self.second) = (first, second)
    }

    mutating func admits(at time: Double) -> Bool {
        first.admits(at: time) && second.admits(at: time)
    }
}

/// No limit.
struct NoLimit: SimulatedLimiter {
    mutating func admits(at time: Double) -> Bool { true }
}

/// A sync of `images` from one host behind a limiter, in simulated time.
struct PacedRun {
    /// The pace of the host.
    private(set) var pace = HostPace()
    /// The time that the run took, in seconds.
    private(set) var seconds = 0.0
    /// Refused requests.
    private(set) var refused = 0
    /// Images that were refused too often, and images that were left when the host was given up.
    private(set) var failed = 0
    /// When each image arrived, in seconds.
    private(set) var arrivals: [Double] = []

    private var limiter: any SimulatedLimiter
    private let roundTrip: Double
    private let connections: Int
    private let retryAfter: Duration?
    private var waiting: [HostTurn]
    private var active: [(turn: HostTurn, end: Double, isAdmitted: Bool)] = []

    init(
        _ images: Int,
        behind limiter: any SimulatedLimiter,
        retryAfter: Duration?,
        roundTrip: Double = 0.01,
        connections: Int = 16
    ) {
        self.limiter = limiter
        (self.roundTrip, self.connections, self.retryAfter) = (roundTrip, connections, retryAfter)
        waiting = Array(repeating: HostTurn(), count: images)
    }

    /// Runs to the end, or until the host is given up.
    mutating func run() {
        while !waiting.isEmpty || !active.isEmpty {
            let limit = min(pace.limit, connections)
            while !waiting.isEmpty, active.count < limit, pace.earliest <= .seconds(seconds) { begin() }
            guard let first = active.indices.min(by: { active[$0].end < active[$1].end }) else {
                seconds = pace.earliest / .seconds(1) + 0.0005
                continue
            }
            let canBegin = !waiting.isEmpty && active.count < limit
            let turn = canBegin ? max(seconds, pace.earliest / .seconds(1) + 0.0005) : .infinity
            guard active[first].end <= turn else {
                seconds = turn
                continue
            }
            seconds = active[first].end
            guard end(active.remove(at: first)) else { break }
        }
        failed += waiting.count + active.count
    }

    private mutating func begin() {
        var turn = waiting.removeFirst()
        turn.slowdowns = pace.begin(active: active.count + 1, at: .seconds(seconds))
        turn.began = .seconds(seconds)
        // The way to the server takes a little longer or shorter each time.
        let jitter = Double((arrivals.count * 7919 + refused * 104_729) % 1000) / 1000
        let arrival = seconds + roundTrip * 0.5 + jitter * 0.0005
        active.append((turn, seconds + roundTrip * (1 + 0.2 * jitter), limiter.admits(at: arrival)))
    }

    /// Handles one response.
    ///
    /// - Returns: whether the run goes on.
    private mutating func end(_ request: (turn: HostTurn, end: Double, isAdmitted: Bool)) -> Bool {
        let now = Duration.seconds(seconds)
        guard !request.isAdmitted else {
            arrivals.append(seconds)
            pace.answered(request.turn, at: now)
            return true
        }
        refused += 1
        let reaction = pace.refused(
            request.turn,
            retryAfter: retryAfter,
            longest: HostPace.longestWait,
            active: active.count + 1,
            at: now
        )
        switch reaction {
        case .askAgain:
            var turn = request.turn
            turn.refusals += 1
            if turn.refusals == 1 { waiting.insert(turn, at: 0) } else { waiting.append(turn) }
        case .failImage: failed += 1
        case .failHost:
            failed += 1
            return false
        }
        return true
    }
}
