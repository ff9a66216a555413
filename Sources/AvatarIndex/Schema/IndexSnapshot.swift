import AvatarCore
import AvatarFileSystem
import AvatarSQLite
import AvatarFoundation

/// Copies the file of an index in the state of one moment.
enum IndexSnapshot {
    /// Copies the index at `source`, with its schema as it is, to the new file `path`.
    ///
    /// One read transaction, so one state. `VACUUM INTO` leaves deleted rows behind, which SQLite's backup interface
    /// would copy; it keeps application id, version and vacuum mode. Nothing is made durable.
    ///
    /// SQLite copies a table without decoding its rows, and each of its indexes in order, only if the source has the same
    /// CHECK constraints. In a file opened for reading it ignores those, and then inserts row by row: a million entries
    /// take ten times longer. So the source is opened for writing if it can be.
    ///
    /// `VACUUM INTO` makes the new file with the VFS of the connection, so both paths are of one file system.
    ///
    /// - Parameter tick: called now and then during the copy.
    /// - Throws: `damagedIndex` if there is no index at `source`; what `SchemaStatus.requireOurs` throws; an error if
    ///   the task is cancelled.
    static func take(
        of source: String,
        on fileSystem: any FileSystem,
        isImmutable: Bool,
        at path: String,
        fileMode: UInt32,
        tick: () -> Void = {}
    ) throws {
        try makeFile(at: path, on: fileSystem, mode: fileMode)
        // A connection of its own: reads must not wait for it.
        let connection = try ReadConnection(
            path: source,
            on: fileSystem,
            isImmutable: isImmutable,
            busyTimeoutSeconds: IndexFile.busyTimeoutSeconds,
            opensForWriting: !isImmutable && fileSystem.faccessat(AT_FDCWD, source, W_OK) == 0
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
    private static func makeFile(at path: String, on fileSystem: any FileSystem, mode: UInt32) throws {
        let file = fileSystem.openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL, mode)
        // If the place is not usable, SQLite's own message is better.
        guard file >= 0 else { return }
        fileSystem.close(file)
    }
}
