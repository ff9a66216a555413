public import AvatarCore

/// Counts and bytes of a store.
public struct StoreStatistics: Sendable {
    /// Entries, with and without a file.
    public var entries: Int
    /// Published files.
    public var files: Int
    /// Bytes of the files in `caches`.
    public var cachesBytes: Int
    /// Bytes of the files in `documents`.
    public var documentsBytes: Int
    /// Bytes in the staging folders, of all processes.
    public var stagingBytes: Int
    /// Bytes of files that may exist without being published; they count against the budget.
    public var pendingBytes: Int
    /// The budget in force.
    public var budgetBytes: Int
    /// Where an eviction stops.
    public var lowWatermarkBytes: Int
    /// The size of the index's write-ahead log.
    public var walBytes: Int
    /// What the store takes on disk, in whole blocks: files, staging and index.
    public var allocatedBytes: Int
    /// Entries by state, as in `avatar_overview`.
    public var states: [String: Int]
    /// Hosts that images were fetched from.
    public var hosts: Int
    /// The least recent use of a file.
    public var oldestAccess: Timestamp?
    /// The most recent use of a file, as far as it is written.
    public var newestAccess: Timestamp?
    /// The number of the last migration.
    public var schemaVersion: Int
    /// Who answers for the addresses that are contacted: `on`, `privateNetworks`, `external` or `none`.
    public var guardDescription: String
    /// The last sync; `nil` before the first one.
    public var lastSync: LastSync?
    /// Entries whose last check failed, by the kind of the failure. A source that has no picture for an e-mail address is
    /// no failure.
    public var failures: [String: Int]
    /// Entries that a contact uses and of which no image ever came. An image that no sync has asked for yet has no entry.
    public var neverHad: Int
}
