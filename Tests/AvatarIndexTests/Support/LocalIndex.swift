import AvatarCore
import AvatarFileSystem
import AvatarIndex
import AvatarReports

// The tests of the index run on the operating system's file system.

extension AvatarIndex {
    /// Opens the index at `path`, as the method of the same name with a file system.
    static func open(
        path: String,
        checked: consuming CheckedIndex? = nil,
        fileMode: UInt32,
        now: @escaping @Sendable () -> Timestamp = systemTime,
        feedLimit: Int64 = feedLimit,
        migrating: @escaping ProgressHandler = { _ in }
    ) throws -> AvatarIndex {
        try open(
            path: path,
            on: LocalFileSystem(),
            checked: checked,
            fileMode: fileMode,
            now: now,
            feedLimit: feedLimit,
            migrating: migrating
        )
    }

    /// Opens the index at `path` for reading.
    static func openReadOnly(path: String, isImmutable: Bool) throws -> AvatarIndex {
        try openReadOnly(path: path, on: LocalFileSystem(), isImmutable: isImmutable)
    }

    /// Checks the file at `path`.
    static func check(_ path: String) throws -> CheckedIndex? {
        try check(path, on: LocalFileSystem())
    }

    /// The migrations of the index at `path`.
    static func migrationStatus(path: String) throws -> (version: Int, applied: [String], pending: [String]) {
        try migrationStatus(path: path, on: LocalFileSystem())
    }
}
