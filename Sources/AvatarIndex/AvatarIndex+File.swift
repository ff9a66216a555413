import AvatarCore
package import AvatarFileSystem
import AvatarSQLite
import AvatarFoundation

/// A file that this program may use as its index, and the connection that has checked it.
///
/// The connection is the first reader of the opened index, which so need not read the schema again.
package struct CheckedIndex {
    /// A connection for reading, outside any transaction.
    let reader: ReadConnection
    /// Whether the file has this program's schema and a write-ahead log, so that opening it changes nothing.
    let isComplete: Bool
    /// The file, by which a later opening detects that another one took its place.
    fileprivate let identity: FileIdentity?

    /// The file that the connection has open; `nil` if it is no longer at its path.
    var file: FileIdentity? { reader.hasFileMoved ? nil : identity }
}

/// The file of an index: making it, and refusing files of other programs.
extension AvatarIndex {
    /// Checks that this program may use the file at `path`, if it exists; nothing is made or changed.
    ///
    /// - Returns: the file and the connection that has read its schema; `nil` if there is no file, or an empty one.
    /// - Throws: `foreignIndex`, `newerIndex`, `damagedIndex`; `readOnly` if nothing can be made beside it.
    package static func check(_ path: String, on fileSystem: any FileSystem) throws -> CheckedIndex? {
        try rollingBack(path, on: fileSystem) { try checkFile(path, on: fileSystem) }
    }

    private static func checkFile(_ path: String, on fileSystem: any FileSystem) throws -> CheckedIndex? {
        guard try IndexFile.hasContent(path, on: fileSystem) else { return nil }
        do {
            let connection = try ReadConnection(
                path: path,
                on: fileSystem,
                isImmutable: false,
                busyTimeoutSeconds: IndexFile.openingTimeoutSeconds
            )
            // As one state: another process may be upgrading it, a version a transaction.
            let isComplete = try connection.snapshot {
                let status = try SchemaStatus(of: connection)
                try status.requireOurs()
                try SchemaMigrator.requireSoundSchema(of: connection, version: status.version)
                return try status.version == Migration.latestVersion
                    && connection.text("PRAGMA journal_mode") == "wal"
            }
            let identity = FileIdentity(path, on: fileSystem)
            return CheckedIndex(reader: connection, isComplete: isComplete, identity: identity)
        } catch let error as AvatarStoreError where error.code == .storage {
            // Even reading takes shared memory beside it, which SQLite only says it cannot open.
            let folder = path.parentPath
            guard fileSystem.faccessat(AT_FDCWD, folder, W_OK) != 0 else { throw error }
            let reason = errno
            let remedy = reason == EROFS ? " Mount that file system for writing, then try again." : ""
            throw AvatarStoreError(
                .readOnly,
                "SQLite needs shared memory in the folder \"\(folder)\", which cannot be written "
                    + "(\(String(cString: strerror(reason)))).\(remedy)",
                underlying: error
            )
        }
    }

    /// Runs `body`, which opens the index at `path` for reading. If a killed process left a transaction in a rollback
    /// journal, rolls that back first.
    ///
    /// SQLite uses such a journal until the file has a write-ahead log: while an index is made, and when a copy is opened
    /// for the first time. A connection for reading cannot roll back. Before another one does, the file is read as it is,
    /// so that no other program's file is changed. A file that was being made cannot be read as it is: a loss of power may
    /// have torn its first page.
    ///
    /// - Throws: `foreignIndex` and the like, with the file unchanged; errors of `body`.
    static func rollingBack<Result>(
        _ path: String,
        on fileSystem: any FileSystem,
        _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch let error as AvatarStoreError
            where (error.underlying as? SQLiteError)?.code == .readOnlyRollback
        {
            if !IndexFile.wasBeingMade(path, on: fileSystem) {
                let reader = try ReadConnection(
                    path: path,
                    on: fileSystem,
                    isImmutable: true,
                    busyTimeoutSeconds: IndexFile.openingTimeoutSeconds
                )
                try SchemaStatus(of: reader).requireOurs()
            }
            try AvatarStoreError.translating("rolling back a transaction") {
                let connection = try Connection(
                    path: path,
                    access: .readWrite,
                    busyTimeoutMilliseconds: 1000 * IndexFile.openingTimeoutSeconds,
                    vfs: fileSystem.databaseVFS
                )
                // SQLite rolls back before it reads.
                try connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1")
                try connection.close()
            }
            return try body()
        }
    }
}
