import GRDB

/// SQL on the file of an index, past the code under test.
enum PlainSQL {
    /// Runs `body` with a connection to the file at `path`, which is made if it is not there.
    static func open<Value>(_ path: String, _ body: (Database) throws -> Value) throws -> Value {
        let queue = try DatabaseQueue(path: path)
        let value = try queue.inDatabase(body)
        try queue.close()
        return value
    }

    /// The rows of `sql`, each as its columns joined with `|`.
    static func rows(_ sql: String, in path: String) throws -> [String] {
        try open(path) { try $0.rows(sql) }
    }

    /// Runs the statements of `sql`.
    static func run(_ sql: String, in path: String) throws {
        try open(path) { try $0.execute(sql: sql) }
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

extension Database {
    /// The rows of `sql`, each as its columns joined with `|`.
    func rows(_ sql: String) throws -> [String] {
        try Row.fetchAll(self, sql: sql).map { row in
            row.databaseValues.map { String.fromDatabaseValue($0) ?? $0.description }.joined(separator: "|")
        }
    }
}
