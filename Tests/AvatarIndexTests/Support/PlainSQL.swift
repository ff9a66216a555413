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

    /// The rows that the table `total` must have.
    static let recountedTotals = recountedTotals(pending: "pending")

    /// The same for any version of the schema.
    static func recountedTotals(in database: Connection) throws -> String {
        let hasView = try database.integer("SELECT 1 FROM sqlite_schema WHERE name = 'pending'") != nil
        return recountedTotals(pending: hasView ? "pending" : "pending_file")
    }

    private static func recountedTotals(pending: String) -> String {
        """
        SELECT storage_class,
            (SELECT count(*) FROM file WHERE file.storage_class = total.storage_class),
            (SELECT coalesce(sum(size_bytes), 0) FROM file WHERE file.storage_class = total.storage_class),
            (SELECT count(*) FROM \(pending) AS named WHERE named.storage_class = total.storage_class),
            (SELECT coalesce(sum(size_bytes), 0) FROM \(pending) AS named
                WHERE named.storage_class = total.storage_class)
        FROM total ORDER BY storage_class
        """
    }
}
