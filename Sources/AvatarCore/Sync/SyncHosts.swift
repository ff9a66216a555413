/// The health of the hosts of one sync: the failures before it began, and the responses during it.
package struct SyncHosts: Sendable {
    private var health: [String: HostHealth]
    private var started: [String: Timestamp] = [:]
    /// The time that one host may take, in milliseconds.
    private let timeLimit: Int64?

    /// - Parameters:
    ///   - failing: the hosts that failed before, by name and port.
    ///   - timeLimit: the time that one host may take, from its first request on; `nil`: no limit.
    ///   - ignoresPauses: whether to request from hosts that are paused because they failed. Each must answer one request
    ///     before it gets more.
    package init(_ failing: [String: HostHealth], timeLimit: Duration?, ignoresPauses: Bool) {
        health = ignoresPauses ? failing.mapValues(\.withoutOwnPause) : failing
        self.timeLimit = timeLimit.map { Int64(($0 / .milliseconds(1)).rounded()) }
    }

    /// Why `host` gets no request at `now`: it is paused, or its time is up. `nil` if it may get one.
    package func reasonToSkip(_ host: String, at now: Timestamp) -> SkipReason? {
        if let reason = health[host]?.reasonToSkip(host, at: now) { return reason }
        guard let timeLimit, let started = started[host] else { return nil }
        return now >= started.adding(milliseconds: timeLimit) ? .limit : nil
    }

    /// The time that `host` may still take at `now`; `nil` without a limit.
    package func timeLeft(for host: String, at now: Timestamp) -> Duration? {
        guard let timeLimit, let started = started[host] else { return nil }
        return started.adding(milliseconds: timeLimit).duration(since: now)
    }

    /// Whether `host` must answer one request before it gets more.
    package func isOnProbation(_ host: String) -> Bool {
        health[host]?.isFailing == true
    }

    /// Records that a request to `host` begins.
    package mutating func begin(_ host: String, at now: Timestamp) {
        if timeLimit != nil, started[host] == nil { started[host] = now }
    }

    /// Records a response, or a failure to get one.
    ///
    /// - Returns: whether the index must hear of it. A healthy host that answers is not news.
    package mutating func record(_ note: HostNote, of host: String) -> Bool {
        guard note.failure != nil || health[host] != nil else { return false }
        var after = health[host] ?? HostHealth()
        note.record(in: &after)
        health[host] = after == HostHealth() ? nil : after
        return true
    }
}

extension HostHealth {
    /// Why `host`, whose health this is, gets no request at `now`; `nil` if it may get one.
    package func reasonToSkip(_ host: String, at now: Timestamp) -> SkipReason? {
        guard case .nothing(let until) = admission(at: now) else { return nil }
        return .hostPaused(host: host, until: until, isRetryAfter: until == blockedUntil)
    }
}

/// One request's verdict on the health of its host.
package struct HostNote: Sendable {
    /// `nil` after an image or a 304.
    package var failure: FailureKind?
    /// A sentence about the failure, without the path of any URL; `nil` without a failure.
    package var message: String?
    /// The end of the pause that the host asked for.
    package var retryAfter: Timestamp?
    /// When the request was sent.
    package var requested: Timestamp
    /// When its response came, or the attempt ended.
    package var answered: Timestamp
    /// 0 to 1, drawn once: the sync and the index must compute the same pause.
    private let jitter: Double

    package init(
        failure: FailureKind? = nil,
        message: String? = nil,
        retryAfter: Timestamp? = nil,
        requested: Timestamp,
        answered: Timestamp
    ) {
        (self.failure, self.message) = (failure, message)
        (self.retryAfter, self.requested, self.answered) = (retryAfter, requested, answered)
        // A success needs no jitter, and each random number is a system call.
        jitter = failure == nil ? 0 : .random(in: 0...1)
    }

    /// Whether the host answered, whatever the answer means for the image.
    package var isAnswer: Bool { failure.map { $0.blame == .image } ?? true }

    /// Records the verdict in `health`.
    package func record(in health: inout HostHealth) {
        health.record(
            failure,
            message: message,
            retryAfter: retryAfter,
            requested: requested,
            at: answered,
            jitter: jitter
        )
    }
}

/// Why a sync does not request an image.
package enum SkipReason: Hashable, Sendable {
    /// The last request failed in this way, and the next one is not due yet.
    case backoff(FailureKind?)
    /// The host is paused. `isRetryAfter`: it asked for the pause.
    case hostPaused(host: String, until: Timestamp, isRetryAfter: Bool)
    /// There is no network.
    case offline
    /// The policy forbids requests.
    case forbidden
    /// A limit on images, bytes or the time of the host was reached.
    case limit
    /// The time of the sync was up before the response came.
    case timeIsUp
    /// The sync was cancelled.
    case interrupted

    /// Whether the image had to be requested, and the network or a host that does not respond made that impossible.
    ///
    /// A pause and a backoff are not counted: the sync that began them has reported the failures.
    package var isUnreached: Bool {
        switch self {
        case .offline, .timeIsUp: true
        case .backoff, .hostPaused, .forbidden, .limit, .interrupted: false
        }
    }
}
