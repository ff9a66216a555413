import AvatarCore
import AvatarFiles
import AvatarIndex

/// Changes of the tables of the shared tier.
extension StoreWriter {
    /// Removes answers that were put into the tier from the queue.
    func finishUploads(_ ids: [Int64]) throws {
        guard !ids.isEmpty else { return }
        try write { try $0.finishUploads(ids) }
    }

    /// Records that the objects of an erasure were deleted for the first time.
    func noteTierDeletion(of name: String, at time: Timestamp) throws {
        try write { try $0.noteTierDeletion(of: name, at: time) }
    }

    /// Removes an erasure that was carried out in the tier from the queue.
    func finishTierErasure(_ name: String) throws {
        try write { try $0.finishTierErasure(name) }
    }

    /// Queues an erasure once more: another machine has put objects of it since.
    func repeatTierErasure(_ erasure: WaitingErasure) throws {
        try write { try $0.queueTierErasure(of: erasure.url, digest: erasure.digest, at: erasure.erased) }
    }

    /// Records the day of the store's object in the tier.
    func setTierRegistration(_ day: Int64) throws {
        try write { try $0.setTierRegistration(day) }
    }

    /// Adds to the counts of the tier, and stores its last failure.
    func noteTier(_ counts: TierCounts, failure: (message: String, time: Timestamp)?) throws {
        try write { try $0.note(counts, failure: failure) }
    }
}
