import CSQLite

/// One connection to a database, with its prepared statements. One thread at a time may use it.
///
/// Close it with `close`; without that, it is closed when its last reference goes. A closed connection throws `misuse`.
package final class Connection {
    /// How a database is opened.
    package enum Access: Sendable {
        /// For reading and writing. A missing file is made. The path is taken literally.
        case readWrite
        /// For reading and writing. A missing file is not made. The path is taken literally.
        case readWriteExisting
        /// For reading. The file must exist; the shared memory beside it is made if it is in WAL mode.
        case readOnly
        /// For reading a file that cannot change and has no content in its write-ahead log: no lock is taken.
        case immutable
    }

    /// `nil` once the connection is closed.
    private var handle: OpaquePointer?
    /// The prepared statements, until the connection is closed.
    private(set) var statements = StatementTable()
    /// Asked by SQLite for each statement that is prepared; `nil` if no column is watched.
    private let writeGuard: WriteGuard?
    /// The permission of scripts.
    private var scriptPermission = WritePermission.unrestricted

    /// Opens the database at `path`.
    ///
    /// Foreign keys are not enforced (SQLite's default), a text in double quotes is never a string, and every error has
    /// its extended code.
    ///
    /// - Parameter access: what the connection is for.
    /// - Parameter busyTimeoutMilliseconds: how long a call waits for another connection's lock before it fails as
    ///   `busy`; 0: not at all.
    /// - Parameter watched: the columns whose changes must be told; `nil`: none.
    /// - Parameter vfs: the name of SQLite's interface to the file system of `path`; `nil`: SQLite's own.
    /// - Throws: SQLite's `CANTOPEN` if the file cannot be opened or made. Only the first statement that reads the
    ///   file detects that it is not a database.
    package init(
        path: String,
        access: Access,
        busyTimeoutMilliseconds: Int = 0,
        watched: WatchedColumns? = nil,
        vfs: String? = nil
    ) throws(SQLiteError) {
        let exclusive = SQLITE_OPEN_NOMUTEX
        let (name, flags) =
            switch access {
            case .readWrite: (path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | exclusive)
            case .readWriteExisting: (path, SQLITE_OPEN_READWRITE | exclusive)
            case .readOnly: (Self.uri(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | exclusive)
            case .immutable: (Self.uri(path) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | exclusive)
            }
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(name, &handle, flags, vfs)
        guard code == SQLITE_OK, let handle else {
            let error = SQLiteError(code, on: handle, opening: path)
            // SQLite makes a connection even if it fails to open the file.
            sqlite3_close(handle)
            throw error
        }
        self.handle = handle
        writeGuard = watched.map(WriteGuard.init)
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, Int32(busyTimeoutMilliseconds))
        avatar_sqlite_refuse_double_quoted_strings(handle)
        writeGuard?.install(on: handle)
    }

    /// From now on, closing the connection leaves the write-ahead log as it is, even if no other connection is open.
    package func keepLogOnClose() throws(SQLiteError) {
        avatar_sqlite_keep_log_on_close(try open())
    }

    /// Changes how long a call waits for another connection's lock before it fails as `busy`; 0: not at all.
    package func setBusyTimeout(milliseconds: Int) throws(SQLiteError) {
        sqlite3_busy_timeout(try open(), Int32(milliseconds))
    }

    /// A new, empty database in memory, which is gone when the connection is closed.
    package convenience init(watching watched: WatchedColumns? = nil) throws(SQLiteError) {
        try self.init(path: ":memory:", access: .readWrite, watched: watched)
    }

    /// Runs `body` with a connection for reading and writing to the database at `path`, which is made if it is missing,
    /// and closes it. Foreign keys are enforced.
    package static func using<Result>(_ path: String, _ body: (Connection) throws -> Result) throws -> Result {
        let connection = try Connection(path: path, access: .readWrite)
        try connection.execute("PRAGMA foreign_keys = ON")
        let result = try body(connection)
        try connection.close()
        return result
    }

    deinit {
        // A caller that wants to know of an error calls `close` itself.
        try? close()
    }

    /// Finalizes all statements and closes the connection. The last connection of all processes moves the content of the
    /// write-ahead log into the file, as far as it may write. Does nothing on a closed connection.
    ///
    /// - Parameter keepsLog: whether the log stays as it is. Default: no.
    package func close(keepingLog keepsLog: Bool = false) throws(SQLiteError) {
        guard let handle else { return }
        if keepsLog { avatar_sqlite_keep_log_on_close(handle) }
        for statement in statements.all { statement.finalize() }
        statements.removeAll()
        self.handle = nil
        let code = sqlite3_close(handle)
        guard code != SQLITE_OK else { return }
        let error = SQLiteError(code, on: handle)
        // Only statements of this connection keep it open, and all of those were finalized above.
        assertionFailure("A connection stayed open: \(error)")
        // Closes it when the last of them is finalized; `sqlite3_close` would leave it, and the locks, for ever.
        sqlite3_close_v2(handle)
        throw error
    }

    // MARK: Statements

    /// The prepared statement for `sql`: prepared at its first use and kept until the connection is closed.
    ///
    /// It may change any column of a connection that watches none; otherwise it must leave the watched columns as they
    /// are.
    ///
    /// - Throws: `error` for wrong SQL, `notAuthorized` if it writes a watched column.
    package func statement(_ sql: String) throws(SQLiteError) -> Statement {
        try statement(sql, .keepsWatched)
    }

    func statement(_ sql: String, _ permission: WritePermission) throws(SQLiteError) -> Statement {
        let known = statements.statement(for: sql)
        if let known, !known.isRunning, known.permission == permission { return known }
        let statement = try Statement(sql, on: self, permission: permission)
        // One that stands on a row stays; its caller is not done with it.
        if known?.isRunning != true { statements.keep(statement) }
        return statement
    }

    /// All rows of `sql`, each made into a value.
    ///
    /// - Parameter values: one for each parameter, in the order of their numbers.
    /// - Throws: `range` unless there are as many values as parameters; what SQLite reports; what `make` throws.
    package func rows<Element>(
        _ sql: String,
        _ values: [any Bindable] = [],
        make: (borrowing Row) throws -> Element
    ) throws -> [Element] {
        var elements: [Element] = []
        try statement(sql).forEachRow(values) { row in
            elements.append(try make(row))
            return true
        }
        return elements
    }

    /// The first row of `sql`, made into a value; `nil` without rows.
    package func firstRow<Element>(
        _ sql: String,
        _ values: [any Bindable] = [],
        make: (borrowing Row) throws -> Element
    ) throws -> Element? {
        var element: Element?
        try statement(sql).forEachRow(values) { row in
            element = try make(row)
            return false
        }
        return element
    }

    /// The integer in the first column of the first row of `sql`; `nil` without rows and for NULL.
    package func integer(_ sql: String, _ values: [any Bindable] = []) throws -> Int64? {
        try firstRow(sql, values) { $0.optionalInteger(at: 0) } ?? nil
    }

    /// The text in the first column of the first row of `sql`; `nil` without rows and for NULL.
    package func text(_ sql: String, _ values: [any Bindable] = []) throws -> String? {
        try firstRow(sql, values) { $0.optionalText(at: 0) } ?? nil
    }

    /// The rows of `sql` as text, each with its columns joined by `|`: as the `sqlite3` program shows them, except that
    /// NULL is written out and bytes are hexadecimal digits.
    package func lines(_ sql: String) throws -> [String] {
        try rows(sql) { $0.columns.map { "\($0.value)" }.joined(separator: "|") }
    }

    /// Runs the statements of `script`, one after another, and ignores their rows. They are not kept, may contain no
    /// parameters, and may write everything until `protectWatchedColumns` is called.
    ///
    /// - Throws: the first error; what earlier statements did stays, unless a transaction is open.
    package func execute(_ script: String) throws(SQLiteError) {
        let handle = try open()
        writeGuard?.begin(scriptPermission)
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code) }
    }

    /// From now on scripts must leave the watched columns as they are too. Called once the schema is built.
    package func protectWatchedColumns() { scriptPermission = .keepsWatched }

    // MARK: Transactions

    /// Whether a transaction is open.
    package var isInTransaction: Bool { handle.map { sqlite3_get_autocommit($0) == 0 } ?? false }

    /// Runs `body` in one write transaction: all of it happens, or nothing.
    ///
    /// Takes the lock for writing first (`BEGIN IMMEDIATE`), so that nothing that `body` reads can change before it
    /// writes. An error of `body` or of the commit rolls everything back and is thrown on; an error of the roll-back
    /// itself is not, as the first one says why.
    ///
    /// - Parameter rows: receives the changes to the table that it observes. Default: nothing is observed.
    /// - Throws: `busy` if another connection holds the lock for longer than the busy timeout; `abort` if SQLite rolled
    ///   the transaction back by itself (a full disk, for example) and `body` went on; what `body` throws.
    package func transaction<Result>(
        observing rows: ChangedRows? = nil,
        _ body: (Transaction) throws -> Result
    ) throws -> Result {
        try statement("BEGIN IMMEDIATE TRANSACTION").run()
        do {
            let opened = Transaction(on: self)
            let result: Result
            if let rows {
                result = try rows.observe(on: open()) { try body(opened) }
            } else {
                result = try body(opened)
            }
            try requireTransaction()
            try statement("COMMIT TRANSACTION").run()
            return result
        } catch {
            if isInTransaction { try? statement("ROLLBACK TRANSACTION").run() }
            // An open transaction would swallow every later one.
            precondition(!isInTransaction, "A transaction could not be rolled back: \(error)")
            throw error
        }
    }

    /// Runs `body` in one read transaction, so that all of its reads see the same state of the database.
    package func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
        try statement("BEGIN").run()
        defer { endSnapshot() }
        return try body()
    }

    /// Begins a read transaction that `endSnapshot` ends.
    package func beginSnapshot() throws(SQLiteError) { try statement("BEGIN").run() }

    /// Ends a read transaction. Nothing was written, so nothing can be lost if that fails.
    package func endSnapshot() { try? statement("ROLLBACK").run() }

    /// - Throws: `abort` if no transaction is open any more: SQLite rolls back by itself when a disk is full, for example.
    ///   A later statement would be committed on its own.
    func requireTransaction() throws(SQLiteError) {
        guard isInTransaction else { throw SQLiteError(.abort, "SQLite rolled the transaction back by itself.") }
    }

    /// The row id that the last insertion gave.
    package var lastInsertedRowID: Int64 { handle.map { sqlite3_last_insert_rowid($0) } ?? 0 }

    /// The number of rows that the last statement inserted, updated or deleted, without those of triggers.
    package var changedRowCount: Int { handle.map { Int(sqlite3_changes($0)) } ?? 0 }

    // MARK: The file

    /// Whether the file at the connection's path is no longer the one that is open. False if the system cannot tell.
    package var hasFileMoved: Bool {
        guard let handle else { return false }
        var hasMoved: Int32 = 0
        return sqlite3_file_control(handle, nil, SQLITE_FCNTL_HAS_MOVED, &hasMoved) == SQLITE_OK && hasMoved != 0
    }

    /// Moves content of the write-ahead log into the file, as much as possible without waiting for other connections.
    package func checkpointPassively() throws(SQLiteError) {
        let code = sqlite3_wal_checkpoint_v2(try open(), nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        guard code == SQLITE_OK else { throw error(code) }
    }

    /// The shared memory of the write-ahead log (https://www.sqlite.org/walformat.html, section 2), its first 32 KiB.
    /// SQLite keeps it mapped for as long as any connection of the process to that file is open.
    ///
    /// `nil` if the file has none: it is not in WAL mode, or cannot be written. Two statements are run.
    package func sharedMemory() -> UnsafeMutableRawPointer? {
        // The mode is known only once the file was read. An error is not lost: whatever the caller reads next meets it.
        guard (try? integer("PRAGMA schema_version")) != nil, (try? text("PRAGMA journal_mode")) == "wal",
            let file = try? self.file(), let methods = file.pointee.pMethods, methods.pointee.iVersion >= 2,
            let map = methods.pointee.xShmMap
        else { return nil }
        var memory: UnsafeMutableRawPointer?
        // Region 0, which the read above has made SQLite map; nothing is made here.
        guard map(file, 0, 32_768, 0, &memory) == SQLITE_OK else { return nil }
        return memory
    }

    /// Runs `body`, and ends its statements as `interrupted` once `isCancelled` is true.
    ///
    /// - Parameter steps: how many steps of SQLite's machine lie between two calls of `isCancelled`.
    package func interrupting<Result>(
        every steps: Int32,
        if isCancelled: () -> Bool,
        _ body: () throws -> Result
    ) throws -> Result {
        let handle = try open()
        return try withoutActuallyEscaping(isCancelled) { isCancelled in
            let check = InterruptCheck(isCancelled)
            return try withExtendedLifetime(check) {
                let context = Unmanaged.passUnretained(check).toOpaque()
                sqlite3_progress_handler(handle, steps, InterruptCheck.handler, context)
                defer { sqlite3_progress_handler(handle, 0, nil, nil) }
                return try body()
            }
        }
    }

    // MARK: Support

    /// The permission of the statement that is being prepared or run.
    var permission: WritePermission {
        get { writeGuard?.permission ?? .unrestricted }
        set { writeGuard?.permission = newValue }
    }

    func open() throws(SQLiteError) -> OpaquePointer {
        guard let handle else { throw SQLiteError(.misuse, "The connection is closed.") }
        return handle
    }

    func error(_ code: Int32) -> SQLiteError { SQLiteError(code, on: handle) }

    /// The path of the file; `nil` once the connection is closed.
    var path: String? { handle.flatMap { sqlite3_db_filename($0, "main") }.map { String(cString: $0) } }

    /// Prepares `sql`; the caller finalizes the statement.
    func prepare(_ sql: String, _ permission: WritePermission) throws(SQLiteError) -> OpaquePointer {
        let handle = try open()
        writeGuard?.begin(permission)
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        if let refusal = writeGuard?.refusal {
            sqlite3_finalize(statement)
            throw SQLiteError(
                .notAuthorized,
                "The statement writes \(refusal), which is watched; run it with `telling:`, and never change a row id."
            )
        }
        guard code == SQLITE_OK else { throw error(code) }
        guard let statement else { throw SQLiteError(.misuse, "There is no statement in the SQL.") }
        // SQLite would delete a row with the same key without reporting it.
        if let table = writeGuard?.tables.first, Self.words(of: sql).contains("REPLACE") {
            sqlite3_finalize(statement)
            throw SQLiteError(
                .notAuthorized,
                "The statement may replace rows of the watched table \(table) unheard; use ON CONFLICT DO UPDATE."
            )
        }
        return statement
    }

    private static func words(of sql: String) -> [Substring] {
        sql.uppercased().split { !$0.isLetter && !$0.isNumber && $0 != "_" }
    }

    /// `path` as a `file:` URI (https://www.sqlite.org/uri.html): everything but the plain characters as %HH.
    private static func uri(_ path: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded = Array("file:".utf8)
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                encoded.append(byte)
            default:
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}

/// The closure that SQLite calls every few steps of a statement.
private final class InterruptCheck {
    private let isCancelled: () -> Bool

    init(_ isCancelled: @escaping () -> Bool) {
        self.isCancelled = isCancelled
    }

    static let handler: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { context in
        guard let context else { return 0 }
        return Unmanaged<InterruptCheck>.fromOpaque(context).takeUnretainedValue().isCancelled() ? 1 : 0
    }
}
