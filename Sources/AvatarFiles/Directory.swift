package import AvatarCore
package import AvatarFileSystem
import AvatarFoundation
import Synchronization

/// An open directory of the store. Closed with its last reference.
package final class Directory: Sendable {
    /// The path it was opened by.
    package let path: String
    /// Makes the calls on this directory and on what is in it.
    package let fileSystem: any FileSystem
    /// The descriptor; `restoreIfRemoved` replaces it.
    private let current: Atomic<Int32>
    /// The two-digit folders that `hasFolder` has found.
    private let seen = SeenFolders()

    /// Whether the directory did not exist when it was opened. It then counts as empty.
    package let isMissing: Bool

    /// The descriptor of the open directory.
    package var descriptor: Int32 { current.load(ordering: .relaxed) }

    /// Opens `path`, which must be a directory and not a symbolic link. Links in the parents of `path` are followed.
    ///
    /// - Throws: `ELOOP` or `ENOTDIR` for a symbolic link or a file, `ENOENT` if it is missing.
    package convenience init(opening path: String, on fileSystem: any FileSystem) throws(SystemCallError) {
        let descriptor = try fileSystem.open(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        self.init(path: path, descriptor: descriptor, on: fileSystem)
    }

    /// Opens the directory `name` in `parent`, which must not be a symbolic link.
    ///
    /// - Throws: as `init(opening:)`.
    package convenience init(opening name: String, in parent: Directory) throws(SystemCallError) {
        let path = parent.path + "/" + name
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
        let descriptor = parent.fileSystem.openat(parent.descriptor, name, flags, 0)
        guard descriptor >= 0 else { throw SystemCallError("open", path) }
        self.init(path: path, descriptor: descriptor, on: parent.fileSystem)
    }

    /// Takes over an open `descriptor` of `fileSystem`.
    init(path: String, descriptor: Int32, on fileSystem: any FileSystem) {
        self.path = path
        self.fileSystem = fileSystem
        isMissing = false
        current = Atomic(descriptor)
    }

    /// Stands for the missing directory `path` in a store that is open for reading: no file is found in it.
    private init(missing path: String, on fileSystem: any FileSystem) throws(SystemCallError) {
        // Looking up a name below a device fails as below a missing directory, so no other code needs to know.
        let descriptor = try fileSystem.open("/dev/null", flags: O_RDONLY)
        self.path = path
        self.fileSystem = fileSystem
        isMissing = true
        current = Atomic(descriptor)
    }

    deinit {
        fileSystem.close(descriptor)
    }

    /// Creates the directory again if it was removed, as a purge of the cache folder may do.
    ///
    /// The old descriptor stays open, because other threads may be using it at this moment.
    package func restoreIfRemoved(mode: UInt32) throws(SystemCallError) {
        var information = stat()
        guard fileSystem.fstat(descriptor, &information) == 0, information.st_nlink == 0 else { return }
        try Self.makeWithParents(path, mode: mode, on: fileSystem)
        let opened = try fileSystem.open(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        current.store(opened, ordering: .relaxed)
        seen.forgetAll()
    }

    /// Makes all files, folders and names on the file systems of `directories` durable: one `syncfs` per file system.
    package static func synchronizeFileSystems(of directories: [Directory]) throws(SystemCallError) {
        var done: Set<dev_t> = []
        for directory in directories {
            // `restoreIfRemoved` may replace it.
            let descriptor = directory.descriptor
            let status = try directory.fileSystem.status(of: descriptor, named: directory.path)
            guard done.insert(status.st_dev).inserted else { continue }
            guard directory.fileSystem.syncfs(descriptor) == 0 else {
                throw SystemCallError("syncfs", directory.path)
            }
        }
    }

    /// Whether the two-digit folder for digests that begin with `byte` exists and is not a symbolic link.
    ///
    /// A positive result is cached while the directory is open. A link can take the folder's place after any check, so
    /// each read or write of a file opens the folder again without following links.
    ///
    /// - Throws: `storage` or `readOnly` if the disk or its permissions prevent an answer.
    func hasFolder(forDigestByte byte: UInt8) throws(AvatarStoreError) -> Bool {
        if seen.contains(byte) { return true }
        let name = FilePath.folder(forDigestByte: byte)
        do throws(SystemCallError) {
            guard let status = try fileSystem.status(of: name, in: descriptor), status.isFolder else { return false }
        } catch {
            throw SystemCallError(error.call, path + "/" + name, number: error.number).storeError
        }
        seen.insert(byte)
        return true
    }

    /// Opens `path` as a directory for a store's data; creates it and its parents if they are missing. Directories it
    /// creates are durable on return.
    ///
    /// - Parameters:
    ///   - path: An absolute path.
    ///   - fileSystem: The file system of the path.
    ///   - mode: The permissions of directories it creates, such as `0o700`.
    ///   - allowsNetwork: Whether a network file system is accepted, as for a backup. Default: false.
    /// - Throws: `unusableRoot` for a symbolic link, a file or a network file system; `readOnly`, `diskFull` or
    ///   `storage` if the directory cannot be created or opened.
    package static func makeRoot(
        _ path: String,
        on fileSystem: any FileSystem,
        mode: UInt32,
        allowsNetwork: Bool = false
    ) throws(AvatarStoreError) -> Directory {
        do throws(SystemCallError) {
            try makeWithParents(path, mode: mode, on: fileSystem)
        } catch {
            throw error.number == ENOTDIR || error.number == EEXIST ? notADirectory(path) : error.storeError
        }
        return try openRoot(path, on: fileSystem, allowsNetwork: allowsNetwork)
    }

    /// Opens `path` as a directory for a store's data, as `makeRoot` does, but creates nothing.
    ///
    /// - Throws: `unusableRoot` as `makeRoot`; `storage` or `readOnly` if it is missing or cannot be opened.
    package static func openRoot(
        _ path: String,
        on fileSystem: any FileSystem,
        allowsNetwork: Bool = false
    ) throws(AvatarStoreError) -> Directory {
        var information = stat()
        guard fileSystem.fstatat(AT_FDCWD, path, &information, AT_SYMLINK_NOFOLLOW) == 0 else {
            throw SystemCallError("open", path).storeError
        }
        guard information.st_mode & S_IFMT != S_IFLNK else { throw isLink(path) }
        guard information.isFolder else { throw notADirectory(path) }
        let directory = try withStoreErrors { () throws(SystemCallError) in
            try Directory(opening: path, on: fileSystem)
        }
        guard allowsNetwork || fileSystem.isOnNetwork(directory.descriptor) != 1 else {
            throw AvatarStoreError(
                .unusableRoot,
                "\"\(path)\" is on a network file system, where locks and synchronization are not reliable. Use a local disk."
            )
        }
        return directory
    }

    /// Opens `path` as `openRoot` does; a missing directory counts as an empty one.
    ///
    /// - Throws: as `openRoot`.
    package static func openRootOrEmpty(
        _ path: String,
        on fileSystem: any FileSystem,
        allowsNetwork: Bool = false
    ) throws(AvatarStoreError) -> Directory {
        guard !fileSystem.exists(path) else { return try openRoot(path, on: fileSystem, allowsNetwork: allowsNetwork) }
        return try withStoreErrors { () throws(SystemCallError) in try Directory(missing: path, on: fileSystem) }
    }

    /// The error for a path with a symbolic link in the place of the directory.
    static func isLink(_ path: String) -> AvatarStoreError {
        AvatarStoreError(.unusableRoot, "\"\(path)\" is a symbolic link; it must be a directory.")
    }

    /// The error for a path where a file is in the way.
    static func notADirectory(_ path: String) -> AvatarStoreError {
        AvatarStoreError(.unusableRoot, "\"\(path)\" must be a directory, but it or one of its parents is a file.")
    }

    /// Makes a directory and its missing parents, each with a durable name.
    private static func makeWithParents(
        _ path: String,
        mode: UInt32,
        on fileSystem: any FileSystem
    ) throws(SystemCallError) {
        if fileSystem.exists(path) { return }
        if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex {
            try makeWithParents(String(path[..<slash]), mode: mode, on: fileSystem)
        }
        _ = try fileSystem.makeDirectory(path, in: AT_FDCWD, mode: mode)
        // Files in it are only as durable as its own name.
        try synchronizeParent(of: path, on: fileSystem)
    }

    /// Makes the name of the directory durable, and those of its parents: a process may have been killed before it could.
    ///
    /// - Throws: `EIO` only. A parent that this user may not read, or that cannot be synchronized, is one that others have made.
    package func synchronizeNames() throws(SystemCallError) {
        var path = self.path[...]
        while let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
            do throws(SystemCallError) {
                try Self.synchronizeParent(of: String(path), on: fileSystem)
            } catch {
                if error.number == EIO { throw error }
            }
            path = path[..<slash]
            if path.isEmpty { break }
        }
    }

    /// Makes the name of a directory durable.
    static func synchronizeParent(of path: String, on fileSystem: any FileSystem) throws(SystemCallError) {
        let parent = try fileSystem.open(path + "/..", flags: O_RDONLY | O_DIRECTORY)
        defer { fileSystem.close(parent) }
        // Some file systems do not synchronize directories, and need not.
        guard fileSystem.fsync(parent) == 0 || errno == EINVAL else { throw SystemCallError("fsync", path + "/..") }
    }

    /// Opens `path` relative to the directory, as `openat` does. No component of `path` may be a symbolic link.
    ///
    /// - Parameters:
    ///   - path: A relative path that does not lead out of the directory.
    ///   - flags: The flags of `openat`.
    /// - Returns: a descriptor, which the caller closes.
    /// - Throws: `ELOOP` for a symbolic link, `EXDEV` for a path that leads out of the directory.
    package func openBeneath(_ path: String, _ flags: Int32) throws(SystemCallError) -> Int32 {
        let file = fileSystem.openBeneath(descriptor, path, flags)
        guard file >= 0 else { throw SystemCallError("open", self.path + "/" + path) }
        return file
    }

    /// Calls `body` with an open descriptor of the folder that holds `path`, and the file's name in it. No component of
    /// the folder's path may be a symbolic link, so that a call on the name cannot leave the directory.
    ///
    /// - Throws: `EXDEV` for a path that leads out of the directory, `ELOOP` for a symbolic link, any error of `body`;
    ///   the error names the whole path.
    func withFolder<Result>(
        of path: String,
        _ body: (_ folder: Int32, _ name: String) throws(SystemCallError) -> Result
    ) throws(SystemCallError) -> Result {
        guard FilePath.staysInside(path) else {
            throw SystemCallError("open", self.path + "/" + path, number: EXDEV)
        }
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return try body(descriptor, path) }
        let folder = try openBeneath(String(path[..<slash]), O_RDONLY | O_DIRECTORY)
        defer { fileSystem.close(folder) }
        do throws(SystemCallError) {
            return try body(folder, String(path[path.utf8.index(after: slash)...]))
        } catch {
            // The error of `body` has the name only; report the whole path.
            throw SystemCallError(error.call, self.path + "/" + path, number: error.number)
        }
    }

    /// The names in the directory, without `.` and `..`, in no particular order.
    ///
    /// - Throws: `SystemCallError` if the directory cannot be opened again.
    package func names() throws(SystemCallError) -> [String] {
        guard !isMissing else { return [] }
        guard let names = fileSystem.names(in: descriptor) else { throw SystemCallError("open", path) }
        return names
    }

    /// Whether this directory and `other` are in one file system.
    ///
    /// - Throws: `storage` or `readOnly` if the system refuses to tell.
    package func isInFileSystem(of other: Directory) throws(AvatarStoreError) -> Bool {
        var (mine, others) = (stat(), stat())
        guard fileSystem.fstat(descriptor, &mine) == 0 else { throw SystemCallError("stat", path).storeError }
        guard other.fileSystem.fstat(other.descriptor, &others) == 0 else {
            throw SystemCallError("stat", other.path).storeError
        }
        return mine.st_dev == others.st_dev
    }

    /// The free bytes of the directory's file system that are available to this user.
    ///
    /// The setting `min-free` is compared with them, and so is the room that rewriting an index needs.
    ///
    /// - Throws: `storage` or `readOnly` if the system refuses to tell.
    package func freeBytes() throws(AvatarStoreError) -> Int {
        var information = statvfs()
        guard fileSystem.fstatvfs(descriptor, &information) == 0 else {
            throw SystemCallError("statvfs", path).storeError
        }
        return information.freeBytes
    }

    /// Removes the folder `name` and everything in it; missing files are no error. Removes a symbolic link itself, not
    /// its target.
    ///
    /// Not durable on return: it is for cleanups, which the next process repeats.
    ///
    /// - Throws: `SystemCallError` if an entry cannot be removed; the others may be gone by then.
    package func removeFolder(_ name: String) throws(SystemCallError) {
        let folder: Directory
        do throws(SystemCallError) {
            folder = try Directory(opening: path + "/" + name, on: fileSystem)
        } catch {
            if error.number == ENOENT { return }
            // A file or a link, made by another program.
            guard error.number == ENOTDIR || error.number == ELOOP else { throw error }
            return try removeFile(name)
        }
        var subfolders = try folder.removeFiles()
        while let subfolder = subfolders.popLast() {
            // Its subfolders move up here first, so that any depth needs at most two open folders.
            subfolders += try folder.flatten(subfolder)
        }
        guard fileSystem.unlinkat(descriptor, name, AT_REMOVEDIR) == 0 || errno == ENOENT else {
            throw SystemCallError("rmdir", folder.path)
        }
    }

    /// Deletes the file or link `name` in this directory. A missing one is no error.
    private func removeFile(_ name: String) throws(SystemCallError) {
        guard fileSystem.unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
            throw SystemCallError("unlink", path + "/" + name)
        }
    }

    /// Removes everything but the folders.
    ///
    /// - Returns: the names of the folders.
    private func removeFiles() throws(SystemCallError) -> [String] {
        var folders: [String] = []
        for name in try names() {
            do throws(SystemCallError) {
                try removeFile(name)
            } catch {
                // Linux reports EISDIR for a folder, other systems EPERM, which a file can cause too.
                guard error.number == EISDIR || error.number == EPERM, isFolder(name) else { throw error }
                folders.append(name)
            }
        }
        return folders
    }

    /// Whether `name` is a folder itself. A symbolic link to a folder is not: it is deleted, not followed.
    private func isFolder(_ name: String) -> Bool {
        var information = stat()
        return fileSystem.fstatat(descriptor, name, &information, AT_SYMLINK_NOFOLLOW) == 0 && information.isFolder
    }

    /// Removes the folder `name` and moves its subfolders into this directory, under random names.
    ///
    /// - Returns: those names.
    private func flatten(_ name: String) throws(SystemCallError) -> [String] {
        let folder = try Directory(opening: path + "/" + name, on: fileSystem)
        var raised: [String] = []
        for subfolder in try folder.removeFiles() {
            let target = Hexadecimal.random64()
            guard fileSystem.renameat(folder.descriptor, subfolder, descriptor, target) == 0 else {
                throw SystemCallError("rename", folder.path + "/" + subfolder)
            }
            raised.append(target)
        }
        guard fileSystem.unlinkat(descriptor, name, AT_REMOVEDIR) == 0 || errno == ENOENT else {
            throw SystemCallError("rmdir", folder.path)
        }
        return raised
    }
}

/// A lock-free set of the 256 two-digit folders, one bit each.
///
/// All operations are relaxed: a bit that another thread does not see yet costs that thread one more `fstatat`.
private struct SeenFolders: ~Copyable {
    /// The folders `00` to `3f`, the lowest bit first.
    private let first = Atomic<UInt64>(0)
    /// The folders `40` to `7f`.
    private let second = Atomic<UInt64>(0)
    /// The folders `80` to `bf`.
    private let third = Atomic<UInt64>(0)
    /// The folders `c0` to `ff`.
    private let fourth = Atomic<UInt64>(0)

    /// Whether the folder of digests that begin with `byte` is in the set.
    func contains(_ byte: UInt8) -> Bool {
        let bits =
            switch byte >> 6 {
            case 0: first.load(ordering: .relaxed)
            case 1: second.load(ordering: .relaxed)
            case 2: third.load(ordering: .relaxed)
            default: fourth.load(ordering: .relaxed)
            }
        return bits & Self.bit(byte) != 0
    }

    /// Adds the folder of digests that begin with `byte`.
    func insert(_ byte: UInt8) {
        switch byte >> 6 {
        case 0: first.bitwiseOr(Self.bit(byte), ordering: .relaxed)
        case 1: second.bitwiseOr(Self.bit(byte), ordering: .relaxed)
        case 2: third.bitwiseOr(Self.bit(byte), ordering: .relaxed)
        default: fourth.bitwiseOr(Self.bit(byte), ordering: .relaxed)
        }
    }

    /// Empties the set.
    func forgetAll() {
        first.store(0, ordering: .relaxed)
        second.store(0, ordering: .relaxed)
        third.store(0, ordering: .relaxed)
        fourth.store(0, ordering: .relaxed)
    }

    /// The bit of a folder among the 64 that share a word.
    private static func bit(_ byte: UInt8) -> UInt64 { 1 << UInt64(byte & 63) }
}
