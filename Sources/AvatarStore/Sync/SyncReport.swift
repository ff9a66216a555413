public import AvatarCore

/// What a sync did.
public struct SyncReport: Sendable {
    /// One image that could not be had, one record that cannot be read, or the network that was not there.
    public struct Failure: Sendable, Hashable {
        /// The key, a redacted URL where there is no key, or `nil`.
        public var key: String?
        /// Why.
        public var kind: FailureKind
        /// A sentence for a person.
        public var message: String
    }

    /// The most failures that are kept in full; all are counted.
    public static let largestFailureCount = 1000

    /// Contacts read from the list.
    public var contacts = 0
    /// Contacts without a picture, those among them for whose addresses no source has one.
    public var withoutImage = 0
    /// Records that cannot be read.
    public var unreadable = 0
    /// Photos that came inside contacts and were stored.
    public var saved = 0
    /// Different images named by the list, or due. The sum of the six that follow.
    public var wanted: Int { fresh + fetched + notModified + failed + skipped + overBudget }
    /// Images that were still fresh.
    public var fresh = 0
    /// Images of which a body came.
    public var fetched = 0
    /// Images that the origin confirmed.
    public var notModified = 0
    /// Images whose bytes differ from those stored before; among the fetched ones.
    public var changed = 0
    /// Images that could not be had.
    public var failed = 0
    /// Images left alone: backing off, host blocked, offline, over the limit, or the sync was cancelled.
    public var skipped = 0
    /// Images for which there was no room.
    public var overBudget = 0
    /// Contacts that were unlinked from their images because the list does not name them.
    public var unlinked = 0
    /// Whether nobody was unlinked although that was asked for: only a list with people in it that was read to its end, each
    /// record of it, says who is not in it.
    public var hasKeptLeavers = false
    /// Files evicted to make room.
    public var evicted = 0
    /// HTTP requests, redirects and repeated attempts too.
    public var requests = 0
    /// Bytes of bodies.
    public var bytesReceived = 0
    /// How long it took.
    public var seconds = 0.0
    /// What failed, up to `largestFailureCount`.
    public var failures: [Failure] = []
    /// Whether the sync was cancelled before its end. What had arrived is stored.
    public var wasCancelled = false
    /// Whether its time was up before its end. What had arrived is stored.
    public var ranOutOfTime = false

    /// Nothing was done.
    public init() {}

    mutating func add(_ failure: Failure) {
        if failures.count < Self.largestFailureCount { failures.append(failure) }
    }
}
