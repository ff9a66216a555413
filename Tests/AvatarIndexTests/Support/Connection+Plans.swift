import CSQLite

@testable import AvatarSQLite

/// The plans of the statements that the code under test has run.
extension Connection {
    /// The SQL of all statements that the connection keeps.
    var preparedSQL: [String] { statements.all.map(\.sql) }

    /// The steps of SQLite's plan for `sql` (https://www.sqlite.org/eqp.html). Its parameters need no values.
    func queryPlan(of sql: String) throws(SQLiteError) -> [String] {
        let plan = try prepare("EXPLAIN QUERY PLAN " + sql, .unrestricted)
        defer { sqlite3_finalize(plan) }
        var steps: [String] = []
        while true {
            switch sqlite3_step(plan) {
            case SQLITE_ROW: steps.append(sqlite3_column_text(plan, 3).map { String(cString: $0) } ?? "")
            case SQLITE_DONE: return steps
            case let code: throw error(code)
            }
        }
    }
}
