import CSQLite

/// The columns that something outside the database keeps copies of, so that every change to them must be told.
///
/// A statement of a `Transaction` either leaves them as they are (`run(_:_:)`) or tells of the rows that it changes
/// (`run(_:_:telling:)`). SQLite itself checks the former when it prepares the statement: it knows each column that the
/// statement, its triggers and its foreign keys write, and refuses to prepare one that writes a watched column. So a
/// statement that changes watched columns without telling never runs.
package struct WatchedColumns: Sendable {
    /// The watched columns of one table.
    package enum Columns: Sendable {
        /// These columns and no others.
        case only(Set<String>)
        /// All columns of the table, also those that a later schema adds, but these.
        case allBut(Set<String>)

        func contains(_ column: String) -> Bool {
            switch self {
            case .only(let columns): columns.contains(column)
            case .allBut(let columns): !columns.contains(column)
            }
        }
    }

    /// By table: the columns whose updates must be told.
    private let updates: [String: Columns]
    /// The tables whose deleted rows must be told.
    private let deletions: Set<String>
    /// By table: the column that is the row id, by which changes are told. No statement may update it.
    private let rowIDs: [String: String]

    /// - Parameter updates: by table, the columns whose updates must be told.
    /// - Parameter deletions: the tables whose deleted rows must be told.
    /// - Parameter rowIDs: by table, the column that is the row id.
    package init(updates: [String: Columns], deletions: Set<String>, rowIDs: [String: String]) {
        self.updates = updates
        self.deletions = deletions
        self.rowIDs = rowIDs
    }

    /// Whether an update of `column` in `table` must be told, or is forbidden.
    package func contains(_ column: String, of table: String) -> Bool {
        rowIDs[table] == column || updates[table]?.contains(column) == true
    }

    fileprivate func isRowID(_ column: String, of table: String) -> Bool { rowIDs[table] == column }

    fileprivate func watchesDeletions(from table: String) -> Bool { deletions.contains(table) }

    fileprivate func isWatched(_ table: String) -> Bool { updates[table] != nil || deletions.contains(table) }
}

/// The right of a statement to write watched columns.
enum WritePermission {
    /// It may write everything: scripts that build the schema, before anything is kept in memory.
    case unrestricted
    /// It must leave them as they are.
    case keepsWatched
    /// It may change them, as the rows that it changes are told.
    case tellsWatched
}

/// The rows of watched tables that a transaction changed, told by SQLite row by row.
package final class ChangedRows {
    /// The row ids of updated rows, by table.
    package private(set) var updated: [String: Set<Int64>] = [:]
    /// The row ids of deleted rows, by table.
    package private(set) var deleted: [String: Set<Int64>] = [:]
    /// Whether changes are recorded at all. If not, statements run at full speed.
    package let isRecording: Bool

    /// - Parameter isRecording: whether the rows will be asked for.
    package init(isRecording: Bool) {
        self.isRecording = isRecording
    }

    /// Runs `body`, and records the rows that its statements on `handle` update and delete.
    func record<Result>(
        on handle: OpaquePointer,
        _ body: () throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        guard isRecording else { return try body() }
        sqlite3_update_hook(handle, Self.hook, Unmanaged.passUnretained(self).toOpaque())
        defer { sqlite3_update_hook(handle, nil, nil) }
        return try body()
    }

    private static let hook:
        @convention(c) (
            UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, UnsafePointer<CChar>?, sqlite3_int64
        ) -> Void = { context, operation, _, table, id in
            guard let context, let table else { return }
            let rows = Unmanaged<ChangedRows>.fromOpaque(context).takeUnretainedValue()
            switch operation {
            case SQLITE_UPDATE: rows.updated[String(cString: table), default: []].insert(id)
            case SQLITE_DELETE: rows.deleted[String(cString: table), default: []].insert(id)
            default: break
            }
        }
}

/// Decides for SQLite, while it prepares a statement, whether the statement may write a column.
final class WriteGuard {
    private let watched: WatchedColumns
    /// The permission of the statement that is being prepared.
    var permission = WritePermission.unrestricted
    /// The first write that was refused, for the message.
    private(set) var refusal: String?
    /// The watched tables that the statement writes.
    private(set) var tables: Set<String> = []

    init(_ watched: WatchedColumns) {
        self.watched = watched
    }

    /// Makes SQLite ask from now on. The connection must keep the guard for as long as it is open.
    func install(on handle: OpaquePointer) {
        sqlite3_set_authorizer(handle, Self.authorizer, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Called before a statement is prepared.
    func begin(_ permission: WritePermission) {
        self.permission = permission
        refusal = nil
        tables = []
    }

    private static let authorizer:
        @convention(c) (
            UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?,
            UnsafePointer<CChar>?
        ) -> Int32 = { context, action, first, second, _, _ in
            guard let context else { return SQLITE_OK }
            let writeGuard = Unmanaged<WriteGuard>.fromOpaque(context).takeUnretainedValue()
            switch action {
            case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE:
                guard let first else { return SQLITE_OK }
                return writeGuard.authorize(
                    action,
                    table: String(cString: first),
                    column: second.map { String(cString: $0) } ?? ""
                )
            default: return SQLITE_OK
            }
        }

    private func authorize(_ action: Int32, table: String, column: String) -> Int32 {
        guard permission != .unrestricted, watched.isWatched(table) else { return SQLITE_OK }
        tables.insert(table)
        switch action {
        case SQLITE_INSERT:
            // A new row is in no copy.
            return SQLITE_OK
        case SQLITE_UPDATE:
            if watched.isRowID(column, of: table) { return refuse("the row id \(table).\(column)") }
            guard permission == .keepsWatched, watched.contains(column, of: table) else { return SQLITE_OK }
            return refuse("\(table).\(column)")
        default:
            guard watched.watchesDeletions(from: table) else { return SQLITE_OK }
            if permission == .keepsWatched { return refuse("rows of \(table)") }
            // Deletes all the same, but row by row: SQLite would tell nothing of a table that is emptied at once.
            return SQLITE_IGNORE
        }
    }

    private func refuse(_ write: String) -> Int32 {
        refusal = refusal ?? write
        return SQLITE_DENY
    }
}
