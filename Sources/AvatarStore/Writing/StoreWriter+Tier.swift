import AvatarCore
import AvatarFiles
import AvatarIndex

/// What the store keeps of its shared tier.
extension StoreWriter {
    /// Removes answers that were put into the tier from the queue.
    func finishUploads(_ ids: [Int64]) throws {
        guard !ids.isEmpty else { return }
        try write { try $0.finishUploads(ids) }
    }

    /// Removes an erasure that was carried out in the tier from the queue.
    func finishTierErasure(of url: TierURL) throws {
        try write { try $0.finishTierErasure(of: url) }
    }

    /// Adds to the counts of the tier, and stores its last failure.
    func noteTier(_ counts: TierCounts, failure: (message: String, time: Timestamp)?) throws {
        try write { try $0.note(counts, failure: failure) }
    }
}
