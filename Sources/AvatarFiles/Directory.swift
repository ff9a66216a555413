package import AvatarCore
import CAvatarSystem
import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// An open directory that the store works in. Closed with its last reference.
package final class Directory: Sendable {
    package let path: String
    private let current: Atomic<Int32>

    /// The open directory.
    package var descriptor: Int32 { current.load(ordering: .relaxed) }

    /// Opens `path`, which must be a directory and no symbolic link.
    package init(opening path: String) throws(SystemCallError) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemCallError("open", path) }
        self.path = path
        current = Atomic(descriptor)
    }

    deinit {
        close(descriptor)
    }

    /// Makes the directory again if somebody removed it, as purging a cache may.
    ///
    /// The descriptor of the removed one stays open: others may be using it in this moment.
    package func restoreIfRemoved(mode: UInt32) throws(SystemCallError) {
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_nlink == 0 else { return }
        try Self.makeWithParents(path, mode: mode)
        let opened = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard opened >= 0 else { throw SystemCallError("open", path) }
        current.store(opened, ordering: .relaxed)
    }

    /// Opens `path` as a place for a store's data, and makes it and its parents if they are not there.
    ///
    /// - Parameter allowsNetwork: for a store that is only kept there, such as a backup.
    /// - Throws: `unusableRoot` for a symbolic link, a file, or a network file system; `readOnly` or `diskFull` if it
    ///   cannot be made.
    package static func makeRoot(
        _ path: String,
        mode: UInt32,
        allowsNetwork: Bool = false
    ) throws(AvatarStoreError) -> Directory {
        do throws(SystemCallError) {
            try makeWithParents(path, mode: mode)
        } catch {
            throw error.number == ENOTDIR || error.number == EEXIST ? notADirectory(path) : error.storeError
        }
        return try openRoot(path, allowsNetwork: allowsNetwork)
    }

    /// Opens `path` as a place for a store's data.
    package static func openRoot(
        _ path: String,
        allowsNetwork: Bool = false
    ) throws(AvatarStoreError) -> Directory {
        var information = stat()
        guard lstat(path, &information) == 0 else { throw SystemCallError("open", path).storeError }
        let kind = information.st_mode & S_IFMT
        guard kind != S_IFLNK else {
            throw AvatarStoreError(.unusableRoot, "\(path) is a symbolic link; a store needs a directory of its own.")
        }
        guard kind == S_IFDIR else { throw notADirectory(path) }
        let directory: Directory
        do throws(SystemCallError) {
            directory = try Directory(opening: path)
        } catch {
            throw error.storeError
        }
        guard allowsNetwork || avatar_is_on_network_file_system(directory.descriptor) != 1 else {
            throw AvatarStoreError(
                .unusableRoot,
                "\(path) lies on a network file system; locks and durability cannot be relied on there."
            )
        }
        return directory
    }

    /// Whether there is anything at `path`.
    package static func exists(_ path: String) -> Bool {
        var information = stat()
        return lstat(path, &information) == 0
    }

    private static func notADirectory(_ path: String) -> AvatarStoreError {
        AvatarStoreError(.unusableRoot, "\(path) is not a directory, or one of its parents is a file.")
    }

    private static func makeWithParents(_ path: String, mode: UInt32) throws(SystemCallError) {
        var information = stat()
        if lstat(path, &information) == 0 { return }
        if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex {
            try makeWithParents(String(path[..<slash]), mode: mode)
        }
        guard mkdir(path, mode_t(mode)) == 0 || errno == EEXIST else { throw SystemCallError("mkdir", path) }
        // What will lie in it is only as durable as its own name.
        try synchronizeParent(of: path)
    }

    private static func synchronizeParent(of path: String) throws(SystemCallError) {
        let parent = open(path + "/..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 else { throw SystemCallError("open", path + "/..") }
        defer { close(parent) }
        // Some file systems have no such call for a directory, and need none.
        guard fsync(parent) == 0 || errno == EINVAL else { throw SystemCallError("fsync", path + "/..") }
    }

    /// The names in the directory, `.` and `..` apart.
    package func names() throws(SystemCallError) -> [String] {
        // A descriptor of its own: reading moves the position, which copies of a descriptor share.
        let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0, let stream = fdopendir(copy) else { throw SystemCallError("open", path) }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            if let name = Self.name(of: entry) { names.append(name) }
        }
        return names
    }

    /// What an entry of a directory is called; `nil` for `.` and `..`.
    static func name(of entry: UnsafeMutablePointer<dirent>) -> String? {
        let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        return name == "." || name == ".." ? nil : name
    }

    /// The bytes that the file system of the directory has left for this user.
    package func freeBytes() throws(AvatarStoreError) -> Int {
        var information = statvfs()
        guard fstatvfs(descriptor, &information) == 0 else { throw SystemCallError("statvfs", path).storeError }
        // Some file systems say "without end" by a number that is none of bytes.
        let (bytes, overflow) = Int(clamping: information.f_bavail)
            .multipliedReportingOverflow(by: Int(clamping: information.f_frsize))
        return overflow ? .max : bytes
    }

    /// Removes the folder `name` and the files in it; what is gone already is fine.
    package func removeFolder(_ name: String) throws(SystemCallError) {
        let folder: Directory
        do throws(SystemCallError) {
            folder = try Directory(opening: path + "/" + name)
        } catch {
            if error.isMissing { return }
            throw error
        }
        for file in try folder.names() where unlinkat(folder.descriptor, file, 0) != 0 && errno != ENOENT {
            throw SystemCallError("unlink", folder.path + "/" + file)
        }
        guard unlinkat(descriptor, name, AT_REMOVEDIR) == 0 || errno == ENOENT else {
            throw SystemCallError("rmdir", folder.path)
        }
    }
}
