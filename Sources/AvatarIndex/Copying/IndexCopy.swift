import AvatarCore
package import AvatarFileSystem
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
    /// - Parameter fileSystem: the file system of both paths.
    /// - Parameter isImmutable: the source is on a read-only disk, and has no WAL content.
    /// - Parameter fileMode: the permission bits of the copy.
    /// - Throws: `foreignIndex`, `newerIndex`, `damagedIndex`; `indexWasUpgraded` if another program upgraded the
    ///   source meanwhile; `diskFull`, `busy` and `storage`; `CancellationError`.
    package static func make(
        of source: String,
        on fileSystem: any FileSystem,
        isImmutable: Bool,
        at path: String,
        fileMode: UInt32
    ) throws -> IndexCopy {
        do {
            try IndexSnapshot.take(of: source, on: fileSystem, isImmutable: isImmutable, at: path, fileMode: fileMode)
            return try AvatarStoreError.translating("copying it") {
                let connection = try open(path, on: fileSystem)
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

    /// Closes the copy, which is then one plain file. It is not durable; `UnfinishedStore.finish()` makes it so.
    ///
    /// - Throws: an error of the index.
    package func close() throws {
        try AvatarStoreError.translating("closing its copy") { try writer.close() }
    }

    /// Opens the copy for writing, without a WAL and without synchronization: the copy is thrown away if its maker is
    /// stopped.
    ///
    /// The temporary table `sought` is part of the connection, so it is not in the finished index.
    private static func open(_ path: String, on fileSystem: any FileSystem) throws -> Connection {
        let connection = try Connection(
            path: path,
            access: .readWrite,
            watched: CommitWatch.watched,
            vfs: fileSystem.databaseVFS
        )
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
