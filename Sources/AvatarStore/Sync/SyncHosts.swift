import AvatarCore

/// How the hosts of one sync answer: those that failed before it began, and what it sees itself.
struct SyncHosts {
    private var health: [String: HostHealth]
    private var started: [String: Timestamp] = [:]
    /// How long one host may keep a sync busy, in milliseconds.
    private let timeLimit: Int64?

    init(_ ailing: [String: HostHealth], timeLimit: Duration?) {
        health = ailing
        self.timeLimit = timeLimit.map { Int64(($0 / .milliseconds(1)).rounded()) }
    }

    /// Whether `host` is not asked at `now`: it wants that, it keeps failing, or it has had its time.
    func isLeftAlone(_ host: String, at now: Timestamp) -> Bool {
        if case .nothing = health[host]?.admission(at: now) { return true }
        guard let timeLimit, let started = started[host] else { return false }
        return now >= started.adding(milliseconds: timeLimit)
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
