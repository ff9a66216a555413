public import AvatarCore
import AvatarReports

/// The result of a removal, or of its preview.
public struct RemovalReceipt: Hashable, Sendable {
    /// The entries that were removed.
    public var rows = 0
    /// The files that were removed because no other entry used them.
    public var files = 0
    /// The bytes of those files.
    public var bytes = 0
    /// The keys that had no entry.
    public var unknown: [AvatarKey] = []
    /// Whether the removal named a contact without images in the store. For an erasure, the contact has no change in
    /// the feed either.
    public var hasUnknownContact = false
    /// Whether an erasure is complete: no bytes, no URL and no contact id of it is left in the store. `false` without
    /// an erasure.
    public var isErased = false
    /// Paths of files that an erasure could not remove and that may hold traces.
    public var traces: [String] = []
    /// The proof of an erasure, to keep outside of the store; `nil` without an erasure, for a contact that the store does not know,
    /// and for more than `ErasureReceipt.maximumImages` images.
    public var erasure: ErasureReceipt?
    /// The erasure in the shared tier.
    public var tierErasure = TierErasureState.none
}

/// How far an erasure is carried out in the shared tier.
public enum TierErasureState: Hashable, Sendable {
    /// There is nothing to erase: no erasure was asked for, or the store has never used a shared tier.
    case none
    /// It waits in the index, because no tier is configured or the tier failed. The next sync with the tier carries it out.
    case waits
    /// The objects of the images are deleted, and a tombstone tells all other machines, which give the images up at their
    /// next syncs. Bytes that another image has too stay.
    case done(objects: Int)

    /// The objects deleted; `nil` unless the erasure is done.
    public var deletedObjects: Int? {
        guard case .done(let objects) = self else { return nil }
        return objects
    }
}

extension RemovalReceipt: CustomStringConvertible {
    /// The counts that are not 0, on one line. For logs: the text may change between versions.
    public var description: String {
        let counts = ReportText.counts([
            (rows, "entries removed"), (files, "files"), (bytes, "bytes"), (unknown.count, "unknown keys"),
            (hasUnknownContact ? 1 : 0, "unknown contact"), (traces.count, "files may hold traces"),
        ])
        return isErased ? "\(counts); erased" : counts
    }
}
