public import AvatarCore

/// Images that a sync left alone, by reason.
public struct SkippedImages: Sendable, Hashable {
    /// Images that failed before and whose next attempt is not due yet.
    public var backoff = 0
    /// Images of hosts that are paused.
    public var hostPaused = 0
    /// Images for which there was no network, or whose fetch the policy `offline` forbids.
    public var offline = 0
    /// Images beyond a limit on images, bytes or time.
    public var limit = 0
    /// Images that were left when the sync was cancelled.
    public var interrupted = 0
    /// The paused hosts, by name and port.
    public var pausedHosts: [String: PausedHost] = [:]

    /// A host that is paused.
    public struct PausedHost: Sendable, Hashable {
        /// When the pause ends.
        public var until: Timestamp
        /// Whether the host asked for the pause (`Retry-After`). Such a pause is always kept.
        public var isRetryAfter: Bool
        /// Images that wait for it.
        public var images: Int
    }

    /// Images that could not be asked for, or had no answer, because a host or the network is down.
    private(set) var unreached = 0

    init() {}

    mutating func add(_ reason: SkipReason, _ count: Int = 1) {
        if reason.isUnreached { unreached += count }
        switch reason {
        case .backoff: backoff += count
        case .hostPaused(let host, let until, let isRetryAfter):
            hostPaused += count
            let images = pausedHosts[host]?.images ?? 0
            pausedHosts[host] = PausedHost(until: until, isRetryAfter: isRetryAfter, images: images + count)
        case .offline, .forbidden: offline += count
        case .limit, .timeIsUp: limit += count
        case .interrupted: interrupted += count
        }
    }
}
