import AvatarCore
import GRDB

/// One write transaction: what may be changed together. Lives as long as the closure it is handed to.
package struct IndexTransaction {
    let database: Database
    let statements: WriterStatements
    /// What it does to pictures, to be told in the feed of changes when it ends.
    let news = TransactionNews()

    /// Runs `sql`, prepared once for the connection, with `arguments`.
    func execute(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws {
        try database.cachedStatement(sql: sql).execute(arguments: arguments)
    }

    /// The first row of `sql`.
    func fetchRow(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws -> Row? {
        try Row.fetchOne(database.cachedStatement(sql: sql), arguments: arguments)
    }

    /// All rows of `sql`.
    func fetchRows(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws -> [Row] {
        try Row.fetchAll(database.cachedStatement(sql: sql), arguments: arguments)
    }
}
