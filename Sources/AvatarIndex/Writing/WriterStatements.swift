import GRDB
import GRDBSQLite

/// Statements of the write connection that run many times in each transaction, on SQLite itself: the same through GRDB
/// costs several times what SQLite takes for them.
///
/// GRDB does not see them, and so neither does `CommitWatch`: none may change what a look-up gives (see there).
final class WriterStatements {
    private var statements: [String: Statement] = [:]

    /// The statement for `sql`, prepared at its first use and held until `finish`.
    func statement(_ sql: String, on database: Database) throws -> Statement {
        if let statement = statements[sql] { return statement }
        guard let connection = database.sqliteConnection else {
            throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "the connection is closed")
        }
        let statement = try Statement(sql, on: connection)
        statements[sql] = statement
        return statement
    }

    /// Lets go of all of them: a connection with statements does not close.
    func finish() {
        statements.removeAll()
    }
}

extension IndexTransaction {
    /// The first row of `sql`, made into a value.
    func first<Element>(
        _ sql: String,
        _ values: [Statement.Value] = [],
        _ make: (borrowing Statement.Row) throws -> Element
    ) throws -> Element? {
        var element: Element?
        try statements.statement(sql, on: database).forEachRow(values) { row in
            element = try make(row)
            return false
        }
        return element
    }

    /// All rows of `sql`, each made into a value.
    func rows<Element>(
        _ sql: String,
        _ values: [Statement.Value] = [],
        _ make: (borrowing Statement.Row) throws -> Element
    ) throws -> [Element] {
        var elements: [Element] = []
        try statements.statement(sql, on: database).forEachRow(values) { row in
            elements.append(try make(row))
            return true
        }
        return elements
    }

    /// Runs `sql`, which adds rows, or changes some that no look-up reads: nobody who watches hears of it.
    func executeUnwatched(_ sql: String, _ values: [Statement.Value]) throws {
        try statements.statement(sql, on: database).forEachRow(values) { _ in true }
    }
}
