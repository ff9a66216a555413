import GRDB

/// SQL on the file of an index, past the code under test.
enum PlainSQL {
    /// The rows of `sql`, each as its columns joined with `|`.
    static func rows(_ sql: String, in path: String) throws -> [String] {
        let queue = try DatabaseQueue(path: path)
        let rows = try queue.inDatabase { database in
            try Row.fetchAll(database, sql: sql).map { $0.databaseValues.map(text).joined(separator: "|") }
        }
        try queue.close()
        return rows
    }

    private static func text(_ value: DatabaseValue) -> String {
        String.fromDatabaseValue(value) ?? value.description
    }

    /// Runs the statements of `sql`, and makes the file if it is not there.
    static func run(_ sql: String, in path: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.inDatabase { try $0.execute(sql: sql) }
        try queue.close()
    }

    /// Runs `body` after the statements of `sql`, while the connection that ran them is open.
    static func whileOpen(_ path: String, running sql: String, _ body: () throws -> Void) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.inDatabase { try $0.execute(sql: sql) }
        try body()
        try queue.close()
    }

    /// Everything that makes up the schema, to the letter.
    static let schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"

    /// What the table `total` has to say.
    static let recountedTotals = """
        SELECT storage_class,
            (SELECT count(*) FROM file WHERE file.storage_class = total.storage_class),
            (SELECT coalesce(sum(size_bytes), 0) FROM file WHERE file.storage_class = total.storage_class),
            (SELECT count(*) FROM pending_file AS pending WHERE pending.storage_class = total.storage_class),
            (SELECT coalesce(sum(size_bytes), 0) FROM pending_file AS pending
                WHERE pending.storage_class = total.storage_class)
        FROM total ORDER BY storage_class
        """
}
