/// An open write transaction of a connection. Valid only inside the closure that it is handed to.
///
/// A write says by the function that runs it whether it changes watched columns; see `WatchedColumns`. Every function
/// throws `abort` once SQLite has rolled the transaction back by itself, so that nothing is committed on its own.
package struct Transaction {
    private let connection: Connection

    init(on connection: Connection) {
        self.connection = connection
    }

    /// Runs `sql` with `values`; it leaves the watched columns as they are.
    ///
    /// - Throws: `notAuthorized`, before anything is changed, if it does not.
    package func run(_ sql: String, _ values: [any Bindable] = []) throws(SQLiteError) {
        try connection.requireTransaction()
        try connection.statement(sql, .keepsWatched).run(values)
    }

    /// Runs `sql` with `values`; the rows that it updates and deletes are told to `rows`.
    package func run(
        _ sql: String,
        _ values: [any Bindable] = [],
        telling rows: ChangedRows
    ) throws(SQLiteError) {
        try connection.requireTransaction()
        let statement = try connection.statement(sql, .tellsWatched)
        try rows.record(on: connection.open()) { () throws(SQLiteError) in try statement.run(values) }
    }

    /// Runs `sql` with `values` and hands each row to `row`, which returns false to stop.
    package func forEachRow(
        _ sql: String,
        _ values: [any Bindable] = [],
        row: (borrowing Row) throws -> Bool
    ) throws {
        try connection.requireTransaction()
        try connection.statement(sql).forEachRow(values, row)
    }

    /// Writes the first page of the database as it is, so that the transaction has a page to commit. SQLite does not write a
    /// row that an update leaves as it is.
    package func rewriteHeader() throws {
        try connection.requireTransaction()
        let version = try connection.integer("PRAGMA user_version") ?? 0
        try connection.execute("PRAGMA user_version = \(version)")
    }

    /// The row id that the last insertion gave.
    package var lastInsertedRowID: Int64 { connection.lastInsertedRowID }

    /// The number of rows that the last statement inserted, updated or deleted, without those of triggers.
    package var changedRowCount: Int { connection.changedRowCount }
}
