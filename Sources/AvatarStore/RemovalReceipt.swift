public import AvatarCore

/// What a removal took away.
public struct RemovalReceipt: Hashable, Sendable {
    /// Entries.
    public var rows = 0
    /// Files that no other entry used.
    public var files = 0
    /// The bytes of those files.
    public var bytes = 0
    /// Keys that were not there.
    public var unknown: [AvatarKey] = []
    /// Whether the removal named a contact that the store does not know: none of its images, and with an erasure none of
    /// the changes that the feed tells of.
    public var hasUnknownContact = false
    /// Whether nothing of it is left on the disk: no bytes, no URL, no contact's id. Only if that was asked for.
    public var isErased = false
    /// Files that an erasure could not remove, and that may hold traces.
    public var traces: [String] = []
}
