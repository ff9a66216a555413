/// The outcome of a sync.
public enum SyncOutcome: String, Hashable, Sendable {
    /// Every image is stored or confirmed, or was skipped for a reason that is not a failure.
    case complete
    /// Some images failed, a record of the list is unreadable, or the network was missing at the end.
    case incomplete
    /// The sync had images to request, but got no response: there was no network, or every host was down. No image was fresh
    /// or fetched.
    case unreached
    /// The sync was cancelled. The images that had arrived are stored.
    case interrupted
    /// The sync threw an error of the contact list, the index or the disk.
    case failed

    /// The exit code of `avatars sync` with this outcome.
    package var exitStatus: Int {
        switch self {
        case .complete: 0
        case .incomplete: 1
        case .unreached: 69
        case .interrupted: 130
        case .failed: 2
        }
    }
}

/// The last sync of a store, as the index records it.
public struct LastSync: Hashable, Sendable {
    /// When the sync ended.
    public var time: Timestamp
    /// The time that the sync took, in whole milliseconds.
    public var duration: Duration
    /// The outcome.
    public var outcome: SyncOutcome
    /// The number of distinct images that the sync was to check or fetch.
    public var wanted: Int
    /// The number of images that failed.
    public var failed: Int
    /// The number of images without a request, or without a response before the sync ended.
    public var skipped: Int
    /// The number of images for which the budget had no room.
    public var overBudget: Int

    /// A sync with these values, as read from the index.
    package init(
        time: Timestamp,
        duration: Duration,
        outcome: SyncOutcome,
        wanted: Int,
        failed: Int,
        skipped: Int,
        overBudget: Int
    ) {
        self.time = time
        self.duration = duration
        self.outcome = outcome
        self.wanted = wanted
        self.failed = failed
        self.skipped = skipped
        self.overBudget = overBudget
    }
}
