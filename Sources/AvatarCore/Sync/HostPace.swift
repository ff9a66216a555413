#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The pace of the requests to one host: how many at a time, its window, and how many a second.
///
/// The window finds out what the host bears. It doubles with each round trip while it is full and answers come without trouble and
/// no slower than before, later it gains an eighth per round trip, up to the ceiling of its protocol. A refusal, a lost connection or
/// a time-out halves it.
///
/// ```
///               429 or 503                    the wait is over
///  unlimited ───────────────▶ waiting ─────────────────────────▶ spaced: faster with each answer
///      ▲                        ▲                                   │                   │
///      │                        └──────────── 429 or 503 ───────────┘                   │
///      └─────────────────────────── faster than any limit ──────────────────────────────┘
/// ```
///
/// A host without limits stays unlimited and costs some counters. The first refusal makes the host wait for its
/// Retry-After, or for a short time of our own. From then on, its requests are spaced. A refused request costs a wait,
/// which often is ten or a hundred requests long, so the pace finds the limit with few refusals:
///
/// - After a refusal, the limit lies between two rates: the answers a second since the last one, waits included, and the
///   refused rate. The next goal is a value between them.
/// - Far below its goal, the rate doubles in a fraction of a second (additive increase would take minutes).
/// - Near its goal, the rate follows a cubic curve, as TCP's CUBIC does (RFC 9438): it flattens towards the goal, stays
///   there for some seconds, and then rises faster and faster. A limit that was lifted is left behind within a minute.
///
/// The value has no clock. Times are durations since any moment, by a monotonic clock.
package struct HostPace: Sendable {
    /// The consequence of a refusal (429 or 503).
    package enum Reaction: Hashable, Sendable {
        /// The image is requested again after the wait.
        case askAgain
        /// The image was refused too often, while the host answered other requests. It failed; the host did not.
        case failImage
        /// The refusal is a failure of the host: the wait is too long, or the host only refuses.
        case failHost
    }

    /// The longest Retry-After that a sync waits for, in seconds.
    package static let longestWait = Duration.seconds(60)

    /// Slowdowns so far. Each request carries their number, so that requests sent together cause one slowdown.
    private var slowdowns = 0
    /// Requests a second; `nil` without a limit.
    private(set) var rate: Double?
    /// The rate at which the host is expected to refuse next; `nil` if unknown.
    private var goal: Double?
    /// The curve from the rate after the last slowdown to the goal.
    private var curve = Curve(from: 1, to: 1, doubt: 1)
    /// The mean rate of the last time without a refusal that was longer than 2 s. Refusals lower it.
    private var proven = 0.0
    /// The rate right after the last slowdown.
    private var firstRate = 0.0
    /// The time of the next request, in seconds.
    private var next = 0.0
    /// The end of the last wait, in seconds.
    private var waitsUntil = 0.0
    /// When the last slowdown began, or the first request was sent, in seconds.
    private var since: Double?
    /// The planned distances of the requests since then, in seconds.
    private var planned = 0.0
    /// Requests answered since then.
    private var answers = 0
    /// When the last of them was answered, in seconds.
    private var lastAnswer: Double?

    /// The bounds of the window.
    private var bounds: HostBounds
    /// The most requests at a time, before the ceiling.
    private var window: Int
    /// Whether the window doubles with each round trip: until the first trouble, and until answers become slower.
    private var isDoubling = true
    /// When a request without an answer has halved the window last.
    private var halved = Duration.seconds(-1)
    /// Whether the last request has filled the window.
    private var isFull = false
    /// The answers since the window was judged last, and their times in seconds.
    private var judged = (count: 0, seconds: 0.0)
    /// The answers after which the window is judged: those of a round trip.
    private var judgedCount: Int
    /// The mean time of an answer when the window grew last, in seconds.
    private var usualSeconds: Double?

    /// Slowdowns since the last answer, and the time waited for them in seconds.
    private var inVain = (count: 0, seconds: 0.0)
    /// Whether the host has answered a request of this sync.
    private var hasAnswered = false
    /// Images that were refused without Retry-After, and answered later or never.
    private var (cured, hopeless) = (0, 0)

    /// The most requests at a time.
    package var limit: Int { min(window, bounds.most) }
    /// Refused requests.
    package private(set) var refusalCount = 0
    /// The time that the host is waited for, with what is left of the last wait.
    package private(set) var waited = Duration.zero

    /// The time that the host was waited for until `now`.
    package func waited(at now: Duration) -> Duration {
        waited - max(.zero, .seconds(waitsUntil) - now)
    }

    /// A host that refused nothing so far.
    ///
    /// - Parameter window: the requests at a time that it bore in an earlier sync; `nil` if that is not known. A small one was
    ///   halved, and does not double.
    package init(_ bounds: HostBounds = .http1, window: Int? = nil) {
        self.bounds = bounds
        self.window = max(min(window ?? bounds.first, bounds.most), 1)
        judgedCount = self.window
        isDoubling = self.window >= bounds.first
    }

    /// The same host at the begin of a sync: it keeps its window, and nothing of what it refused.
    package func renewed(_ bounds: HostBounds) -> HostPace {
        var pace = HostPace(bounds, window: window)
        pace.isDoubling = isDoubling && pace.isDoubling
        return pace
    }

    /// The host has answered over the protocol of `bounds`.
    package mutating func adopt(_ bounds: HostBounds) {
        guard bounds != self.bounds else { return }
        // A window that was halved stays as it is.
        if isDoubling, window < bounds.first { (window, judgedCount) = (bounds.first, bounds.first) }
        self.bounds = bounds
    }

    // MARK: Requests

    /// Whether the host is like one that was never asked, but for a larger window.
    package var isUsual: Bool { !isSpaced && refusalCount == 0 && window >= bounds.first }

    /// Whether the requests are spaced.
    package var isSpaced: Bool { rate != nil }

    /// The time of the next request; zero if the requests are not spaced.
    package var earliest: Duration { isSpaced ? .seconds(next) : .zero }

    /// Records that a request begins.
    ///
    /// - Parameter active: requests to the host under way, this one included.
    /// - Returns: the number of slowdowns so far, which the request carries until `answered` or `refused`.
    package mutating func begin(active: Int = 1, at now: Duration) -> Int {
        isFull = active >= limit
        let now = now.inSeconds
        if since == nil { since = now }
        if let rate {
            // A timer fires a little late, and the next request makes up for that. It does not make up for more, because a
            // limiter may measure the distance of two requests. At high rates it cannot: a limiter with such a rate
            // allows some requests at once.
            let isLate = now - next > (rate > Self.highRate ? Self.timerDelay : 0.1 / rate)
            next = (isLate ? now : next) + 1 / rate
            planned += 1 / rate
        }
        return slowdowns
    }

    /// Records an answer other than a failure of the host.
    ///
    /// - Parameters:
    ///   - turn: the turn of the request.
    ///   - time: the time from the request to the end of the response.
    package mutating func answered(_ turn: HostTurn, took time: Duration = .zero, at now: Duration) {
        hasAnswered = true
        if turn.refusals > 0 { cured += 1 }
        guard turn.slowdowns == slowdowns else { return }
        answers += 1
        inVain = (0, 0)
        widen(after: time.inSeconds)
        guard let rate else { return }
        let now = now.inSeconds
        let elapsed = min(now - (lastAnswer ?? now), 2 / rate, Self.doublingSeconds / 2)
        lastAnswer = now
        accelerate(rate, by: max(elapsed, 0))
    }

    /// Records a request that got no answer: a lost connection, a refused stream or a time-out. It halves the window.
    ///
    /// - Parameters:
    ///   - turn: the turn of the request.
    ///   - active: requests to the host under way, this one included.
    package mutating func failed(_ turn: HostTurn, active: Int, at now: Duration) {
        // Requests that were under way together halve it once. A refusal among them still counts as one.
        guard turn.slowdowns == slowdowns, turn.began > halved else { return }
        halved = now
        halve(active)
    }

    /// Records a refusal, 429 or 503.
    ///
    /// - Parameters:
    ///   - turn: the turn of the request.
    ///   - retryAfter: the wait that the host asked for; `nil` if it named none.
    ///   - longest: the longest wait that makes sense, at most `longestWait`.
    ///   - active: requests to the host under way, this one included.
    package mutating func refused(
        _ turn: HostTurn,
        retryAfter: Duration?,
        longest: Duration,
        active: Int,
        at now: Duration
    ) -> Reaction {
        // Without Retry-After, a 503 may also be a fault of the host, or of some images.
        guard retryAfter != nil || hasAnswered && believesRefusals else { return .failHost }
        let isNews = turn.slowdowns == slowdowns
        var wait = retryAfter?.inSeconds ?? 0
        if isNews {
            let own = retryAfter == nil ? Self.ownWait : Self.shortestWait
            wait = max(wait, own * Double(1 << inVain.count))
        }
        guard .seconds(wait) <= longest, inVain.count < Self.mostInVain,
            inVain.seconds + wait <= Self.longestInVain
        else { return .failHost }
        refusalCount += 1
        if isNews {
            slowDown(for: wait, active: active, at: now.inSeconds)
        } else {
            delay(for: wait, at: now.inSeconds)
        }
        let most = retryAfter == nil ? Self.mostSilentRefusals : Self.mostRefusals
        guard turn.refusals + 1 >= most else { return .askAgain }
        if retryAfter == nil { hopeless += 1 }
        if !believesRefusals {
            lift()
            // No request waits any longer.
            waited = waited(at: now)
            waitsUntil = min(waitsUntil, now.inSeconds)
        }
        return .failImage
    }

    /// Whether a refusal without Retry-After is one, rather than a fault of the image.
    private var believesRefusals: Bool { hopeless < Self.mostHopeless || hopeless < cured }
}

// MARK: The rate

extension HostPace {
    /// How the rate approaches its goal, and goes beyond it.
    private struct Curve {
        /// The distance from the first rate to the goal, as a part of the goal.
        private let depth: Double
        /// The time from the first rate to the goal, in seconds: from 4 to 16. The less doubt, the longer, because the
        /// limit is near then.
        private let span: Double
        /// The time that has passed, in seconds.
        private var age = 0.0

        /// The curve from `rate` to `goal`.
        ///
        /// - Parameter doubt: from 0 to 1; how far the limit may lie below the rate that was refused last.
        init(from rate: Double, to goal: Double, doubt: Double) {
            depth = max(1 - rate / goal, 0.01)
            span = min(max(1 / max(doubt, 0.01), 4), 16)
        }

        /// The next rate, as a multiple of the goal.
        mutating func advance(by seconds: Double) -> Double {
            age += seconds
            let place = age / span - 1
            let near = 1 + (place < 0 ? depth : 0.05) * pow(min(place, 1), 3)
            // After twice the span the limit seems to be gone. The rate doubles every 2 s then.
            return near * exp2(max(age - 2 * span, 0) / 2)
        }
    }

    /// The time in which the rate doubles far from its goal, in seconds.
    private static let doublingSeconds = 0.4
    /// The rate after the first refusal, unless the host bore more.
    private static let startRate = 20.0
    /// The lowest rate: one request a minute.
    private static let lowestRate = 1.0 / 60
    /// The rate at which spacing ends. No limiter of practical use allows as much.
    private static let unlimitedRate = 10_000.0
    /// The rate from which on a timer is too coarse for the distance of two requests.
    private static let highRate = 250.0
    /// The delay of a timer that is made up for at a high rate, in seconds.
    private static let timerDelay = 0.002

    /// The first wait for a host that names none, in seconds. Each further one in vain doubles it.
    private static let ownWait = 0.1
    /// The same for a host that names a time, which may be too short.
    private static let shortestWait = 1.0
    /// The most slowdowns without an answer between them.
    private static let mostInVain = 7
    /// The most time waited for them, in seconds.
    private static let longestInVain = 180.0
    /// The most times that one image is refused.
    private static let mostRefusals = 6
    /// The same without Retry-After.
    private static let mostSilentRefusals = 5
    /// The images refused to the end after which a 503 without Retry-After counts as a fault, if they outnumber those
    /// that were answered later.
    private static let mostHopeless = 3

    /// Makes the requests faster after an answer, `seconds` after the one before.
    private mutating func accelerate(_ rate: Double, by seconds: Double) {
        var faster: Double
        if let goal, rate >= 0.7 * goal {
            faster = goal * curve.advance(by: seconds)
        } else {
            faster = rate * exp2(seconds / Self.doublingSeconds)
            if let goal, faster >= 0.7 * goal {
                faster = 0.7 * goal
                curve = Curve(from: faster, to: goal, doubt: 0.3)
            }
        }
        faster = max(faster, rate)
        self.rate = faster
        if faster > Self.unlimitedRate { lift() }
    }

    /// Widens the window after an answer, if it was full.
    ///
    /// - Parameter seconds: the time that the answer took.
    private mutating func widen(after seconds: Double) {
        guard isFull, isDoubling || window < bounds.most else { return }
        judged = (judged.count + 1, judged.seconds + max(seconds, 0))
        if isDoubling { window = min(window + 1, bounds.most) }
        guard judged.count >= judgedCount else { return }
        let mean = judged.seconds / Double(judged.count)
        if mean > 1.5 * (usualSeconds ?? mean) + Self.noticeableDelay {
            // More at a time would only wait in the host, or for this machine.
            if isDoubling { window = min(window, judgedCount) }
            isDoubling = false
            // Small answers may have made the usual time, and large ones follow.
            usualSeconds = usualSeconds.map { $0 + (mean - $0) / 32 }
        } else {
            usualSeconds = min(usualSeconds ?? mean, mean)
            if !isDoubling { window = min(window + max(1, window / 8), bounds.most) }
        }
        (judged, judgedCount) = ((0, 0), window)
    }

    /// A delay that tells that a host is slower than it was, in seconds.
    private static let noticeableDelay = 0.02

    /// Halves the window.
    private mutating func halve(_ active: Int) {
        window = max(min(active, limit) / 2, 1)
        (isDoubling, isFull, judged, judgedCount, usualSeconds) = (false, false, (0, 0), window, nil)
    }

    /// Ends the spacing.
    private mutating func lift() {
        (rate, goal, lastAnswer, since) = (nil, nil, nil, nil)
        answers = 0
    }

    /// Makes the requests slower, and waits for `wait` seconds.
    private mutating func slowDown(for wait: Double, active: Int, at now: Double) {
        let elapsed = now - (since ?? now)
        if let rate {
            retreat(from: rate, after: max(waitsUntil - (since ?? now), 0))
        } else {
            // A fixed window or a bucket allows as much as the host gave until now, the wait included.
            rate = max(Double(answers) / (elapsed + wait), Self.startRate)
            goal = nil
        }
        firstRate = rate ?? 0
        slowdowns += 1
        inVain = (inVain.count + 1, inVain.seconds + wait)
        halve(active)
        (answers, planned, since, lastAnswer) = (0, 0, now, nil)
        delay(for: wait, at: now)
    }

    /// Sets rate and goal after a refusal at `rate`.
    ///
    /// - Parameter wait: the wait after the last slowdown, in seconds.
    private mutating func retreat(from rate: Double, after wait: Double) {
        guard answers > 1 else {
            // Too few answers for a measurement.
            goal = answers == 1 ? 0.9 * rate : nil
            let halved = max(rate / 2, Self.lowestRate)
            self.rate = halved
            if let goal { curve = Curve(from: halved, to: goal, doubt: 0.5) }
            return
        }
        // Timers and connections delay requests. The planned distances show the rates that were tried.
        var low = max(Double(answers) / (wait + planned), rate / 2)
        // The host bore the rate that the time began with.
        if rate > 1.15 * firstRate { low = max(low, firstRate) }
        if planned > 2 {
            proven = Double(answers) / planned
        } else {
            // Chance may refuse a request early, so the time before counts too.
            low = max(low, 0.9 * proven)
            proven *= 0.7
        }
        low = min(low, rate)
        let ratio = rate / low
        let goal = 0.99 * low * pow(ratio, 0.8)
        let lower = max(min(low * pow(ratio, 0.5), 0.9 * rate), Self.lowestRate)
        (self.rate, self.goal) = (lower, goal)
        curve = Curve(from: lower, to: goal, doubt: 1 - low / rate)
    }

    /// Waits for `wait` seconds from `now` on, or until the present wait is over.
    private mutating func delay(for wait: Double, at now: Double) {
        let time = now + wait
        guard time > waitsUntil else { return }
        waited += .seconds(time - max(waitsUntil, now))
        waitsUntil = time
        next = max(next, time)
    }
}

extension Duration {
    /// The same in seconds.
    fileprivate var inSeconds: Double { self / .seconds(1) }
}
