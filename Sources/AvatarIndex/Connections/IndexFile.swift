import AvatarCore
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
    static func make(at path: String, mode: UInt32) throws {
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

    /// SQLite would wait for a writer of a pipe that lies at `path`.
    ///
    /// - Throws: `foreignIndex`.
    static func requireRegular(at path: String) throws {
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
        try requireRegular(at: path)
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
