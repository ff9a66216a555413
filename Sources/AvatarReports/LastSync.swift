public import AvatarCore

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
        (self.time, self.duration, self.outcome, self.wanted) = (time, duration, outcome, wanted)
        (self.failed, self.skipped, self.overBudget) = (failed, skipped, overBudget)
    }
}
