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
    private let seen = SeenFolders()

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
        seen.forgetAll()
    }

    /// Whether the two-digit folder for digests that begin with `byte` is there, and no symbolic link.
    ///
    /// Asked once while the directory is open. A link can take the folder's place after any such question, so what reads
    /// or writes a file opens the folder without following links, each time.
    func hasFolder(forDigestByte byte: UInt8) -> Bool {
        if seen.contains(byte) { return true }
        var information = stat()
        let name = FilePath.folder(forDigestByte: byte)
        guard fstatat(descriptor, name, &information, AT_SYMLINK_NOFOLLOW) == 0,
            information.st_mode & S_IFMT == S_IFDIR
        else { return false }
        seen.insert(byte)
        return true
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

    /// Opens what lies at `path` below the directory, as `openat` with `flags`; no part of `path` may be a symbolic link.
    ///
    /// - Parameter inOneCall: tests turn this off, to see that systems which cannot do so come to the same.
    package func openBeneath(_ path: String, _ flags: Int32, inOneCall: Bool = true) throws(SystemCallError) -> Int32 {
        // A string that is handed to C directly is copied first.
        let file = path.withCString {
            inOneCall
                ? avatar_open_beneath(descriptor, $0, flags) : avatar_open_beneath_by_parts(descriptor, $0, flags)
        }
        guard file >= 0 else { throw SystemCallError("open", self.path + "/" + path) }
        return file
    }

    /// Lends the folder below the directory in which the file at `path` lies, and the file's name there. No part of the
    /// folder's path may be a symbolic link, so what is done to the name is done in the directory.
    func withFolder<Result>(
        of path: String,
        _ body: (_ folder: Int32, _ name: String) throws(SystemCallError) -> Result
    ) throws(SystemCallError) -> Result {
        guard FilePath.staysInside(path) else {
            throw SystemCallError("open", self.path + "/" + path, number: EXDEV)
        }
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return try body(descriptor, path) }
        let folder = try openBeneath(String(path[..<slash]), O_RDONLY | O_DIRECTORY)
        defer { close(folder) }
        do throws(SystemCallError) {
            return try body(folder, String(path[path.utf8.index(after: slash)...]))
        } catch {
            // The name alone says too little.
            throw SystemCallError(error.call, self.path + "/" + path, number: error.number)
        }
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

    /// Removes the folder `name` and everything in it; what is gone already is fine. A symbolic link goes, its target
    /// stays.
    package func removeFolder(_ name: String) throws(SystemCallError) {
        let folder: Directory
        do throws(SystemCallError) {
            folder = try Directory(opening: path + "/" + name)
        } catch {
            if error.number == ENOENT { return }
            // A file or a link: a process that is no part of the store put it there.
            guard error.number == ENOTDIR || error.number == ELOOP else { throw error }
            return try removeFile(name)
        }
        var subfolders = try folder.removeFiles()
        while let subfolder = subfolders.popLast() {
            // Its content comes up here first, so that no depth needs more than two open folders.
            subfolders += try folder.flatten(subfolder)
        }
        guard unlinkat(descriptor, name, AT_REMOVEDIR) == 0 || errno == ENOENT else {
            throw SystemCallError("rmdir", folder.path)
        }
    }

    private func removeFile(_ name: String) throws(SystemCallError) {
        guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
            throw SystemCallError("unlink", path + "/" + name)
        }
    }

    /// Removes everything but folders.
    ///
    /// - Returns: the names of the folders.
    private func removeFiles() throws(SystemCallError) -> [String] {
        var folders: [String] = []
        for name in try names() {
            do throws(SystemCallError) {
                try removeFile(name)
            } catch {
                // Linux has the first number for a folder, other systems the second, which a file may have too.
                guard error.number == EISDIR || error.number == EPERM, isFolder(name) else { throw error }
                folders.append(name)
            }
        }
        return folders
    }

    private func isFolder(_ name: String) -> Bool {
        var information = stat()
        return fstatat(descriptor, name, &information, AT_SYMLINK_NOFOLLOW) == 0
            && information.st_mode & S_IFMT == S_IFDIR
    }

    /// Removes the folder `name`; the folders in it get names in this one.
    ///
    /// - Returns: those names.
    private func flatten(_ name: String) throws(SystemCallError) -> [String] {
        let folder = try Directory(opening: path + "/" + name)
        var raised: [String] = []
        for subfolder in try folder.removeFiles() {
            let target = Hexadecimal.random64()
            guard renameat(folder.descriptor, subfolder, descriptor, target) == 0 else {
                throw SystemCallError("rename", folder.path + "/" + subfolder)
            }
            raised.append(target)
        }
        guard unlinkat(descriptor, name, AT_REMOVEDIR) == 0 || errno == ENOENT else {
            throw SystemCallError("rmdir", folder.path)
        }
        return raised
    }
}

/// A set of the 256 two-digit folders that takes no lock.
private struct SeenFolders: ~Copyable {
    private let first = Atomic<UInt64>(0)
    private let second = Atomic<UInt64>(0)
    private let third = Atomic<UInt64>(0)
    private let fourth = Atomic<UInt64>(0)

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

    func insert(_ byte: UInt8) {
        switch byte >> 6 {
        case 0: first.bitwiseOr(Self.bit(byte), ordering: .relaxed)
        case 1: second.bitwiseOr(Self.bit(byte), ordering: .relaxed)
        case 2: third.bitwiseOr(Self.bit(byte), ordering: .relaxed)
        default: fourth.bitwiseOr(Self.bit(byte), ordering: .relaxed)
        }
    }

    func forgetAll() {
        first.store(0, ordering: .relaxed)
        second.store(0, ordering: .relaxed)
        third.store(0, ordering: .relaxed)
        fourth.store(0, ordering: .relaxed)
    }

    private static func bit(_ byte: UInt8) -> UInt64 { 1 << UInt64(byte & 63) }
}
