import AvatarCore
import AvatarSQLite
import AvatarFoundation

/// A copy of an index that is to become the index of another store. Only its maker has it open.
///
/// It has no WAL, and is durable once its file is made so: a copy that is not completed is thrown away.
package final class IndexCopy: Sendable {
    /// The only connection to the copy.
    private let writer: Writer

    /// Copies the index at `source`, in the state of one moment and while other processes may write to it, to `path`.
    ///
    /// An older schema is brought up to date in the copy; nothing in the source changes.
    ///
    /// - Parameter isImmutable: the source is on a read-only disk, and has no WAL content.
    /// - Parameter fileMode: the permission bits of the copy.
    /// - Throws: `foreignIndex`, `newerIndex`, `damagedIndex`; `indexWasUpgraded` if another program upgraded the
    ///   source meanwhile; `diskFull`, `busy` and `storage`; `CancellationError`.
    package static func make(
        of source: String,
        isImmutable: Bool,
        at path: String,
        fileMode: UInt32
    ) throws -> IndexCopy {
        do {
            try snapshot(of: source, isImmutable: isImmutable, at: path, fileMode: fileMode)
            return try AvatarStoreError.translating("copying it") {
                let connection = try open(path)
                try SchemaMigrator.migrate(connection)
                // Another program may have upgraded the source a moment before.
                try SchemaMigrator.requireUnchangedVersion(connection)
                connection.protectWatchedColumns()
                return IndexCopy(Writer(connection))
            }
        } catch {
            try Task.checkCancellation()
            throw error
        }
    }

    /// A copy whose schema is up to date.
    private init(_ writer: Writer) {
        self.writer = writer
    }

    /// Runs `body` in one transaction.
    ///
    /// - Throws: what `AvatarIndex.write` throws for SQLite, and what `body` throws. Nothing was changed then.
    package func write<Result>(_ body: (IndexTransaction) throws -> Result) throws -> Result {
        try AvatarStoreError.translating("writing to its copy") {
            try writer.use { connection in
                // No cache holds hits of the copy.
                let unheard = ChangedRows(isRecording: false)
                return try connection.transaction { opened in
                    let transaction = IndexTransaction(opened, changes: unheard)
                    let result = try body(transaction)
                    try transaction.writeTotals()
                    return result
                }
            }
        }
    }

    /// Closes the copy, which is then one plain file. It is not durable; `UnfinishedStore.finish(_:)` makes it so.
    ///
    /// - Throws: an error of the index.
    package func close() throws {
        try AvatarStoreError.translating("closing its copy") { try writer.close() }
    }

    /// Copies the index at `source`, with its schema as it is, to the new file `path`.
    ///
    /// One read transaction, so one state. `VACUUM INTO` leaves deleted rows behind, which SQLite's backup interface
    /// would copy; it keeps application id, version and vacuum mode. Nothing is made durable.
    ///
    /// SQLite copies a table without decoding its rows, and each of its indexes in order, only if the source has the same
    /// CHECK constraints. In a file opened for reading it ignores those, and then inserts row by row: a million entries
    /// take ten times longer. So the source is opened for writing if it can be.
    ///
    /// - Parameter tick: called now and then during the copy.
    /// - Throws: `damagedIndex` if there is no index at `source`; what `SchemaStatus.requireOurs` throws; an error if
    ///   the task is cancelled.
    static func snapshot(
        of source: String,
        isImmutable: Bool,
        at path: String,
        fileMode: UInt32,
        tick: () -> Void = {}
    ) throws {
        try makeFile(at: path, mode: fileMode)
        // A connection of its own: reads must not wait for it.
        let connection = try ReadConnection(
            path: source,
            isImmutable: isImmutable,
            busyTimeoutSeconds: AvatarIndex.busyTimeoutSeconds,
            opensForWriting: !isImmutable && access(source, W_OK) == 0
        )
        let status = try SchemaStatus(of: connection)
        guard !status.isEmpty else {
            throw AvatarStoreError(.damagedIndex, "\"\(source)\" has no tables, so there is no index to copy.")
        }
        try status.requireOurs()
        var calls = 0
        try connection.interruptible(
            every: 10_000,
            tick: {
                calls += 1
                if calls % 100 == 0 { tick() }
            }
        ) {
            _ = try connection.rows("VACUUM INTO ?", [path]) { _ in }
        }
    }

    /// Makes an empty file with the permission bits `mode`. SQLite would make it with wider permissions; it takes an
    /// empty one that is there.
    ///
    /// A failure is not reported here: SQLite meets it next and gives the reason.
    private static func makeFile(at path: String, mode: UInt32) throws {
        let file = AvatarFoundation.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode_t(mode))
        // If the place is not usable, SQLite's own message is better.
        guard file >= 0 else { return }
        AvatarFoundation.close(file)
    }

    /// Opens the copy for writing, without a WAL and without synchronization: the copy is thrown away if its maker is
    /// stopped.
    ///
    /// The temporary table `sought` is part of the connection, so it is not in the finished index.
    private static func open(_ path: String) throws -> Connection {
        let connection = try Connection(path: path, access: .readWrite, watched: CommitWatch.watched)
        try connection.execute(
            """
            PRAGMA foreign_keys = ON;
            PRAGMA journal_mode = MEMORY;
            PRAGMA synchronous = OFF;
            PRAGMA secure_delete = ON;
            -- Keys of entries whose files have to be looked for again.
            CREATE TEMP TABLE sought (key TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
            """
        )
        return connection
    }
}
