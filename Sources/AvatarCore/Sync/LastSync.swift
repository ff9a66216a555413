/// How a sync ended.
public enum SyncOutcome: String, Hashable, Sendable {
    /// Every image that was asked for came, was confirmed, or was left out for a reason that is no failure.
    case complete
    /// Some images failed, a record of the list could not be read, or the network was missing at the end.
    case incomplete
    /// There were images to ask for, and not one could be asked or answered: no network, or every host was down or paused.
    case unreached
    /// The sync was cancelled. What had arrived is stored.
    case interrupted
    /// The sync threw an error of the list, the index or the disk.
    case failed
}

/// The last sync of a store, as the index keeps it.
public struct LastSync: Hashable, Sendable {
    /// When it ended.
    public var time: Timestamp
    /// How long it took, in seconds.
    public var seconds: Double
    /// How it ended.
    public var outcome: SyncOutcome
    /// Different images that it wanted.
    public var wanted: Int
    /// Images that failed.
    public var failed: Int
    /// Images that were not asked for, or had no answer before the sync ended.
    public var skipped: Int

    package init(time: Timestamp, seconds: Double, outcome: SyncOutcome, wanted: Int, failed: Int, skipped: Int) {
        self.time = time
        self.seconds = seconds
        self.outcome = outcome
        self.wanted = wanted
        self.failed = failed
        self.skipped = skipped
    }
}
