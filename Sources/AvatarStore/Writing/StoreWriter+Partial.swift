import AvatarCore
import AvatarFiles
import AvatarIndex

/// Downloads that were interrupted: their rows, and the removal of their files.
extension StoreWriter {
    /// How long one is kept, in seconds: 7 days.
    private static let longestAge: Int64 = 7 * 86_400
    /// How many bytes all of them may have; the oldest go first. They are no files of the caches directory, and count
    /// against no budget.
    private static let mostBytes = 64 << 20

    /// Keeps `record`; what is too old or too much goes.
    ///
    /// - Parameter isRefresh: whether nobody asked for the image but a sync that found its entry.
    /// - Returns: false if the entry was removed meanwhile: then nothing of it is kept.
    func keepPartial(_ record: PartialRecord, isRefresh: Bool) throws -> Bool {
        // After a power loss its bytes cannot be trusted.
        try markChanged()
        let written = try write { transaction -> (replaced: PartialRecord?, surplus: [PartialRecord])? in
            guard try !isRefresh || transaction.state(of: record.key) != nil else { return nil }
            let replaced = try transaction.partial(of: record.key)
            try transaction.keepPartial(record)
            let limit = record.updated.adding(seconds: -Self.longestAge)
            return (replaced, try transaction.surplusPartials(olderThan: limit, beyond: Self.mostBytes))
        }
        guard let (replaced, surplus) = written else { return false }
        if let replaced, replaced.name != record.name { try removeFile(of: replaced) }
        try dropPartials(surplus.filter { $0.key != record.key && places.leases.isFree($0.key) })
        return true
    }

    /// Removes those that are older than any that is kept.
    func dropExpiredPartials(at now: Timestamp) throws {
        let limit = now.adding(seconds: -Self.longestAge)
        try dropPartials(index.partialDownloads().filter { $0.updated < limit && places.leases.isFree($0.key) })
    }

    /// Removes files and rows.
    func dropPartials(_ records: [PartialRecord]) throws {
        guard !records.isEmpty else { return }
        for record in records { try removeFile(of: record) }
        try write { transaction in
            for record in records where try transaction.partial(of: record.key)?.name == record.name {
                try transaction.dropPartial(of: record.key)
            }
        }
    }

    /// Forgets what is kept for `key`, whose entry is removed or has its image now.
    ///
    /// The file goes first: a row without one says nothing, but of a file without a row nobody would know.
    func forgetPartial(of key: AvatarKey, _ transaction: IndexTransaction) throws {
        guard let record = try transaction.partial(of: key) else { return }
        try removeFile(of: record)
        try transaction.dropPartial(of: key)
    }

    func removeFile(of record: PartialRecord) throws {
        try places.files(of: record.storageClass).removePartial(record.name)
    }
}
