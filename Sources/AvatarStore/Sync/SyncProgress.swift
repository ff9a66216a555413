public import AvatarCore

/// How far a sync has come.
public struct SyncProgress: Sendable {
    /// Contacts, or due entries, that are settled one way or the other.
    public var done: Int
    /// How many there are, if the caller said.
    public var total: Int?
    /// What came so far.
    public var report: SyncReport

    /// The same, as all long work says it.
    public var work: WorkProgress {
        WorkProgress(.syncing, .entries, done: done, of: total, failed: report.failed, bytes: report.bytesReceived)
    }
}
