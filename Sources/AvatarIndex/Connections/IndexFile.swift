import AvatarCore
import AvatarFileSystem
import AvatarFoundation

/// The file of an index, as the file system knows it.
enum IndexFile {
    /// How long a call waits for another process's lock before it fails as `busy`, in seconds.
    static let busyTimeoutSeconds = 10

    /// How long opening waits, in seconds: several processes may make a new index at once, and take turns at the disk.
    static let openingTimeoutSeconds = 30

    /// Makes an empty file with the permission bits `mode`, unless there is one. SQLite would make it with wider
    /// permissions; the files that SQLite makes beside it get those of the file.
    ///
    /// It is made under another name first: closing a descriptor of a database file drops the locks that this process
    /// has on it, and another thread may open the file as soon as it appears.
    static func make(at path: String, on fileSystem: any FileSystem, mode: UInt32) throws {
        var information = stat()
        guard fileSystem.fstatat(AT_FDCWD, path, &information, 0) != 0 else { return }
        let temporary = path + "-new-\(UUID().uuidString)"
        let file = fileSystem.openat(AT_FDCWD, temporary, O_RDWR | O_CREAT | O_EXCL, mode)
        // If the place is not usable, SQLite's own message is better.
        guard file >= 0 else { return }
        fileSystem.close(file)
        fileSystem.linkat(AT_FDCWD, temporary, AT_FDCWD, path)
        fileSystem.unlinkat(AT_FDCWD, temporary, 0)
        synchronizeFolder(of: path, on: fileSystem)
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
        guard fileSystem.fstatat(AT_FDCWD, path, &information, 0) == 0, information.st_mode & S_IFMT != S_IFREG
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
