import AvatarCore

/// How the hosts of one sync answer: those that failed before it began, and what it sees itself.
struct SyncHosts {
    private var health: [String: HostHealth]
    private var started: [String: Timestamp] = [:]
    /// How long one host may keep a sync busy, in milliseconds.
    private let timeLimit: Int64?

    /// - Parameter ignoresPauses: asks hosts that were paused before because they kept failing; each has to answer one
    ///   request first.
    init(_ ailing: [String: HostHealth], timeLimit: Duration?, ignoresPauses: Bool) {
        health = ignoresPauses ? ailing.mapValues(\.withoutOwnPause) : ailing
        self.timeLimit = timeLimit.map { Int64(($0 / .milliseconds(1)).rounded()) }
    }

    /// Why `host` is not asked at `now`: it is paused, or it has had its time. `nil` if it is asked.
    func reasonToSkip(_ host: String, at now: Timestamp) -> SkipReason? {
        if let reason = health[host]?.reasonToSkip(host, at: now) { return reason }
        guard let timeLimit, let started = started[host] else { return nil }
        return now >= started.adding(milliseconds: timeLimit) ? .limit : nil
    }

    /// Whether `host` has to answer one request before it gets more.
    func isOnProbation(_ host: String) -> Bool {
        health[host]?.isFailing == true
    }

    /// Says that a request to `host` begins.
    mutating func begin(_ host: String, at now: Timestamp) {
        if timeLimit != nil, started[host] == nil { started[host] = now }
    }

    /// Takes note of an answer.
    ///
    /// - Returns: whether that is news to be kept; a host that always answers is none.
    mutating func record(_ note: HostNote, of host: String) -> Bool {
        guard note.failure != nil || health[host] != nil else { return false }
        var after = health[host] ?? HostHealth()
        note.record(in: &after)
        health[host] = after == HostHealth() ? nil : after
        return true
    }
}

extension HostHealth {
    /// Why `host`, whose health this is, is not asked at `now`; `nil` if it may be.
    func reasonToSkip(_ host: String, at now: Timestamp) -> SkipReason? {
        guard case .nothing(let until) = admission(at: now) else { return nil }
        return .hostPaused(host: host, until: until, isRetryAfter: until == blockedUntil)
    }
}
