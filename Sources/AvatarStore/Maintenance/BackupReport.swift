public import AvatarCore

/// What a backup or a restore copied.
public struct BackupReport: Hashable, Sendable {
    /// Entries, with and without a file.
    public var entries = 0
    /// Files.
    public var files = 0
    /// The bytes of those files.
    public var bytes = 0
    /// Entries whose file was not where the index says: purged, or lost. A restore counts entries whose file is damaged
    /// too. The copy has them without a file, as it has those that were evicted.
    public var missing = 0
    /// The documents among the missing entries of a restore: what the backup has lost for good, unless their URL still
    /// serves the image. Empty for a backup.
    public var lostDocuments: [AvatarKey] = []
}
