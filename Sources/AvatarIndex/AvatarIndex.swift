package import AvatarCore
package import AvatarFileSystem
package import AvatarReports
import AvatarSQLite
import AvatarFoundation
import Synchronization

/// The metadata database: the only module that holds SQL.
///
/// Reads are plain calls on prepared statements of read connections (`Reading/`); changes run in transactions on one
/// write connection (`Writing/`). Both see each other's commits, and those of other processes.
package final class AvatarIndex: Sendable {
    /// The number of pages in the WAL from which on its content is moved into the file; SQLite's own default.
    private static let longWALFrames = 1000

    /// The most memory that the write connection takes for pages, in KiB.
    private static let writerCacheKiB = 4096

    /// The same while it changes rows all over the index.
    ///
    /// The times of access of a million files fill 20 MiB of index pages, which a transaction changes in random order:
    /// with less memory it would write each of them many times. A smaller index takes less.
    private static let largeWriterCacheKiB = 32_768

    /// The most changes that the feed keeps, counting each contact of a change; older ones are dropped.
    package static let feedLimit: Int64 = 200_000

    /// The path of the database file.
    package let path: String
    /// The file system of that path.
    let fileSystem: any FileSystem
    /// The read connections. A read uses the first that is free.
    let readers: ReadConnections
    /// Hits in memory. Reads fill it; commits invalidate the hits that they change.
    let hits = HitCache()
    /// The time that the change feed records.
    private let now: @Sendable () -> Timestamp
    /// The file that the readers have open.
    private let identity: FileIdentity?
    /// The maximum number of changes that the feed keeps.
    private let feedLimit: Int64
    /// `nil` in an index that was opened for reading only.
    private let writer: Writer?
    /// The number of uses of the write connection, by which a transaction detects another one before it.
    private let writeCount = Atomic(0)
    /// The write-ahead log, which is written again after a synchronization that failed.
    package let log: IndexLog

    /// Opens the index at `path` for reading and writing; makes it, or brings its schema up to date.
    ///
    /// It refuses a foreign database and a newer schema before it changes a byte of the file. While it upgrades an older
    /// schema, it keeps a copy of the file beside it.
    ///
    /// The write connection is opened by the first write, unless this call has to change something.
    ///
    /// - Parameter path: where the index is; its directory must exist.
    /// - Parameter fileSystem: the file system of that path.
    /// - Parameter checked: what `check` returned for `path`; its connection belongs to the index from now on. Default:
    ///   the file is checked now.
    /// - Parameter fileMode: the permission bits of a new index, which holds URLs and contact ids.
    /// - Parameter now: gives the time that the feed of changes records.
    /// - Parameter feedLimit: the most changes that the feed keeps.
    /// - Parameter migrating: is called with the progress of a migration.
    /// - Throws: `foreignIndex`, `newerIndex` and `damagedIndex`, with the file unchanged; `readOnly` if its directory
    ///   cannot be written; `busy` if another process holds it for longer than 30 seconds; `diskFull` and `storage`.
    package static func open(
        path: String,
        on fileSystem: any FileSystem,
        checked: consuming CheckedIndex? = nil,
        fileMode: UInt32,
        now: @escaping @Sendable () -> Timestamp = systemTime,
        feedLimit: Int64 = feedLimit,
        migrating: @escaping ProgressHandler = { _ in }
    ) throws -> AvatarIndex {
        // Another file may have taken the place of the one that was checked.
        if checked?.file == nil { checked = try check(path, on: fileSystem) }
        let copy = UpgradeCopy(path: path, fileSystem: fileSystem, fileMode: fileMode)
        IndexFile.removeTemporaryNames(of: path, on: fileSystem)
        let writer: Writer
        // A file that cannot be written is opened at once, for SQLite's own reason.
        if let checked, let file = checked.file, checked.isComplete,
            fileSystem.faccessat(AT_FDCWD, path, W_OK) == 0
        {
            copy.removeLeftovers(before: Migration.latestVersion)
            writer = Writer { try openForWriting(path, on: fileSystem, ifStill: file) }
        } else {
            IndexFile.make(at: path, on: fileSystem, mode: fileMode)
            writer = try AvatarStoreError.translating("opening it") {
                let connection = try openForWriting(path, on: fileSystem)
                // A file that cannot be written fails here.
                if fileSystem.faccessat(AT_FDCWD, path, W_OK) != 0 { try connection.transaction { _ in } }
                try SchemaUpgrade(copy: copy, progress: migrating).run(on: connection)
                try finishSetup(of: connection)
                return Writer(connection)
            }
            if checked?.file == nil { checked = nil }
        }
        return try AvatarIndex(
            path: path,
            on: fileSystem,
            reader: checked?.reader,
            writer: writer,
            isImmutable: false,
            now: now,
            feedLimit: feedLimit
        )
    }

    /// Opens the index at `path` for reading: nothing is made, repaired or migrated. Only a transaction that a killed
    /// process left in a rollback journal is rolled back.
    ///
    /// - Parameter isImmutable: the disk cannot be written; the file is read without locks.
    /// - Throws: `foreignIndex`, `newerIndex` and `damagedIndex`; `olderIndex` if the schema has to be upgraded first;
    ///   `noStore` if there is no index, or an empty file, which an opening that failed may leave.
    package static func openReadOnly(
        path: String,
        on fileSystem: any FileSystem,
        isImmutable: Bool
    ) throws -> AvatarIndex {
        let (index, status) = try rollingBack(path, on: fileSystem) {
            guard try IndexFile.hasContent(path, on: fileSystem) else {
                throw AvatarStoreError(.noStore, "There is no store at \(path).")
            }
            let index = try AvatarIndex(path: path, on: fileSystem, writer: nil, isImmutable: isImmutable)
            return (index, try index.readers.read { try SchemaStatus(of: $0) })
        }
        try status.requireOurs()
        guard status.version == Migration.latestVersion else {
            throw AvatarStoreError(
                .olderIndex,
                "The index has schema version \(status.version), but this program needs version \(Migration.latestVersion). "
                    + "Run `avatars migrate` to upgrade it."
            )
        }
        return index
    }

    /// The time of the system's clock.
    package static let systemTime: @Sendable () -> Timestamp = { Timestamp(Date()) }

    /// An index with its read connections.
    ///
    /// - Parameters:
    ///   - reader: an open read connection, which only the index uses from now on; `nil`: one is opened.
    ///   - writer: the write connection; `nil` for an index that is only read.
    ///   - isImmutable: whether the disk cannot be written, so that the file is read without locks.
    /// - Throws: an `AvatarStoreError` if the file cannot be opened for reading.
    private init(
        path: String,
        on fileSystem: any FileSystem,
        reader: ReadConnection? = nil,
        writer: Writer?,
        isImmutable: Bool,
        now: @escaping @Sendable () -> Timestamp = systemTime,
        feedLimit: Int64 = feedLimit
    ) throws {
        (self.path, self.fileSystem, self.writer) = (path, fileSystem, writer)
        log = IndexLog(of: path, on: fileSystem)
        (self.now, self.feedLimit) = (now, feedLimit)
        readers = try ReadConnections(
            reader,
            path: path,
            on: fileSystem,
            isImmutable: isImmutable,
            // Foundation reads several files for it, which takes longer than to open the index.
            count: 2 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))),
            busyTimeoutSeconds: IndexFile.busyTimeoutSeconds
        )
        identity = FileIdentity(path, on: fileSystem)
    }

    /// Closes all connections. Pending WAL content is moved into the file if no other process has it open. A later read
    /// opens a connection again; a later write fails. Does nothing the second time.
    package func close() throws {
        hits.close()
        readers.close()
        try AvatarStoreError.translating("closing it") {
            // SQLite would move pages into the file. The next opening writes the log first.
            try writer?.close(keepingLog: log.isDoubtful)
        }
    }

    /// Whether the index was opened for reading only.
    package var isReadOnly: Bool { writer == nil }

    /// Whether a write connection was opened. Without one, nothing was written.
    package var hasWriteConnection: Bool { writer?.isOpened ?? false }

    /// The events that a committed transaction survives.
    package enum Durability: Sendable {
        /// The end of the process (`synchronous = NORMAL`). A power loss may take the last transactions.
        case process
        /// A power loss too (`synchronous = FULL`).
        case power
    }

    /// Runs `body` in one write transaction: all of it happens, or nothing. Synchronous; waits for other writers.
    ///
    /// - Parameter durability: the events that the transaction survives once this returns.
    /// - Throws: `readOnly`; `busy` if another process writes for longer than 10 seconds; `indexWasUpgraded` and
    ///   `indexWasReplaced` if another program changed the schema or the file; `diskFull`, `damagedIndex` and
    ///   `storage`; what `body` throws. Nothing was changed then; but after a disk failure (`storage`), the change may be in
    ///   the index and not on the disk.
    package func write<Result>(
        _ durability: Durability = .process,
        _ body: (IndexTransaction) throws -> Result
    ) throws -> Result {
        try onWriteConnection("writing to it") { connection in
            // The level cannot change inside a transaction.
            if durability == .power { try connection.statement("PRAGMA synchronous = FULL").run() }
            defer { if durability == .power { IndexLog.restoreSynchronous(connection) } }
            let result = try watchedTransaction(on: connection, durability, body)
            shortenWAL(connection)
            return result
        }
    }

    /// Runs `body` in one transaction, and removes from the cache only the hits that it changes.
    ///
    /// The change feed gets its rows in the same transaction.
    private func watchedTransaction<Result>(
        on connection: Connection,
        _ durability: Durability,
        _ body: (IndexTransaction) throws -> Result
    ) throws -> Result {
        let watch = CommitWatch(hits, hits.isWorthKeeping ? log.walIndex(of: connection) : nil)
        defer { watch.end() }
        var rewritesLog = false
        let result = try connection.transaction(observing: watch.changes) { opened in
            try SchemaMigrator.requireUnchangedVersion(connection)
            // Under the lock for writing, which a process that dies in its transaction has held until then.
            if durability == .power, try log.learnOfLoss() {
                rewritesLog = true
                try log.rewrite(connection, in: opened)
            }
            watch.begin(connection)
            let transaction = IndexTransaction(
                opened,
                changes: watch.changes,
                number: writeCount.load(ordering: .relaxed)
            )
            let result = try body(transaction)
            watch.keep(transaction.memory.hits)
            try transaction.writeTotals()
            try transaction.tellNews(at: now(), keeping: feedLimit)
            try requireInPlace(connection)
            return result
        }
        if rewritesLog { log.settle() }
        watch.commit(connection)
        // One that was told of a failure just before may not have said so in time.
        if durability == .power, !rewritesLog { try log.rewriteAfterLateLoss(connection) }
        return result
    }

    /// Whether the file at the index's path is still the one that is open; changes to another would be lost with it.
    ///
    /// - Throws: `indexWasReplaced`.
    private func requireInPlace(_ connection: Connection) throws {
        if connection.hasFileMoved { throw Self.wasReplaced(path) }
    }

    /// Checks that reads still show the index at its path: the file is in its place, and no other program has upgraded it.
    ///
    /// - Throws: `indexWasReplaced`, `indexWasUpgraded`; an error of SQLite.
    package func requireCurrent() throws {
        guard FileIdentity(path, on: fileSystem) == identity else {
            throw AvatarStoreError(
                .indexWasReplaced,
                "The index \"\(path)\" was moved, replaced or removed while it was open. Put it back if it is missing, or "
                    + "start the program again to use the one that is there now."
            )
        }
        try readers.read { try SchemaMigrator.requireUnchanged(Int(try $0.integer("PRAGMA user_version") ?? 0)) }
    }

    /// The error for a file that is no longer at the index's path.
    static func wasReplaced(_ path: String) -> AvatarStoreError {
        AvatarStoreError(
            .indexWasReplaced,
            "The index \"\(path)\" was moved, replaced or removed while it was open, so changes would be lost. Nothing of "
                + "the last change was stored; put the index back if it is missing, and run the command again."
        )
    }

    /// Moves the WAL's content into the file once it is long. SQLite would do so by itself at the end of a commit, but
    /// before the hit cache is told of that commit: every hit would have to be looked up meanwhile.
    private func shortenWAL(_ connection: Connection) {
        guard let walIndex = log.walIndex(of: connection), walIndex.frameCount >= Self.longWALFrames else { return }
        do {
            try log.rewriteThatOfOthers(connection)
            try connection.checkpointPassively()
        } catch {
            // The next commit tries again, as after one that a reader has kept short. But the log may lack bytes from now on.
            if let error = error as? SQLiteError, error.isFailedSynchronization { log.doubt(connection) }
        }
    }

    /// Moves the WAL's content into the file and empties the WAL, as far as other processes' readers allow.
    ///
    /// Does nothing for an empty WAL of which this process has written nothing.
    ///
    /// - Returns: whether the WAL is empty now.
    @discardableResult
    package func truncateWAL() throws -> Bool {
        guard let writer else { return false }
        if !writer.isOpened, isWALEmpty { return true }
        return try onWriteConnection("emptying the WAL") { connection in
            try log.rewriteThatOfOthers(connection)
            return try connection.integer("PRAGMA wal_checkpoint(TRUNCATE)") == 0
        }
    }

    /// Overwrites copies of `values` that deleted rows have left in the unused room of the file. Call it when the WAL is
    /// empty; it leaves the WAL empty.
    ///
    /// Reads the whole file, and rewrites it only if there is a copy. Other processes wait to write meanwhile.
    ///
    /// - Returns: whether no copy is left. Another process that reads or writes may prevent it.
    package func removeRemnants(of values: [[UInt8]]) throws -> Bool {
        let hasRemnant = try onWriteConnection("looking for deleted rows") { try $0.hasRemnant(of: values) }
        guard hasRemnant else { return true }
        do {
            try AvatarStoreError.translating("rewriting it") {
                // The write connection does not allow statements that it cannot tell from changes of hits.
                let connection = try Connection(
                    path: path,
                    access: .readWriteExisting,
                    busyTimeoutMilliseconds: 1000 * IndexFile.busyTimeoutSeconds,
                    vfs: fileSystem.databaseVFS
                )
                do {
                    // SQLite does not tell of a checkpoint that fails after a commit.
                    try connection.execute("PRAGMA wal_autocheckpoint = 0; VACUUM")
                } catch let error as SQLiteError where error.isFailedSynchronization {
                    log.doubt()
                    throw error
                }
                try connection.close()
            }
        } catch let error as AvatarStoreError where error.code == .busy {
            return false
        }
        return try truncateWAL()
    }

    /// Whether the WAL is missing or has no bytes. Its file is not opened.
    private var isWALEmpty: Bool {
        var information = stat()
        return fileSystem.fstatat(AT_FDCWD, path + "-wal", &information, 0) == 0
            ? information.st_size == 0 : errno == ENOENT
    }

    /// Runs `body` with the write connection, once earlier calls are done.
    ///
    /// - Parameter action: what `body` does, for messages: "writing to it".
    /// - Throws: `readOnly` if the index was opened for reading only; the store's error for what SQLite reports.
    func onWriteConnection<Result>(_ action: String, _ body: (Connection) throws -> Result) throws -> Result {
        guard let writer else {
            throw AvatarStoreError(
                .readOnly,
                "The store was opened for reading only. Open it for writing to change it."
            )
        }
        return try AvatarStoreError.translating(action) {
            try writer.use { connection in
                // Counted while the connection is in use, so each use has a number of its own.
                writeCount.add(1, ordering: .relaxed)
                if log.isDoubtful { try log.rewrite(connection) }
                do {
                    return try body(connection)
                } catch let error as SQLiteError where error.isFailedSynchronization {
                    log.doubt(connection)
                    do {
                        try log.rewrite(connection)
                    } catch {
                        // The next write tries it first.
                    }
                    throw error
                }
            }
        }
    }

    /// Runs `body`, whose transactions change rows all over the index, with more memory for pages.
    package func withLargeCache<Result>(_ body: () throws -> Result) throws -> Result {
        try setCacheSize(Self.largeWriterCacheKiB)
        // If that fails, the connection keeps the memory until it is closed.
        defer { try? setCacheSize(Self.writerCacheKiB) }
        return try body()
    }

    /// Sets the most memory that the write connection takes for pages.
    private func setCacheSize(_ size: Int) throws {
        try onWriteConnection("setting its cache") { try $0.execute("PRAGMA cache_size = -\(size)") }
    }

    // MARK: Setting up the write connection

    /// Opens the write connection of an index that is open for reading already.
    ///
    /// - Parameter file: the file that the readers have open.
    /// - Throws: `indexWasReplaced` if another file, or none, is at `path` now: what is written to it would not be read.
    private static func openForWriting(
        _ path: String,
        on fileSystem: any FileSystem,
        ifStill file: FileIdentity
    ) throws -> Connection {
        guard FileIdentity(path, on: fileSystem) == file else { throw wasReplaced(path) }
        let connection = try openForWriting(path, on: fileSystem, .readWriteExisting)
        // The file cannot have been replaced in between if both hold now.
        guard FileIdentity(path, on: fileSystem) == file, !connection.hasFileMoved else { throw wasReplaced(path) }
        try finishSetup(of: connection)
        return connection
    }

    /// Gives the write connection its last settings, once the schema is this program's.
    private static func finishSetup(of connection: Connection) throws {
        try connection.execute(
            """
            PRAGMA busy_timeout = \(1000 * IndexFile.busyTimeoutSeconds);
            PRAGMA cache_size = -\(writerCacheKiB);
            -- A statement that changes many rows keeps the old pages until it ends: else in a file on another disk.
            PRAGMA temp_store = MEMORY;
            """
        )
        connection.protectWatchedColumns()
    }

    /// Opens a connection for writing, with everything that lasts as long as the connection or the file.
    private static func openForWriting(
        _ path: String,
        on fileSystem: any FileSystem,
        _ access: Connection.Access = .readWrite
    ) throws -> Connection {
        let connection = try Connection(
            path: path,
            access: access,
            busyTimeoutMilliseconds: 1000 * IndexFile.openingTimeoutSeconds,
            watched: CommitWatch.watched,
            vfs: fileSystem.databaseVFS
        )
        try connection.execute("PRAGMA foreign_keys = ON")
        // It takes effect only in a file without tables, so it comes before the journal mode. Setting it again would be
        // a write at each opening.
        if try connection.integer("PRAGMA auto_vacuum") != 2 {
            try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        }
        try setWALMode(connection)
        try connection.execute(
            """
            PRAGMA synchronous = NORMAL;
            PRAGMA secure_delete = ON;
            PRAGMA journal_size_limit = 8388608;
            -- `shortenWAL` does it, and learns of a synchronization that fails.
            PRAGMA wal_autocheckpoint = 0;
            """
        )
        // Fails now if the file is not a database: not all pragmas above read it.
        try connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1")
        return connection
    }

    /// When several processes open a new index at once, each wants to change its mode, and SQLite refuses all but one
    /// without waiting: the others hold a read lock that the one is waiting for. So each tries again.
    private static func setWALMode(_ connection: Connection) throws {
        let deadline = ContinuousClock.now + .seconds(IndexFile.openingTimeoutSeconds)
        while true {
            do {
                return try connection.execute("PRAGMA journal_mode = WAL")
            } catch {
                guard error.code.primary == .busy, .now < deadline else { throw error }
                usleep(2_000)
            }
        }
    }
}
