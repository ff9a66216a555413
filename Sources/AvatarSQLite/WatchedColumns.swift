import CSQLite

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

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
        (self.updates, self.deletions, self.rowIDs) = (updates, deletions, rowIDs)
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

/// The rows that a transaction changed, told by SQLite row by row.
///
/// Tables without row ids are left out.
package final class ChangedRows {
    /// The row ids of rows that statements updated which tell their changes, by table.
    package private(set) var updated: [String: Set<Int64>] = [:]
    /// The row ids of rows that statements deleted which tell their changes, by table.
    package private(set) var deleted: [String: Set<Int64>] = [:]
    /// The row ids of rows of `observed` that any statement of the transaction updated or deleted.
    package private(set) var touched: Set<Int64> = []
    /// The number of rows that any statement of the transaction inserted into `observed`.
    package private(set) var insertionCount = 0
    /// Whether the changes of statements that tell them are recorded. If not, these statements run at full speed.
    package let isRecording: Bool
    /// The name of the table that is observed during the whole transaction, with a NUL; `nil`: none.
    private let observed: ContiguousArray<CChar>?
    /// Whether a statement runs that tells its changes.
    private var isTelling = false
    /// Whether SQLite calls the hook during the whole transaction.
    private var isObserving = false

    /// - Parameter isRecording: whether `updated` and `deleted` will be asked for.
    /// - Parameter observed: the table whose changes are recorded for the whole transaction, whichever statement makes
    ///   them. Default: none.
    package init(isRecording: Bool, observing observed: String? = nil) {
        self.isRecording = isRecording
        self.observed = observed?.utf8CString
    }

    /// Runs `body`, and records its changes to the observed table.
    func observe<Result>(on handle: OpaquePointer, _ body: () throws -> Result) rethrows -> Result {
        guard observed != nil else { return try body() }
        install(on: handle)
        isObserving = true
        defer {
            isObserving = false
            sqlite3_update_hook(handle, nil, nil)
        }
        return try body()
    }

    /// Runs `body`, and records the rows that its statements on `handle` update and delete.
    func record<Result>(
        on handle: OpaquePointer,
        _ body: () throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        guard isRecording else { return try body() }
        if !isObserving { install(on: handle) }
        isTelling = true
        defer {
            isTelling = false
            if !isObserving { sqlite3_update_hook(handle, nil, nil) }
        }
        return try body()
    }

    private func install(on handle: OpaquePointer) {
        sqlite3_update_hook(handle, Self.hook, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Records one changed row.
    private func record(_ operation: Int32, table: UnsafePointer<CChar>, id: Int64) {
        if isObserving, isObserved(table) {
            if operation == SQLITE_INSERT { insertionCount += 1 } else { touched.insert(id) }
        }
        guard isTelling else { return }
        switch operation {
        case SQLITE_UPDATE: updated[String(cString: table), default: []].insert(id)
        case SQLITE_DELETE: deleted[String(cString: table), default: []].insert(id)
        default: break
        }
    }

    private func isObserved(_ table: UnsafePointer<CChar>) -> Bool {
        observed?.withUnsafeBufferPointer { name in name.baseAddress.map { strcmp(table, $0) == 0 } } == true
    }

    private static let hook:
        @convention(c) (
            UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, UnsafePointer<CChar>?, sqlite3_int64
        ) -> Void = { context, operation, _, table, id in
            guard let context, let table else { return }
            Unmanaged<ChangedRows>.fromOpaque(context).takeUnretainedValue().record(operation, table: table, id: id)
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
