/// How a host has answered lately, and what may be asked of it.
///
/// ```
///            five failures in a row, or a 429            the wait is over
///  answering ──────────────────────────────▶ resting ──────────────────────▶ on probation: one request
///      ▲                                        ▲                                │          │
///      │                                        └── a failure: twice the wait ───┘          │
///      └─────────────────────────────────── an answer ─────────────────────────────────────┘
/// ```
///
/// An answer of any status but 429 and 5xx shows that the host is there, whatever it says of the image. What Retry-After
/// asks for is kept beside this, and no answer shortens it. A value: the engine keeps one a host.
package struct HostHealth: Hashable, Sendable {
    /// Failures in a row.
    package private(set) var failures = 0
    /// The kind of the last of them.
    package private(set) var failure: FailureKind?
    /// Until when the host is left alone because it keeps failing.
    package private(set) var restsUntil: Timestamp?
    /// Until when it is left alone because it asked for that.
    package private(set) var blockedUntil: Timestamp?

    /// So many failures in a row are taken for chance.
    package static let tolerated = 4
    private static let firstRest: Int64 = 60
    /// No failing host is left alone for longer, in seconds: 6 hours.
    package static let longestRest: Int64 = 21_600

    /// A host of which nothing bad is known.
    package init() {}

    /// What was kept of a host.
    package init(failures: Int, failure: FailureKind?, restsUntil: Timestamp?, blockedUntil: Timestamp?) {
        self.failures = max(failures, 0)
        self.failure = failure
        self.restsUntil = restsUntil
        self.blockedUntil = blockedUntil
    }

    /// The same without the pause that follows from failures. A pause that the host asked for (`Retry-After`) stays, and
    /// so does its probation.
    package var withoutOwnPause: HostHealth {
        HostHealth(failures: failures, failure: failure, restsUntil: nil, blockedUntil: blockedUntil)
    }

    // MARK: Asking it

    /// What may be asked of the host.
    package enum Admission: Hashable, Sendable {
        /// As much as the limits allow.
        case free
        /// One request at a time, until it is answered.
        case oneProbe
        /// Nothing before this time.
        case nothing(until: Timestamp)
    }

    /// What may be asked of the host at `now`.
    ///
    /// A time further off than any wait was written by a clock that ran ahead, and is not waited for.
    package func admission(at now: Timestamp) -> Admission {
        let rest = restsUntil.flatMap { $0 > now && isCredible($0, at: now) ? $0 : nil }
        if let until = [rest, block(at: now)].compactMap(\.self).max() { return .nothing(until: until) }
        return isFailing ? .oneProbe : .free
    }

    /// Until when the host wants no request, if it does and the time can be believed.
    private func block(at now: Timestamp) -> Timestamp? {
        blockedUntil.flatMap { $0 > now && $0.seconds(since: now) <= RetryAfter.longest ? $0 : nil }
    }

    /// Whether it failed too often to be asked as others are. Who says "too many requests" is believed at once.
    package var isFailing: Bool { failures > Self.tolerated || failure == .rateLimited }

    /// Why the host is not asked freely, in words that follow its name; `nil` if it is.
    package func reason(at now: Timestamp) -> String? {
        let admission = admission(at: now)
        let cause =
            switch failure {
            case .rateLimited: "asked for fewer requests"
            case let kind? where isFailing: "failed \(failures) times in a row (\(kind))"
            default: "asked for no request for a while"
            }
        return switch admission {
        case .free: nil
        case .oneProbe: "\(cause), and is tried with one request"
        case .nothing: "\(cause), and is left alone"
        }
    }

    // MARK: What it did

    /// Takes note of what came of a request that was sent at `requested`; `failure` is `nil` after an image or a 304.
    ///
    /// What was sent before the host was left alone says nothing new when it fails: eight requests that time out together
    /// are one reason to wait, not eight.
    /// - Parameter jitter: 0 to 1; the rest is between half and the whole of what the doubling gives.
    package mutating func record(
        _ failure: FailureKind?,
        retryAfter: Timestamp? = nil,
        requested: Timestamp,
        at now: Timestamp,
        jitter: Double
    ) {
        if let retryAfter, retryAfter > max(now, block(at: now) ?? now) { blockedUntil = retryAfter }
        guard let failure else { return recover() }
        switch failure {
        // Nobody was asked.
        case .forbiddenAddress, .unsupportedURL: return
        case _ where failure.blame == .image: recover()
        case _ where failure.blame == .host: fail(failure, requested: requested, at: now, jitter: jitter)
        default: return
        }
    }

    private mutating func recover() {
        failures = 0
        failure = nil
        restsUntil = nil
    }

    private mutating func fail(_ kind: FailureKind, requested: Timestamp, at now: Timestamp, jitter: Double) {
        if isFailing, let restsUntil, requested < restsUntil, isCredible(restsUntil, at: now) { return }
        failure = kind
        failures = failures == .max ? .max : failures + 1
        guard isFailing else { return }
        let doublings = failures - 1 - (kind == .rateLimited ? 0 : Self.tolerated)
        let full = min(Self.firstRest << Int64(min(max(doublings, 0), 20)), Self.longestRest) * 1000
        restsUntil = now.adding(milliseconds: full / 2 + Int64(Double(full / 2) * min(max(jitter, 0), 1)))
    }

    /// Whether a rest until `time` can have been decided by a clock that does not run ahead of `now`.
    private func isCredible(_ time: Timestamp, at now: Timestamp) -> Bool {
        time.seconds(since: now) <= Self.longestRest
    }
}
