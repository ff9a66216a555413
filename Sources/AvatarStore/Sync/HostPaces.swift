import AvatarCore

/// The paces of the hosts of one sync, and the time at which the next host may go on.
///
/// Times are durations since the sync began.
struct HostPaces: ~Copyable {
    /// A class, because a copy in the dictionary would be changed in three steps, each with a look-up.
    private final class Kept {
        var pace = HostPace()
    }

    private var paces: [String: Kept] = [:]
    /// Hosts whose next request must wait. They have no turn in the queues.
    private(set) var waiting: Set<String> = []
    /// The number of paces at which those of idle hosts are dropped. A list may name a million hosts.
    private var mostKept = HostPaces.usuallyKept

    private static let usuallyKept = 4096
    /// Whether some host was slowed down. Until then, no host has a limit.
    private(set) var hasSlowed = false

    /// Paces without a host.
    init() {}

    /// The pace of `host`; `nil` if it got no request.
    subscript(host: String) -> HostPace? { paces[host]?.pace }

    /// Records that a request to `host` begins.
    ///
    /// - Returns: the slowdowns of the host so far, for the turn of the request.
    mutating func begin(_ host: String, at now: Duration) -> Int {
        kept(host).pace.begin(at: now)
    }

    /// The pace of `host`, which is made if necessary.
    private mutating func kept(_ host: String) -> Kept {
        if let kept = paces[host] { return kept }
        if paces.count >= mostKept { dropUnlimited() }
        let kept = Kept()
        paces[host] = kept
        return kept
    }

    /// Drops the paces of hosts without a limit. Such a host has lost nothing but its record as a host that answers.
    private mutating func dropUnlimited() {
        // Those that refused requests are named in the report.
        paces = paces.filter { $0.value.pace.isSpaced || $0.value.pace.refusalCount > 0 }
        mostKept = max(Self.usuallyKept, 2 * paces.count)
    }

    /// Records an answer of `host`, other than a failure of the host.
    mutating func answered(_ host: String, _ turn: HostTurn, at now: Duration) {
        paces[host]?.pace.answered(turn, at: now)
    }

    /// Records a refusal (429 or 503) of `host`, as `HostPace.refused`.
    mutating func refused(
        _ host: String,
        _ turn: HostTurn,
        retryAfter: Duration?,
        longest: Duration,
        active: Int,
        at now: Duration
    ) -> HostPace.Reaction {
        hasSlowed = true
        return kept(host).pace.refused(turn, retryAfter: retryAfter, longest: longest, active: active, at: now)
    }

    /// Whether the next request to `host` must wait. Remembers the answer for `takeDue` and `alarm`.
    mutating func mustWait(_ host: String, at now: Duration) -> Bool {
        let mustWait = paces[host].map { $0.pace.earliest > now } ?? false
        if mustWait { waiting.insert(host) } else if !waiting.isEmpty { waiting.remove(host) }
        return mustWait
    }

    /// Takes the hosts that need not wait any longer.
    mutating func takeDue(at now: Duration) -> [String] {
        guard !waiting.isEmpty else { return [] }
        let due = waiting.filter { (paces[$0]?.pace.earliest ?? .zero) <= now }
        waiting.subtract(due)
        return Array(due)
    }

    /// Takes all waiting hosts: what they have left gets no request.
    mutating func takeAll() -> Set<String> {
        defer { waiting = [] }
        return waiting
    }

    /// The time of the next request to a waiting host that has one; `nil` without such a host.
    func alarm(for hasRequest: (String) -> Bool) -> Duration? {
        waiting.lazy.filter(hasRequest).compactMap { paces[$0]?.pace.earliest }.min()
    }
}
