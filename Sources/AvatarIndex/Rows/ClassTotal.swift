import AvatarCore
import AvatarSQLite

/// The totals of one storage class, pending files counted apart.
package struct ClassTotal: Hashable, Sendable {
    /// The number of published files.
    package var files: Int
    /// The bytes of the published files.
    package var bytes: Int
    /// The bytes of the files that may exist without being published.
    package var pendingBytes: Int

    /// The bytes that count against the budget: every byte that may be on disk.
    package var accountedBytes: Int { bytes + pendingBytes }
}

extension ClassTotal {
    /// One row: the totals of the class with the number that is bound. Few rows name pending files, so these are added up,
    /// with `total`, which does not overflow in a damaged index.
    static let sql = """
        SELECT files, bytes,
            (SELECT total(size_bytes) FROM pending_file WHERE storage_class = ?1)
            + (SELECT total(iif(?1 = \(StorageClass.caches.code), caches_bytes, documents_bytes)) FROM pending_batch)
                AS pending_bytes
        FROM total WHERE storage_class = ?1
        """

    /// The totals in a row of `sql`.
    init(_ row: borrowing Row) {
        self.init(files: row.count("files"), bytes: row.sum("bytes"), pendingBytes: row.sum("pending_bytes"))
    }
}
