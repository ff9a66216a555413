import CSQLite

/// A prepared statement. The connection prepares it once and keeps it: preparing costs twice what a lookup costs.
package final class Statement {
    /// The SQL as the caller wrote it.
    let sql: String
    /// `nil` once the connection is closed.
    private var handle: OpaquePointer?
    /// The places of the column names.
    private let names: ColumnNames
    /// The connection that owns the statement.
    private unowned let connection: Connection
    /// The writes that SQLite lets the statement make.
    let permission: WritePermission
    /// The values that a run needs.
    private let parameterCount: Int
    /// Whether it stands on a row; it then cannot be run for another caller.
    private(set) var isRunning = false

    /// Prepares `sql` on `connection`.
    ///
    /// - Throws: an error of SQLite, such as one for invalid SQL or for a write that `permission` does not allow.
    init(_ sql: String, on connection: Connection, permission: WritePermission) throws(SQLiteError) {
        let handle = try connection.prepare(sql, permission)
        (self.sql, self.handle) = (sql, handle)
        (self.connection, self.permission) = (connection, permission)
        parameterCount = Int(sqlite3_bind_parameter_count(handle))
        names = ColumnNames(columnCount: Int(sqlite3_column_count(handle)))
    }

    deinit {
        finalize()
        names.deallocate()
    }

    /// Gives the statement back to SQLite. It cannot be run any more.
    func finalize() {
        sqlite3_finalize(handle)
        handle = nil
    }

    /// Runs the statement with `values` and hands each row to `row`, which returns false to stop.
    ///
    /// - Parameter values: one for each parameter, in the order of their numbers.
    /// - Throws: `range` unless there are as many values as parameters; `misuse` once the connection is closed; what
    ///   SQLite reports; what `row` throws; `corrupt` after a row in which a number is outside the range that `row` gives.
    package func forEachRow(
        _ values: [any Bindable] = [],
        _ row: (borrowing Row) throws -> Bool
    ) throws {
        let handle = try begin()
        defer { end(handle) }
        try bind(values, to: handle)
        while try step(handle) {
            let goesOn = try row(Row(handle: handle, names: names))
            try names.checkNumbers(of: connection)
            guard goesOn else { return }
        }
    }

    /// Runs the statement with `values` to its end and ignores its rows.
    package func run(_ values: [any Bindable] = []) throws(SQLiteError) {
        let handle = try begin()
        defer { end(handle) }
        try bind(values, to: handle)
        while try step(handle) {}
    }

    /// Runs the statement with the one text `text`, without copying it, and hands its first row to `row`.
    ///
    /// - Returns: whether there is a row.
    package func firstRow(text: String, _ row: (borrowing Row) -> Void) throws(SQLiteError) -> Bool {
        var text = text
        var error: SQLiteError?
        // `withUTF8` does not know typed errors.
        let isFound = text.withUTF8 { bytes in
            do throws(SQLiteError) {
                let handle = try begin()
                // Reset before the buffer goes away: SQLite reads the text in place.
                defer { end(handle) }
                try bind(bytes, to: handle)
                guard try step(handle) else { return false }
                row(Row(handle: handle, names: names))
                try names.checkNumbers(of: connection)
                return true
            } catch let caught {
                error = caught
                return false
            }
        }
        if let error { throw error }
        return isFound
    }

    // MARK: Steps of a run

    /// Begins a run.
    ///
    /// - Returns: the prepared statement of SQLite.
    /// - Throws: `misuse` once the connection is closed.
    private func begin() throws(SQLiteError) -> OpaquePointer {
        guard let handle else { throw SQLiteError(.misuse, "The connection is closed.") }
        isRunning = true
        names.forgetNumbers()
        // A changed schema makes SQLite prepare the statement again while it runs.
        connection.permission = permission
        return handle
    }

    /// Ends a run, so that the statement can be run again.
    private func end(_ handle: OpaquePointer) {
        sqlite3_reset(handle)
        isRunning = false
    }

    /// Whether there is another row.
    private func step(_ handle: OpaquePointer) throws(SQLiteError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw connection.error(code)
        }
    }

    /// Binds `values` to the parameters.
    ///
    /// - Throws: `range` unless there is one value for each parameter.
    private func bind(_ values: [any Bindable], to handle: OpaquePointer) throws(SQLiteError) {
        guard values.count == parameterCount else {
            throw SQLiteError(.range, "The statement needs \(parameterCount) values, not \(values.count).")
        }
        // In place, because a copy of a value costs as much as to bind it.
        for index in values.indices {
            let code = values[index].bind(to: handle, at: Int32(index + 1))
            guard code == SQLITE_OK else { throw connection.error(code) }
        }
    }

    private func bind(
        _ text: UnsafeBufferPointer<UInt8>,
        to handle: OpaquePointer
    ) throws(SQLiteError) {
        let code = text.withMemoryRebound(to: CChar.self) {
            sqlite3_bind_text(handle, 1, $0.baseAddress, Int32($0.count), nil)
        }
        guard code == SQLITE_OK else { throw connection.error(code) }
    }
}
