import AvatarCore
import AvatarMigrations
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
    private let identity: FileIdentity?

    fileprivate init(reader: ReadConnection, isComplete: Bool, identity: FileIdentity?) {
        self.reader = reader
        self.isComplete = isComplete
        self.identity = identity
    }

    /// The file that the connection has open; `nil` if it is no longer at its path.
    var file: FileIdentity? { reader.hasFileMoved ? nil : identity }
}

/// Identifies a file for as long as it is open somewhere: its device and the number of its inode.
struct FileIdentity: Equatable, Sendable {
    /// The file system.
    private let device: dev_t
    /// The file.
    private let inode: ino_t

    /// The file at `path`; `nil` without one.
    init?(_ path: String) {
        var information = stat()
        guard stat(path, &information) == 0 else { return nil }
        device = information.st_dev
        inode = information.st_ino
    }
}

/// The file of an index: making it, and refusing files of other programs.
extension AvatarIndex {
    /// Makes an empty file with the permission bits `mode`, unless there is one. SQLite would make it with wider
    /// permissions; the files that SQLite makes beside it get those of the file.
    ///
    /// It is made under another name first: closing a descriptor of a database file drops the locks that this process
    /// has on it, and another thread may open the file as soon as it appears.
    static func makeFile(at path: String, mode: UInt32) throws {
        var information = stat()
        guard stat(path, &information) != 0 else { return }
        let temporary = path + "-new-\(UUID().uuidString)"
        let file = AvatarFoundation.open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode_t(mode))
        // If the place is not usable, SQLite's own message is better.
        guard file >= 0 else { return }
        AvatarFoundation.close(file)
        link(temporary, path)
        unlink(temporary)
        synchronizeFolder(of: path)
    }

    /// Makes the names in the directory of `path` durable. SQLite does so for its own files, but not for this one.
    static func synchronizeFolder(of path: String) {
        let folder = AvatarFoundation.open(path.parentPath, O_RDONLY | O_CLOEXEC)
        // SQLite reports a folder that cannot be opened when it makes its log there.
        guard folder >= 0 else { return }
        fsync(folder)
        AvatarFoundation.close(folder)
    }

    /// Checks that this program may use the file at `path`, if it exists; nothing is made or changed.
    ///
    /// - Returns: the file and the connection that has read its schema; `nil` if there is no file, or an empty one.
    /// - Throws: `foreignIndex`, `newerIndex`, `damagedIndex`; `readOnly` if nothing can be made beside it.
    package static func check(_ path: String) throws -> CheckedIndex? {
        try rollingBack(path) { try checkFile(path) }
    }

    private static func checkFile(_ path: String) throws -> CheckedIndex? {
        guard try hasContent(path) else { return nil }
        do {
            let connection = try ReadConnection(
                path: path,
                isImmutable: false,
                busyTimeoutSeconds: openingTimeoutSeconds
            )
            // As one state: another process may be upgrading it, a version a transaction.
            let isComplete = try connection.snapshot {
                let status = try SchemaStatus(of: connection)
                try status.requireOurs()
                try SchemaMigrator.requireSoundSchema(of: connection, version: status.version)
                return try status.version == Migration.latestVersion
                    && connection.text("PRAGMA journal_mode") == "wal"
            }
            return CheckedIndex(reader: connection, isComplete: isComplete, identity: FileIdentity(path))
        } catch let error as AvatarStoreError where error.code == .storage {
            // Even reading takes shared memory beside it, which SQLite only says it cannot open.
            let folder = path.parentPath
            guard access(folder, W_OK) != 0 else { throw error }
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
    /// so that no other program's file is changed.
    ///
    /// - Throws: `foreignIndex` and the like, with the file unchanged; errors of `body`.
    static func rollingBack<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as AvatarStoreError
            where (error.underlying as? SQLiteError)?.code == .readOnlyRollback
        {
            let reader = try ReadConnection(
                path: path,
                isImmutable: true,
                busyTimeoutSeconds: openingTimeoutSeconds
            )
            try SchemaStatus(of: reader).requireOurs()
            try AvatarStoreError.translating("rolling back a transaction") {
                let connection = try Connection(
                    path: path,
                    access: .readWrite,
                    busyTimeoutMilliseconds: 1000 * openingTimeoutSeconds
                )
                // SQLite rolls back before it reads.
                try connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1")
                try connection.close()
            }
            return try body()
        }
    }

    /// SQLite would wait for a writer of a pipe that lies at `path`.
    ///
    /// - Throws: `foreignIndex`.
    static func requireRegularFile(at path: String) throws {
        var information = stat()
        guard stat(path, &information) == 0, information.st_mode & S_IFMT != S_IFREG else { return }
        throw AvatarStoreError(
            .foreignIndex,
            "The index \"\(path)\" must be a regular file, not a pipe, device or folder. Move it out of the way."
        )
    }

    /// Whether the file at `path` exists and is not empty.
    ///
    /// - Throws: `foreignIndex` if it is not a regular file; `damagedIndex` if it is too short for a database.
    static func hasContent(_ path: String) throws -> Bool {
        try requireRegularFile(at: path)
        var information = stat()
        guard stat(path, &information) == 0, information.st_size > 0 else { return false }
        // SQLite takes a file of one or two bytes for an empty database.
        guard information.st_size >= 100 else {
            throw AvatarStoreError(
                .damagedIndex,
                "\"\(path)\" has \(information.st_size) bytes; a database has at least 100. It was left as it is."
            )
        }
        return true
    }
}
