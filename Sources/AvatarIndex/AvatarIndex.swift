package import AvatarCore
import AvatarMigrations
import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// The metadata database: the only module that holds SQL.
///
/// Reads are plain calls on prepared statements of read connections (`Reading/`); changes run in transactions on one
/// write connection (`Writing/`). Both see each other's commits, and those of other processes.
package final class AvatarIndex: Sendable {
    /// How long a call waits for another process's lock before it fails as `busy`.
    package static let busyTimeoutSeconds = 10

    /// How long opening waits: several may make a new index at once, each of which takes its turns at the disk.
    static let openingTimeoutSeconds = 30

    /// From so many pages on the WAL's content is moved into the file; SQLite's own default.
    private static let longWALFrames = 1000

    /// How many changes are told, counting each owner of a change; older ones are dropped.
    package static let feedLimit: Int64 = 200_000

    let path: String
    let readers: ReadConnections
    let hits = HitCache()
    private let now: @Sendable () -> Timestamp
    private let feedLimit: Int64
    /// `nil` in an index that was opened for reading only.
    private let writer: DatabaseQueue?
    // Cannot be used by two threads at once: it is only reached inside calls of `writer`, which run one after another on
    // its queue.
    private nonisolated(unsafe) let writerStatements = WriterStatements()
    private let writerWALIndex = Mutex<WALIndex?>(nil)

    /// Opens the index at `path` for reading and writing; makes it, or brings its schema up to date.
    ///
    /// A foreign database and a newer schema are refused before a byte of the file is changed. A copy of an older one
    /// lies beside it while it is upgraded.
    ///
    /// - Parameter fileMode: the permission bits of a new index; it holds URLs and contact ids.
    /// - Parameter now: the time that changes bear.
    /// - Parameter migrating: is told how far a migration has come.
    package static func open(
        path: String,
        fileMode: UInt32,
        now: @escaping @Sendable () -> Timestamp = systemTime,
        feedLimit: Int64 = feedLimit,
        migrating: @escaping ProgressHandler = { _ in }
    ) throws -> AvatarIndex {
        try refuseForeignFile(at: path)
        try makeFile(at: path, mode: fileMode)
        do {
            let writer = try DatabaseQueue(path: path, configuration: writerConfiguration())
            let copy = UpgradeCopy(path: path, fileMode: fileMode)
            try SchemaUpgrade(copy: copy, progress: migrating).run(on: writer)
            try writer.writeWithoutTransaction { database in
                try database.execute(sql: "PRAGMA busy_timeout = \(1000 * busyTimeoutSeconds)")
                // From now on `shortenWAL` does it.
                try database.execute(sql: "PRAGMA wal_autocheckpoint = 0")
            }
            return try AvatarIndex(path: path, writer: writer, isImmutable: false, now, feedLimit)
        } catch {
            throw SQLiteError.translate(error, doing: "opening it")
        }
    }

    /// Opens the index at `path` for reading: nothing is made, repaired or migrated.
    ///
    /// - Parameter isImmutable: the disk cannot be written; the file is read without locks.
    package static func openReadOnly(path: String, isImmutable: Bool) throws -> AvatarIndex {
        _ = try hasContent(path)
        let index = try AvatarIndex(path: path, writer: nil, isImmutable: isImmutable)
        let status = try index.readers.read { try SchemaStatus(of: $0) }
        try status.requireOurs()
        guard status.version == Migration.latestVersion else {
            throw AvatarStoreError(
                .olderIndex,
                "The index has schema version \(status.version), this program works with \(Migration.latestVersion). "
                    + "Run `avatars migrate` to upgrade it."
            )
        }
        return index
    }

    /// The time of the system's clock.
    package static let systemTime: @Sendable () -> Timestamp = { Timestamp(Date()) }

    private init(
        path: String,
        writer: DatabaseQueue?,
        isImmutable: Bool,
        _ now: @escaping @Sendable () -> Timestamp = systemTime,
        _ feedLimit: Int64 = feedLimit
    ) throws {
        self.path = path
        self.writer = writer
        self.now = now
        self.feedLimit = feedLimit
        readers = try ReadConnections(
            path: path,
            isImmutable: isImmutable,
            // Foundation reads several files for it, which takes longer than to open the index.
            count: 2 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))),
            busyTimeoutSeconds: Self.busyTimeoutSeconds
        )
    }

    /// Closes all connections. Pending WAL content is moved into the file if no other process is at work.
    package func close() throws {
        hits.close()
        readers.close()
        guard let writer else { return }
        do {
            writer.writeWithoutTransaction { _ in writerStatements.finish() }
            try writer.close()
        } catch {
            throw SQLiteError.translate(error, doing: "closing it")
        }
    }

    /// Whether changes are possible.
    package var isReadOnly: Bool { writer == nil }

    /// How much a finished transaction must survive.
    package enum Durability: Sendable {
        /// The end of the process. A power loss may take the last ones.
        case process
        /// A power loss too.
        case power
    }

    /// Runs `body` in one write transaction: all of it happens, or nothing. Synchronous; waits for other writers.
    package func write<Result>(
        _ durability: Durability = .process,
        _ body: (IndexTransaction) throws -> Result
    ) throws -> Result {
        guard let writer else {
            throw AvatarStoreError(.readOnly, "The store was opened for reading only.")
        }
        do {
            return try writer.writeWithoutTransaction { database in
                // The level cannot change inside a transaction.
                if durability == .power { try database.execute(sql: "PRAGMA synchronous = FULL") }
                defer { if durability == .power { Self.restoreSynchronous(database) } }
                let result = try watchedTransaction(database, body)
                shortenWAL(database)
                return result
            }
        } catch {
            throw SQLiteError.translate(error, doing: "writing to it")
        }
    }

    private func watchedTransaction<Result>(
        _ database: Database,
        _ body: (IndexTransaction) throws -> Result
    ) throws -> Result {
        var result: Result?
        let watch = CommitWatch(hits, hits.isWorthKeeping ? walIndex(of: database) : nil, on: database)
        defer { watch.end(database) }
        try database.inTransaction(.immediate) {
            try SchemaMigrator.requireUnchangedVersion(database)
            watch.begin(database)
            let transaction = IndexTransaction(database: database, statements: writerStatements)
            result = try body(transaction)
            try transaction.tellNews(at: now(), keeping: feedLimit)
            try requireInPlace(database)
            return .commit
        }
        watch.commit(database)
        guard let result else { throw AvatarStoreError(.storage, "A transaction of the index gave no result.") }
        return result
    }

    /// Whether the file at the index's path is still the one that is open; changes to another would be lost with it.
    ///
    /// - Throws: `indexWasReplaced`.
    private func requireInPlace(_ database: Database) throws {
        var hasMoved: Int32 = 0
        let code = sqlite3_file_control(database.sqliteConnection, nil, SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        guard code == SQLITE_OK, hasMoved != 0 else { return }
        throw AvatarStoreError(
            .indexWasReplaced,
            "The index \"\(path)\" was moved, replaced or removed while it was open, so changes would be lost. Nothing of "
                + "the last change was stored; put the index back if it is missing, and run the command again."
        )
    }

    /// Moves the WAL's content into the file once it is long, as SQLite would by itself, but after the commit is told to
    /// who waits for it: while SQLite does so at the end of a commit, every hit has to be looked up.
    private func shortenWAL(_ database: Database) {
        guard let walIndex = walIndex(of: database), walIndex.frameCount >= Self.longWALFrames else { return }
        // What fails here, or meets a reader that stays, is done after the next commit: nothing is lost but room.
        sqlite3_wal_checkpoint_v2(database.sqliteConnection, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    }

    /// Moves the WAL's content into the file and empties the WAL, as far as other processes' readers allow.
    ///
    /// - Returns: whether the WAL is empty now.
    @discardableResult
    package func truncateWAL() throws -> Bool {
        guard let writer else { return false }
        do {
            return try writer.writeWithoutTransaction { database in
                try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)").map { $0[0] == 0 } ?? false
            }
        } catch {
            throw SQLiteError.translate(error, doing: "emptying the WAL")
        }
    }

    /// Runs `body` on the write connection, which `action` says for messages; what it changes is its own matter.
    func writeOutsideTransaction(_ action: String, _ body: (Database) throws -> Void) throws {
        guard let writer else {
            throw AvatarStoreError(.readOnly, "The store was opened for reading only.")
        }
        do {
            try writer.writeWithoutTransaction(body)
        } catch {
            throw SQLiteError.translate(error, doing: action)
        }
    }

    /// The memory of the write connection; found once.
    private func walIndex(of database: Database) -> WALIndex? {
        writerWALIndex.withLock { known in
            if known == nil { known = database.sqliteConnection.flatMap(WALIndex.init(of:)) }
            return known
        }
    }

    /// When several open a new index at once, each wants to change its mode, and SQLite refuses all but one without
    /// waiting: they hold a lock on what they read that the one is waiting for.
    private static func setWALMode(_ database: Database) throws {
        let deadline = ContinuousClock.now + .seconds(openingTimeoutSeconds)
        while true {
            do {
                return try database.execute(sql: "PRAGMA journal_mode = WAL")
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && .now < deadline {
                usleep(2_000)
            }
        }
    }

    private static func restoreSynchronous(_ database: Database) {
        // Should this fail, later transactions are more durable than asked for, which is correct and only slower.
        try? database.execute(sql: "PRAGMA synchronous = NORMAL")
    }

    private static func writerConfiguration() -> GRDB.Configuration {
        var configuration = GRDB.Configuration()
        configuration.label = "avatar-index"
        configuration.busyMode = .timeout(TimeInterval(openingTimeoutSeconds))
        configuration.foreignKeysEnabled = true
        configuration.prepareDatabase { database in
            // It takes effect only in a file without tables, so it comes before the journal mode. Setting it again would
            // be a write at each opening.
            if try Int.fetchOne(database, sql: "PRAGMA auto_vacuum") != 2 {
                try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            }
            try setWALMode(database)
            try database.execute(sql: "PRAGMA synchronous = NORMAL")
            try database.execute(sql: "PRAGMA secure_delete = ON")
            try database.execute(sql: "PRAGMA journal_size_limit = 8388608")
        }
        return configuration
    }
}
