package import AvatarCore
import AvatarFiles
package import AvatarIndex

/// Interrupted downloads: their rows, and the removal of their files.
extension StoreWriter {
    /// The longest time that a partial download is kept, in seconds: 7 days.
    private static let longestAge: Int64 = 7 * 86_400
    /// The most bytes of all partial downloads, 64 MiB; the oldest are removed first. They lie in staging and do not
    /// count against the budget.
    private static let mostBytes = 64 << 20

    /// Stores `record`, and removes partial downloads beyond the limits of age and bytes.
    ///
    /// - Parameter isRefresh: whether only a sync that found the entry asked for the image.
    /// - Returns: `false` if the entry was removed meanwhile; then nothing is stored.
    package func keepPartial(_ record: PartialRecord, isRefresh: Bool) throws -> Bool {
        // After a power loss the bytes cannot be trusted.
        try boot.markChanged()
        let written = try write { transaction -> (replaced: PartialRecord?, surplus: [PartialRecord])? in
            guard try !isRefresh || transaction.state(of: record.key) != nil else { return nil }
            let replaced = try transaction.partial(of: record.key)
            try transaction.keepPartial(record)
            let limit = record.updated.adding(seconds: -Self.longestAge)
            return (replaced, try transaction.surplusPartials(olderThan: limit, beyond: Self.mostBytes))
        }
        guard let (replaced, surplus) = written else { return false }
        if let replaced, replaced.name != record.name { try places.removeFile(of: replaced) }
        try dropPartials(surplus.filter { $0.key != record.key && places.leases.isFree($0.key) })
        return true
    }

    /// Removes partial downloads older than 7 days.
    package func dropExpiredPartials(at now: Timestamp) throws {
        let limit = now.adding(seconds: -Self.longestAge)
        try dropPartials(index.partialDownloads().filter { $0.updated < limit && places.leases.isFree($0.key) })
    }

    /// Removes files and rows of partial downloads.
    package func dropPartials(_ records: [PartialRecord]) throws {
        guard !records.isEmpty else { return }
        for record in records { try places.removeFile(of: record) }
        try write { transaction in
            for record in records where try transaction.partial(of: record.key)?.name == record.name {
                try transaction.dropPartial(of: record.key)
            }
        }
    }
}

extension StorePlaces {
    /// Removes the partial download of `key`, whose entry is removed or has its image now.
    ///
    /// The file goes first: a row without a file is harmless, a file without a row would stay forever.
    package func forgetPartial(of key: AvatarKey, in transaction: IndexTransaction) throws {
        guard try transaction.hasPartials(), let record = try transaction.partial(of: key) else { return }
        try removeFile(of: record)
        try transaction.dropPartial(of: key)
    }

    /// Removes the files of interrupted downloads that no process continues now. Their rows are harmless.
    ///
    /// After a failed synchronization they may lack bytes, and no digest would tell it.
    func removeFiles(of records: [PartialRecord]) throws {
        for record in records where leases.isFree(record.key) { try removeFile(of: record) }
    }

    /// Removes the file of a partial download.
    fileprivate func removeFile(of record: PartialRecord) throws {
        try files(of: record.storageClass).staging.removePartial(record.name)
    }
}
