import AvatarSQLite

/// A source of rows for SQL: a read connection, or the transaction that is open.
///
/// A conforming type gives only `forEachRow`, which sets how it reports errors: a `ReadConnection` throws an
/// `AvatarStoreError`, an `IndexTransaction` the `SQLiteError` itself.
protocol RowSource {
    /// Hands each row of `sql` to `row`, which returns false to stop.
    ///
    /// - Parameter values: one for each parameter, in the order of their numbers.
    func forEachRow(_ sql: String, _ values: [any Bindable], row: (borrowing Row) throws -> Bool) throws
}

extension RowSource {
    /// All rows of `sql`, each made into a value. All values are in memory at once: bound the rows by the SQL.
    func rows<Element>(
        _ sql: String,
        _ values: [any Bindable] = [],
        make: (borrowing Row) throws -> Element
    ) throws -> [Element] {
        var elements: [Element] = []
        try forEachRow(sql, values) { row in
            elements.append(try make(row))
            return true
        }
        return elements
    }

    /// The first row of `sql`, made into a value; `nil` without rows. SQLite is not asked for a second row.
    func firstRow<Element>(
        _ sql: String,
        _ values: [any Bindable] = [],
        make: (borrowing Row) throws -> Element
    ) throws -> Element? {
        var element: Element?
        try forEachRow(sql, values) { row in
            element = try make(row)
            return false
        }
        return element
    }

    /// The integer in the first column of the first row of `sql`; `nil` without rows and for NULL.
    func integer(_ sql: String, _ values: [any Bindable] = []) throws -> Int64? {
        try firstRow(sql, values) { $0.optionalInteger(at: 0) } ?? nil
    }

    /// The text in the first column of the first row of `sql`; `nil` without rows and for NULL.
    func text(_ sql: String, _ values: [any Bindable] = []) throws -> String? {
        try firstRow(sql, values) { $0.optionalText(at: 0) } ?? nil
    }

    /// Whether `sql` has a row.
    func hasRow(_ sql: String, _ values: [any Bindable] = []) throws -> Bool {
        try firstRow(sql, values) { _ in true } ?? false
    }
}
