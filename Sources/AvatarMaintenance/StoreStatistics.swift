public import AvatarProviders
public import AvatarReports
import AvatarStore
public import AvatarCore

/// Counts and bytes of a store.
public struct StoreStatistics: Sendable {
    /// The number of entries, with and without a file.
    public var entries: Int
    /// The number of published files, in both storage classes.
    public var files: Int
    /// The bytes of the files in `caches`.
    public var cachesBytes: Int
    /// The bytes of the files in `documents`.
    public var documentsBytes: Int
    /// The bytes in the staging folders of all processes.
    public var stagingBytes: Int
    /// The bytes of files that may exist without being published. Those in `caches` count against the budget.
    public var pendingBytes: Int
    /// The budget of `caches` in force, in bytes.
    public var budgetBytes: Int
    /// Where an eviction stops, in bytes.
    public var lowWatermarkBytes: Int
    /// The size of the index's write-ahead log, in bytes.
    public var walBytes: Int
    /// The bytes that the store takes on disk, in whole blocks: files, staging and index.
    public var allocatedBytes: Int
    /// The number of entries by state; a state without entries is absent.
    public var states: [AvatarState: Int]
    /// The number of hosts that images were fetched from.
    public var hosts: Int
    /// The number of hosts that are paused now: after failures in a row, or because they asked for it.
    public var pausedHosts: Int
    /// The hosts that failed at their last request, those with the most failures in a row first; at most 20.
    public var failingHosts: [FailingHost]
    /// The least recent use of a file.
    public var oldestAccess: Timestamp?
    /// The most recent use of a file that is written to the index. Uses of the last 30 seconds may be missing.
    public var newestAccess: Timestamp?
    /// The number of the last migration applied.
    public var schemaVersion: Int
    /// The guard of the addresses that the store contacts.
    public var addressGuard: AddressGuard
    /// The last sync; `nil` before the first one.
    public var lastSync: LastSync?
    /// The number of renditions. Their files count among `files` and `cachesBytes`.
    public var renditions: Int
    /// The number of bytes of their files.
    public var renditionBytes: Int
    /// The number of entries whose last check failed, by the kind of the failure. A source without an image for an
    /// e-mail address is not counted.
    public var failures: [FailureKind: Int]
    /// The number of entries that a contact uses and that never had an image. An image that no sync has requested yet
    /// has no entry.
    public var neverHad: Int
    /// The address books that were synced, in the order of their names.
    public var sources: [SourceStatistics]
    /// The use of the shared tier; `nil` if the store never had one.
    public var sharedTier: SharedTierStatistics?
}

/// The last sync of an address book.
public struct SourceStatistics: Hashable, Sendable {
    /// The name of the source, such as its URL.
    public var name: String
    /// The end of its last sync.
    public var lastSync: Timestamp
    /// The reason why that sync could not read it; `nil` if it could.
    public var failure: String?
}

/// A host that failed at its last request.
public struct FailingHost: Hashable, Sendable {
    /// Its name and port.
    public var host: String
    /// The failures in a row.
    public var failures: Int
    /// The kind of the last failure.
    public var kind: FailureKind
    /// A sentence about the last failure, in which URLs are reduced to the host; `nil` if an earlier version recorded it.
    public var message: String?
    /// The end of the pause of the host; `nil` if it is not paused.
    public var pausedUntil: Timestamp?
}

/// How a store uses its shared tier. The counts go back to its first use.
public struct SharedTierStatistics: Hashable, Sendable {
    /// The images whose bytes came from the tier.
    public var taken: Int
    /// The stored images that a newer record of the tier confirmed.
    public var confirmed: Int
    /// The answers of origins that were put into the tier.
    public var put: Int
    /// The answers that were dropped, because at most 100,000 wait.
    public var dropped: Int
    /// The answers that wait to be put into the tier.
    public var waiting: Int
    /// The erased images whose objects wait to be deleted from the tier.
    public var waitingErasures: Int
    /// The last failure of the tier; `nil` if its last request succeeded.
    public var failure: String?
    /// The time of that failure.
    public var failed: Timestamp?
}
