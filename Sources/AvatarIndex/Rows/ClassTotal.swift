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
    /// One row: the totals of the class with the number that is bound. Few rows name pending files, so these are added up.
    static let sql = """
        SELECT files, bytes,
            (SELECT \(IndexNumber.sum(of: "size_bytes", in: IndexNumber.bytes)) FROM pending_file WHERE storage_class = ?1)
            + (SELECT \(IndexNumber.sum(of: batchBytes, in: IndexNumber.sum)) FROM pending_batch) AS pending_bytes
        FROM total WHERE storage_class = ?1
        """

    private static let batchBytes = "CASE ?1 WHEN \(StorageClass.caches.code) THEN caches_bytes ELSE documents_bytes END"

    /// The totals in a row of `sql`.
    init(_ row: borrowing Row) {
        self.init(files: row.count("files"), bytes: row.sum("bytes"), pendingBytes: row.sum("pending_bytes"))
    }
}
