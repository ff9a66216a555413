import AvatarCore
import AvatarFileSystem
import AvatarFoundation

/// The file of an index, as the file system knows it.
enum IndexFile {
    /// How long a call waits for another process's lock before it fails as `busy`, in seconds.
    static let busyTimeoutSeconds = 10

    /// How long opening waits, in seconds: several processes may make a new index at once, and take turns at the disk.
    static let openingTimeoutSeconds = 30

    /// One index is made at a time in this process, see `make`.
    private static let making = Locked(())

    /// Makes an empty file with the permission bits `mode`, unless there is one. SQLite would make it with wider
    /// permissions; the files that SQLite makes beside it get those of the file.
    ///
    /// Closing a descriptor of a database file drops the locks that this process has on it. So a thread that opens the
    /// index meanwhile waits here until the descriptor that made it is closed.
    static func make(at path: String, on fileSystem: any FileSystem, mode: UInt32) {
        making.withLock { _ in
            var information = stat()
            guard fileSystem.fstatat(AT_FDCWD, path, &information, 0) != 0 else { return }
            let file = fileSystem.openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL, mode)
            // If the place is not usable, SQLite's own message is better.
            guard file >= 0 else { return }
            fileSystem.close(file)
            synchronizeFolder(of: path, on: fileSystem)
        }
    }

    /// A name under which an index is made that is then linked to its place.
    static func temporaryName(of path: String) -> String { path + temporary + UUID().uuidString }

    private static let temporary = "-new-"

    /// Removes the name under which the index was made, if its process was killed before it did.
    static func removeTemporaryNames(of path: String, on fileSystem: any FileSystem) {
        var index = stat()
        guard fileSystem.fstatat(AT_FDCWD, path, &index, 0) == 0, index.st_nlink > 1 else { return }
        let identity = FileIdentity(path, on: fileSystem)
        // The process that was killed may have given the index its name, and not made it durable.
        synchronizeFolder(of: path, on: fileSystem)
        for name in temporaryNames(of: path, on: fileSystem) where FileIdentity(name, on: fileSystem) == identity {
            fileSystem.unlinkat(AT_FDCWD, name, 0)
        }
    }

    /// The paths of the indexes that are being made for `path`, with their logs, and of those that killed processes left.
    static func temporaryNames(of path: String, on fileSystem: any FileSystem) -> [String] {
        let prefix = path.lastPathPart + temporary
        // In a folder that cannot be listed nothing can be made either, and SQLite says so better.
        return (fileSystem.names(ofFolder: path.parentPath) ?? []).filter { $0.hasPrefix(prefix) }
            .map { path.parentPath + "/" + $0 }
    }

    /// Makes the names in the directory of `path` durable. SQLite does so for its own files, but not for this one.
    static func synchronizeFolder(of path: String, on fileSystem: any FileSystem) {
        let folder = fileSystem.openat(AT_FDCWD, path.parentPath, O_RDONLY, 0)
        // SQLite reports a folder that cannot be opened when it makes its log there.
        guard folder >= 0 else { return }
        fileSystem.fsync(folder)
        fileSystem.close(folder)
    }

    /// Whether the rollback journal of `path` says that its database had no table: at most one page
    /// (https://www.sqlite.org/fileformat.html, section 3). Rolling it back takes nothing from any program.
    static func wasBeingMade(_ path: String, on fileSystem: any FileSystem) -> Bool {
        let journal = fileSystem.openat(AT_FDCWD, path + "-journal", O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
        guard journal >= 0 else { return false }
        defer { fileSystem.close(journal) }
        var header = [UInt8](repeating: 0, count: 20)
        guard fileSystem.pread(journal, &header, header.count, 0) == header.count else { return false }
        let pages = header[16...].reduce(0) { $0 << 8 | Int($1) }
        return header.starts(with: [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]) && pages <= 1
    }

    /// SQLite would wait for a writer of a pipe that lies at `path`.
    ///
    /// - Throws: `foreignIndex`.
    static func requireRegular(at path: String, on fileSystem: any FileSystem) throws {
        var information = stat()
        guard fileSystem.fstatat(AT_FDCWD, path, &information, 0) == 0, !information.isFile
        else { return }
        throw AvatarStoreError(
            .foreignIndex,
            "The index \"\(path)\" must be a regular file, not a pipe, device or folder. Move it out of the way."
        )
    }

    /// Whether the file at `path` exists and is not empty.
    ///
    /// - Throws: `foreignIndex` if it is not a regular file; `damagedIndex` if it is too short for a database.
    static func hasContent(_ path: String, on fileSystem: any FileSystem) throws -> Bool {
        try requireRegular(at: path, on: fileSystem)
        var information = stat()
        guard fileSystem.fstatat(AT_FDCWD, path, &information, 0) == 0, information.st_size > 0 else { return false }
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

/// Identifies a file for as long as it is open somewhere: its device and the number of its inode.
struct FileIdentity: Equatable, Sendable {
    /// The file system.
    private let device: dev_t
    /// The file.
    private let inode: ino_t

    /// The file at `path`; `nil` without one.
    init?(_ path: String, on fileSystem: any FileSystem) {
        var information = stat()
        guard fileSystem.fstatat(AT_FDCWD, path, &information, 0) == 0 else { return nil }
        device = information.st_dev
        inode = information.st_ino
    }
}
