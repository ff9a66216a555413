import AvatarSQLite

/// SQL on the file of an index, past the code under test.
enum PlainSQL {
    /// The rows of `sql`, each as its columns joined with `|`.
    static func rows(_ sql: String, in path: String) throws -> [String] {
        try Connection.using(path) { try $0.lines(sql) }
    }

    /// Runs the statements of `sql`.
    static func run(_ sql: String, in path: String) throws {
        try Connection.using(path) { try $0.execute(sql) }
    }

    /// Everything that makes up the schema, to the letter.
    static let schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"

    /// The rows of the table `total`, in every version of the schema.
    static let totals = "SELECT storage_class, files, bytes FROM total ORDER BY storage_class"

    /// The rows that it must have.
    static let recountedTotals = """
        SELECT storage_class,
            (SELECT count(*) FROM file WHERE file.storage_class = total.storage_class),
            (SELECT coalesce(sum(size_bytes), 0) FROM file WHERE file.storage_class = total.storage_class)
        FROM total ORDER BY storage_class
        """

    /// The batches whose sums are not those of their files.
    static let wrongBatches = """
        SELECT id FROM pending_batch WHERE caches_bytes <> \(sum(of: 0)) OR documents_bytes <> \(sum(of: 1))
        """

    private static func sum(of storageClass: Int) -> String {
        """
        (SELECT coalesce(sum(size_bytes) FILTER (WHERE storage_class = \(storageClass)), 0)
            FROM pending WHERE batch_id = pending_batch.id)
        """
    }
}
