import AvatarCore
import Foundation
import GRDB
import GRDBSQLite

/// A copy of an index that is to become the index of another store. Only its maker has it open.
///
/// It has no WAL, and is durable once its file is made so: a copy that is not completed is thrown away.
package final class IndexCopy: Sendable {
    private let database: DatabaseQueue

    /// Copies the index at `source`, as it is at one moment and while others may be writing to it, to `path`.
    ///
    /// An older schema is brought up to date in the copy; nothing in the source changes.
    ///
    /// - Parameter isImmutable: the source lies on a disk that cannot be written, and has no WAL content.
    /// - Throws: `foreignIndex`, `newerIndex`, `damagedIndex`; `CancellationError`.
    package static func make(
        of source: String,
        isImmutable: Bool,
        at path: String,
        fileMode: UInt32
    ) throws -> IndexCopy {
        do {
            try snapshot(of: source, isImmutable: isImmutable, at: path, fileMode: fileMode)
            let database = try DatabaseQueue(path: path, configuration: configuration())
            try SchemaMigrator.migrate(database)
            // Somebody may have upgraded the source a moment before.
            try database.writeWithoutTransaction { try SchemaMigrator.requireUnchangedVersion($0) }
            return IndexCopy(database: database)
        } catch {
            try Task.checkCancellation()
            throw SQLiteError.translate(error, doing: "copying it")
        }
    }

    private init(database: DatabaseQueue) {
        self.database = database
    }

    /// Runs `body` in one transaction.
    package func write<Result>(_ body: (IndexTransaction) throws -> Result) throws -> Result {
        do {
            return try database.writeWithoutTransaction { database in
                var result: Result?
                let statements = WriterStatements()
                try database.inTransaction(.immediate) {
                    result = try body(IndexTransaction(database: database, statements: statements))
                    return .commit
                }
                guard let result else { throw AvatarStoreError(.storage, "A transaction of the index gave no result.") }
                return result
            }
        } catch {
            throw SQLiteError.translate(error, doing: "writing to its copy")
        }
    }

    /// Closes the copy, which is then one plain file.
    package func close() throws {
        do {
            try database.close()
        } catch {
            throw SQLiteError.translate(error, doing: "closing its copy")
        }
    }

    /// Copies the index at `source`, with whatever schema it has, to the new file `path`.
    ///
    /// One read transaction, so one state; deleted rows are not copied. Application id, version and vacuum mode are.
    /// Nothing is made durable.
    ///
    /// - Parameter tick: called now and then while it goes on.
    static func snapshot(
        of source: String,
        isImmutable: Bool,
        at path: String,
        fileMode: UInt32,
        tick: @escaping () -> Void = {}
    ) throws {
        try makeFile(at: path, mode: fileMode)
        // A connection of its own: those that serve reads are not to wait for it.
        let connection = try ReadConnection(
            path: source,
            isImmutable: isImmutable,
            busyTimeoutSeconds: AvatarIndex.busyTimeoutSeconds
        )
        let status = try SchemaStatus(of: connection)
        guard !status.isEmpty else { throw AvatarStoreError(.damagedIndex, "\(source) holds no index.") }
        try status.requireOurs()
        let watch = Watch(tick)
        try withExtendedLifetime(watch) {
            // SQLite calls it while the statement below runs, which the watch outlives.
            let context = Unmanaged.passUnretained(watch).toOpaque()
            sqlite3_progress_handler(connection.handle, 10_000, Watch.handler, context)
            _ = try connection.rows("VACUUM INTO ?", [.text(path)]) { _ in }
        }
    }

    /// What SQLite calls every so many steps of its machine: it ends what a cancelled task does.
    private final class Watch {
        private let tick: () -> Void
        private var calls = 0

        init(_ tick: @escaping () -> Void) {
            self.tick = tick
        }

        static let handler: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { context in
            if let context { Unmanaged<Watch>.fromOpaque(context).takeUnretainedValue().call() }
            return Task.isCancelled ? 1 : 0
        }

        private func call() {
            calls += 1
            if calls % 100 == 0 { tick() }
        }
    }

    /// SQLite would make the file with wider permissions; it takes an empty one that is there.
    private static func makeFile(at path: String, mode: UInt32) throws {
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode_t(mode))
        // Whatever is wrong with the place, SQLite says it better.
        guard file >= 0 else { return }
        Foundation.close(file)
    }

    private static func configuration() -> GRDB.Configuration {
        var configuration = GRDB.Configuration()
        configuration.label = "avatar-index-copy"
        configuration.foreignKeysEnabled = true
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA journal_mode = MEMORY")
            try database.execute(sql: "PRAGMA synchronous = OFF")
            try database.execute(sql: "PRAGMA secure_delete = ON")
            // Keys of entries whose files have to be looked for again.
            try database.execute(sql: "CREATE TEMP TABLE sought (key TEXT PRIMARY KEY) STRICT, WITHOUT ROWID")
        }
        return configuration
    }
}
