/// The recent failures of one host, and the requests it may get (a circuit breaker).
///
/// ```
///            five failures in a row, or a 429           the pause is over
///  answering ──────────────────────────────▶ paused ───────────────────────▶ on probation: one request
///      ▲                                        ▲                                │          │
///      │                                        └── a failure: twice the pause ──┘          │
///      └─────────────────────────────────── a response ───────────────────────────────────┘
/// ```
///
/// Any response other than 429 and 5xx proves that the host works, whatever its status means for the image. The end of
/// a Retry-After time is kept apart from the pause, and no response shortens it. The store keeps one value per host.
package struct HostHealth: Hashable, Sendable {
    /// The number of consecutive failures.
    package private(set) var failures = 0
    /// The kind of the last failure; `nil` without failures.
    package private(set) var failure: FailureKind?
    /// A sentence about the last failure; `nil` without failures, and if the index has none.
    package private(set) var message: String?
    /// The end of the pause that consecutive failures caused; `nil` without one.
    package private(set) var restsUntil: Timestamp?
    /// The end of the pause that the host asked for (Retry-After); `nil` without one.
    package private(set) var blockedUntil: Timestamp?

    /// The number of consecutive failures tolerated before the host is paused.
    package static let tolerated = 4
    /// The first pause, in seconds; each further failure doubles it.
    private static let firstRest: Int64 = 60
    /// The longest pause after failures, in seconds: 6 hours.
    package static let longestRest: Int64 = 21_600

    /// A host without failures.
    package init() {}

    /// A host as the index recorded it. A negative number of failures counts as 0.
    package init(
        failures: Int,
        failure: FailureKind?,
        message: String? = nil,
        restsUntil: Timestamp?,
        blockedUntil: Timestamp?
    ) {
        self.failures = max(failures, 0)
        (self.failure, self.message) = (failure, message)
        self.restsUntil = restsUntil
        self.blockedUntil = blockedUntil
    }

    /// The same host without the pause after failures. The pause that it asked for (Retry-After) and its probation
    /// stay.
    package var withoutOwnPause: HostHealth {
        HostHealth(
            failures: failures,
            failure: failure,
            message: message,
            restsUntil: nil,
            blockedUntil: blockedUntil
        )
    }

    // MARK: Admission

    /// The requests that the host may get now.
    package enum Admission: Hashable, Sendable {
        /// As many requests as the connection limits allow.
        case free
        /// One request at a time, until a response arrives.
        case oneProbe
        /// No request before this time.
        case nothing(until: Timestamp)
    }

    /// The requests that the host may get at `now`.
    ///
    /// The end of a pause that is further away than the longest pause was written by a clock that ran ahead, and is
    /// ignored.
    package func admission(at now: Timestamp) -> Admission {
        let rest = restsUntil.flatMap { $0 > now && isCredible($0, at: now) ? $0 : nil }
        if let until = [rest, block(at: now)].compactMap(\.self).max() { return .nothing(until: until) }
        return isFailing ? .oneProbe : .free
    }

    /// The end of the Retry-After time, if it lies ahead and is credible.
    private func block(at now: Timestamp) -> Timestamp? {
        blockedUntil.flatMap { $0 > now && $0.seconds(since: now) <= RetryAfter.longest ? $0 : nil }
    }

    /// Whether the host failed more often than tolerated. A single 429 suffices.
    package var isFailing: Bool { failures > Self.tolerated || failure == .rateLimited }

    /// The reason why the host gets no or few requests, as the end of a sentence that begins with its name; `nil` if
    /// there is no restriction.
    package func reason(at now: Timestamp) -> String? {
        let admission = admission(at: now)
        let cause =
            switch failure {
            case .rateLimited: "asked for fewer requests"
            case let kind? where isFailing: "failed \(failures) times in a row (\(kind))"
            default: "asked for a pause (Retry-After)"
            }
        return switch admission {
        case .free: nil
        case .oneProbe: "\(cause), and gets one request as a test"
        case .nothing: "\(cause), and is paused"
        }
    }

    // MARK: Recording results

    /// Records the result of one request.
    ///
    /// The failure of a request that was sent before the pause began does not count again: eight requests that time out
    /// together cause one pause, not eight.
    ///
    /// - Parameters:
    ///   - failure: the kind of the failure; `nil` after an image or a 304.
    ///   - message: a sentence about the failure.
    ///   - retryAfter: the end of the Retry-After time in the response, if it has one.
    ///   - requested: when the request was sent.
    ///   - now: when it ended.
    ///   - jitter: a random number from 0 to 1, which selects a pause between half and all of the doubled time.
    package mutating func record(
        _ failure: FailureKind?,
        message: String? = nil,
        retryAfter: Timestamp? = nil,
        requested: Timestamp,
        at now: Timestamp,
        jitter: Double
    ) {
        if let retryAfter, retryAfter > max(now, block(at: now) ?? now) { blockedUntil = retryAfter }
        guard let failure else { return recover() }
        switch failure {
        // No request was sent.
        case .forbiddenAddress, .unsupportedURL: return
        case _ where failure.blame == .image: recover()
        case _ where failure.blame == .host: fail(failure, message, requested: requested, at: now, jitter: jitter)
        default: return
        }
    }

    private mutating func recover() {
        failures = 0
        (failure, message) = (nil, nil)
        restsUntil = nil
    }

    private mutating func fail(
        _ kind: FailureKind,
        _ message: String?,
        requested: Timestamp,
        at now: Timestamp,
        jitter: Double
    ) {
        if isFailing, let restsUntil, requested < restsUntil, isCredible(restsUntil, at: now) { return }
        (failure, self.message) = (kind, message)
        failures = failures == .max ? .max : failures + 1
        guard isFailing else { return }
        let doublings = failures - 1 - (kind == .rateLimited ? 0 : Self.tolerated)
        let full = min(Self.firstRest << Int64(min(max(doublings, 0), 20)), Self.longestRest) * 1000
        restsUntil = now.adding(milliseconds: full / 2 + Int64(Double(full / 2) * min(max(jitter, 0), 1)))
    }

    /// Whether a pause until `time` is short enough to have begun by `now`.
    private func isCredible(_ time: Timestamp, at now: Timestamp) -> Bool {
        time.seconds(since: now) <= Self.longestRest
    }
}
