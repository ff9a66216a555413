import AvatarCore
import AvatarFileSystem
import AvatarFiles

// Directories of the operating system's file system.

extension Directory {
    /// Opens `path`.
    convenience init(opening path: String) throws(SystemCallError) {
        try self.init(opening: path, on: LocalFileSystem())
    }

    /// Opens `path`, and creates it if it is missing.
    static func makeRoot(_ path: String, mode: UInt32) throws(AvatarStoreError) -> Directory {
        try makeRoot(path, on: LocalFileSystem(), mode: mode)
    }

    /// Opens `path`.
    static func openRoot(_ path: String) throws(AvatarStoreError) -> Directory {
        try openRoot(path, on: LocalFileSystem())
    }

    /// Opens `path` for an export.
    static func openTarget(_ path: String, mode: UInt32?) throws(AvatarStoreError) -> Directory? {
        try openTarget(path, on: LocalFileSystem(), mode: mode)
    }
}
