package import AvatarFoundation
import CAvatarSystem

/// The calls by which a store uses files, as POSIX has them: one place through which every call of the store goes, so
/// that it runs as well on a disk that a test simulates.
///
/// A call that fails returns -1 (or `nil`) and sets `errno`. Directories and files are descriptors; `AT_FDCWD` stands
/// before an absolute path. Paths are relative to an open directory wherever possible: if a root is renamed or replaced
/// meanwhile, the calls still use the one that was checked when the store was opened.
///
/// Code of the store uses the methods of the extension below where they say more than a number.
package protocol FileSystem: Sendable {
    /// The VFS of SQLite that opens databases of this file system; `nil`: SQLite's own.
    var databaseVFS: String? { get }

    /// `openat` with `O_CLOEXEC`.
    func openat(_ directory: Int32, _ path: String, _ flags: Int32, _ mode: UInt32) -> Int32
    /// Opens what lies at the relative `path` below `directory`, which no call makes. No part of the path may be a
    /// symbolic link (`ELOOP`, `ENOTDIR`) or lead out of it (`EXDEV`): `openat2` with `RESOLVE_BENEATH`.
    func openBeneath(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32
    /// `close`.
    @discardableResult
    func close(_ file: Int32) -> Int32
    /// `pread`. It may read less than asked for.
    func pread(_ file: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int, _ offset: Int) -> Int
    /// `pwritev` of one buffer, so that a trace of system calls tells these writes from SQLite's and from those to pipes
    /// between threads. It may write less than asked for.
    func pwrite(_ file: Int32, _ buffer: UnsafeRawPointer?, _ count: Int, _ offset: Int) -> Int
    /// `ftruncate`.
    @discardableResult
    func ftruncate(_ file: Int32, _ length: Int) -> Int32
    /// Makes a file or a directory durable: `fsync`, on Apple platforms `F_FULLFSYNC`.
    @discardableResult
    func fsync(_ file: Int32) -> Int32
    /// Makes every change to the file system that holds `file` durable: `syncfs`.
    func syncfs(_ file: Int32) -> Int32
    /// Lets the system begin to write the bytes of a file, without waiting for it. A hint: `fsync` alone makes them durable.
    func startWriting(_ file: Int32)
    /// `renameat`: replaces a file at `target` in one step. The name is durable once its directory is synchronized.
    func renameat(_ sourceDirectory: Int32, _ source: String, _ targetDirectory: Int32, _ target: String) -> Int32
    /// `linkat`: adds a second name for the same file. Symbolic links are not followed. `EEXIST` if `target` exists,
    /// `EXDEV` between two file systems.
    @discardableResult
    func linkat(_ sourceDirectory: Int32, _ source: String, _ targetDirectory: Int32, _ target: String) -> Int32
    /// `unlinkat`, with `AT_REMOVEDIR` for an empty folder. Readers that have a file open keep its bytes.
    @discardableResult
    func unlinkat(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32
    /// `mkdirat`. The umask of the process may take permissions away from `mode`.
    func mkdirat(_ directory: Int32, _ path: String, _ mode: UInt32) -> Int32
    /// `fstat`.
    func fstat(_ file: Int32, _ information: inout stat) -> Int32
    /// `fstatat`, with `AT_SYMLINK_NOFOLLOW` for a symbolic link itself.
    func fstatat(_ directory: Int32, _ path: String, _ information: inout stat, _ flags: Int32) -> Int32
    /// `fstatvfs`.
    func fstatvfs(_ file: Int32, _ information: inout statvfs) -> Int32
    /// `faccessat`: whether this process may use the path as `mode` says (`R_OK`, `W_OK`, `X_OK`, `F_OK`).
    func faccessat(_ directory: Int32, _ path: String, _ mode: Int32) -> Int32
    /// The names in an open directory, without `.` and `..`, in no particular order.
    func names(in directory: Int32) -> [String]?
    /// `readlinkat`: the bytes of the path that a symbolic link holds.
    func readlinkat(_ directory: Int32, _ path: String) -> [UInt8]?
    /// `realpath`: the absolute path without symbolic links, `.` and `..`.
    func realpath(_ path: String) -> String?
    /// `flock`.
    func lock(_ file: Int32, _ operation: Int32) -> Int32
    /// Takes the byte at `offset` for this opening of the file alone. 1: taken; 0: another opening has it.
    func lockByte(_ file: Int32, at offset: Int) -> Int32
    /// Gives the byte at `offset` back.
    @discardableResult
    func unlockByte(_ file: Int32, at offset: Int) -> Int32
    /// Sets the extended attribute `name` of the user's namespace; takes it away if `count` is 0.
    func setAttribute(_ file: Int32, _ name: String, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int32
    /// Reads the extended attribute `name`. Its length.
    func attribute(_ file: Int32, _ name: String, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int
    /// `futimens`: the times of last access and change.
    func futimens(_ file: Int32, _ access: timespec, _ change: timespec) -> Int32
    /// `fchmod`.
    func fchmod(_ file: Int32, _ mode: UInt32) -> Int32
    /// 1: the open file lies on a network file system; 0: on a local one; -1: `errno` says why it is not known.
    func isOnNetwork(_ file: Int32) -> Int32
}

extension stat {
    /// Whether it is a regular file.
    package var isFile: Bool { st_mode & S_IFMT == S_IFREG }

    /// Whether it is a folder.
    package var isFolder: Bool { st_mode & S_IFMT == S_IFDIR }
}

extension statvfs {
    /// The free bytes of the file system that are available to this user.
    package var freeBytes: Int {
        // Some file systems report "unlimited" as a number of blocks that overflows in bytes.
        let (bytes, overflow) = Int(clamping: f_bavail).multipliedReportingOverflow(by: Int(clamping: f_frsize))
        return overflow ? .max : bytes
    }
}

extension FileSystem {
    /// Opens `path` in `directory`.
    package func open(
        _ path: String,
        in directory: Int32 = AT_FDCWD,
        flags: Int32,
        mode: UInt32 = 0
    ) throws(SystemCallError) -> Int32 {
        let file = openat(directory, path, flags, mode)
        guard file >= 0 else { throw SystemCallError("open", path) }
        return file
    }

    /// Whether a file, a directory or a symbolic link is at `path`.
    package func exists(_ path: String) -> Bool {
        var information = stat()
        return fstatat(AT_FDCWD, path, &information, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// The status of `path` in `directory`; `nil` if it is not there. A link at its end is not followed.
    ///
    /// An error of the disk is no sign that a file is missing, so it is thrown.
    package func status(of path: String, in directory: Int32 = AT_FDCWD) throws(SystemCallError) -> stat? {
        var information = stat()
        guard fstatat(directory, path, &information, AT_SYMLINK_NOFOLLOW) != 0 else { return information }
        let error = SystemCallError("stat", path)
        if error.isNotHeld { return nil }
        throw error
    }

    /// The status of an open file.
    package func status(of file: Int32, named path: String) throws(SystemCallError) -> stat {
        var information = stat()
        guard fstat(file, &information) == 0 else { throw SystemCallError("stat", path) }
        return information
    }

    /// The names in the folder `path`, as `names(in:)`; `nil` if it cannot be opened.
    package func names(ofFolder path: String) -> [String]? {
        let folder = openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0)
        guard folder >= 0 else { return nil }
        defer { close(folder) }
        return names(in: folder)
    }

    /// Writes all of `bytes` at `offset`: repeats the call until all are written, also after a signal (`EINTR`).
    package func write(
        _ bytes: UnsafeRawBufferPointer,
        to file: Int32,
        at offset: Int,
        named path: String
    ) throws(SystemCallError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let slice = UnsafeRawBufferPointer(rebasing: rest)
            let count = pwrite(file, slice.baseAddress, slice.count, offset + rest.startIndex)
            if count < 0 {
                if errno == EINTR { continue }
                throw SystemCallError("write", path)
            }
            rest = rest.dropFirst(count)
        }
    }

    /// Creates the file `name` with `bytes` in `folder`, and deletes it again if it cannot be written.
    ///
    /// - Parameters:
    ///   - path: The name of the file in an error of writing.
    ///   - finish: Called with the open file once it has all bytes.
    package func create(
        _ name: String,
        of bytes: [UInt8],
        in folder: Int32,
        mode: UInt32,
        named path: String,
        finish: (Int32) -> Void = { _ in }
    ) throws(SystemCallError) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        let file = try open(name, in: folder, flags: flags, mode: mode)
        defer { close(file) }
        do throws(SystemCallError) {
            try bytes.withUnsafeBufferPointer { (elements) throws(SystemCallError) in
                try write(UnsafeRawBufferPointer(elements), to: file, at: 0, named: path)
            }
        } catch {
            unlinkat(folder, name, 0)
            throw error
        }
        finish(file)
    }

    /// Makes a file or directory durable.
    package func synchronize(_ file: Int32, named path: String) throws(SystemCallError) {
        guard fsync(file) == 0 else { throw SystemCallError("fsync", path) }
    }

    /// Writes the bytes of a file once more over themselves, and makes them durable.
    ///
    /// After a synchronization that failed, the system may take the file's bytes for written, though they are not: they can
    /// be read until the next start, and no later synchronization writes them (fsync(2), `EIO`). No other process must write
    /// to the file meanwhile.
    ///
    /// - Parameter inspect: called with all bytes, piece by piece: the system may also have dropped them, and read the disk.
    package func rewrite(
        _ path: String,
        in directory: Int32 = AT_FDCWD,
        inspecting inspect: (UnsafeRawBufferPointer) -> Void = { _ in }
    ) throws(SystemCallError) {
        let file = try open(path, in: directory, flags: O_RDWR | O_NOFOLLOW)
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var offset = 0
        while true {
            let count = pread(file, &buffer, buffer.count, offset)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemCallError("read", path) }
            if count == 0 { break }
            try buffer.withUnsafeBufferPointer { (elements) throws(SystemCallError) in
                let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(elements)[..<count])
                inspect(bytes)
                try write(bytes, to: file, at: offset, named: path)
            }
            offset += count
        }
        try synchronize(file, named: path)
    }

    /// `renameat`.
    package func rename(
        _ source: String,
        in sourceDirectory: Int32,
        to target: String,
        in targetDirectory: Int32
    ) throws(SystemCallError) {
        guard renameat(sourceDirectory, source, targetDirectory, target) == 0 else {
            throw SystemCallError("rename", target)
        }
    }

    /// `linkat`.
    package func link(
        _ source: String,
        in sourceDirectory: Int32,
        to target: String,
        in targetDirectory: Int32
    ) throws(SystemCallError) {
        guard linkat(sourceDirectory, source, targetDirectory, target) == 0 else {
            throw SystemCallError("link", target)
        }
    }

    /// `unlinkat`.
    package func unlink(_ path: String, in directory: Int32) throws(SystemCallError) {
        guard unlinkat(directory, path, 0) == 0 else { throw SystemCallError("unlink", path) }
    }

    /// `mkdirat`.
    ///
    /// - Returns: false if the path exists already.
    package func makeDirectory(_ path: String, in directory: Int32, mode: UInt32) throws(SystemCallError) -> Bool {
        if mkdirat(directory, path, mode) == 0 { return true }
        guard errno == EEXIST else { throw SystemCallError("mkdir", path) }
        return false
    }
}

/// The file calls of the operating system.
package struct LocalFileSystem: FileSystem {
    /// The calls have no state, so all values are alike.
    package init() {}

    package var databaseVFS: String? { nil }

    package func openat(_ directory: Int32, _ path: String, _ flags: Int32, _ mode: UInt32) -> Int32 {
        AvatarFoundation.openat(directory, path, flags | O_CLOEXEC, mode_t(mode))
    }

    package func openBeneath(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32 {
        // `withCString` avoids the copy that passing a String to C makes.
        path.withCString { avatar_open_beneath(directory, $0, flags) }
    }

    /// As `openBeneath`, component by component, as on a system without such a call. A test compares the two.
    package func openBeneathByParts(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32 {
        path.withCString { avatar_open_beneath_by_parts(directory, $0, flags) }
    }

    @discardableResult
    package func close(_ file: Int32) -> Int32 { AvatarFoundation.close(file) }

    package func pread(_ file: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int, _ offset: Int) -> Int {
        AvatarFoundation.pread(file, buffer, count, off_t(offset))
    }

    package func pwrite(_ file: Int32, _ buffer: UnsafeRawPointer?, _ count: Int, _ offset: Int) -> Int {
        var part = iovec(iov_base: UnsafeMutableRawPointer(mutating: buffer), iov_len: count)
        return pwritev(file, &part, 1, off_t(offset))
    }

    @discardableResult
    package func ftruncate(_ file: Int32, _ length: Int) -> Int32 { AvatarFoundation.ftruncate(file, off_t(length)) }

    /// On Apple platforms, `fsync` alone leaves bytes in the cache of the drive. It is the fallback where a file system
    /// lacks `F_FULLFSYNC`.
    @discardableResult
    package func fsync(_ file: Int32) -> Int32 {
        #if canImport(Darwin)
        fcntl(file, F_FULLFSYNC) == 0 ? 0 : AvatarFoundation.fsync(file)
        #else
        AvatarFoundation.fsync(file)
        #endif
    }

    package func syncfs(_ file: Int32) -> Int32 { avatar_sync_file_system(file) }

    package func startWriting(_ file: Int32) { avatar_start_writing(file) }

    package func renameat(
        _ sourceDirectory: Int32,
        _ source: String,
        _ targetDirectory: Int32,
        _ target: String
    ) -> Int32 {
        AvatarFoundation.renameat(sourceDirectory, source, targetDirectory, target)
    }

    @discardableResult
    package func linkat(
        _ sourceDirectory: Int32,
        _ source: String,
        _ targetDirectory: Int32,
        _ target: String
    ) -> Int32 {
        AvatarFoundation.linkat(sourceDirectory, source, targetDirectory, target, 0)
    }

    @discardableResult
    package func unlinkat(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32 {
        AvatarFoundation.unlinkat(directory, path, flags)
    }

    package func mkdirat(_ directory: Int32, _ path: String, _ mode: UInt32) -> Int32 {
        AvatarFoundation.mkdirat(directory, path, mode_t(mode))
    }

    package func fstat(_ file: Int32, _ information: inout stat) -> Int32 { AvatarFoundation.fstat(file, &information) }

    package func fstatat(_ directory: Int32, _ path: String, _ information: inout stat, _ flags: Int32) -> Int32 {
        path.withCString { AvatarFoundation.fstatat(directory, $0, &information, flags) }
    }

    package func fstatvfs(_ file: Int32, _ information: inout statvfs) -> Int32 {
        AvatarFoundation.fstatvfs(file, &information)
    }

    package func faccessat(_ directory: Int32, _ path: String, _ mode: Int32) -> Int32 {
        AvatarFoundation.faccessat(directory, path, mode, 0)
    }

    /// Opens the directory a second time: reading moves the position, which duplicates of a descriptor share.
    package func names(in directory: Int32) -> [String]? {
        let copy = AvatarFoundation.openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { return nil }
        guard let stream = fdopendir(copy) else {
            let number = errno
            AvatarFoundation.close(copy)
            errno = number
            return nil
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    package func readlinkat(_ directory: Int32, _ path: String) -> [UInt8]? {
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = AvatarFoundation.readlinkat(directory, path, &target, target.count)
        return count < 0 ? nil : Array(target[..<count])
    }

    package func realpath(_ path: String) -> String? {
        guard let resolved = AvatarFoundation.realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    package func lock(_ file: Int32, _ operation: Int32) -> Int32 { flock(file, operation) }

    package func lockByte(_ file: Int32, at offset: Int) -> Int32 { avatar_lock_byte(file, Int64(offset)) }

    @discardableResult
    package func unlockByte(_ file: Int32, at offset: Int) -> Int32 { avatar_unlock_byte(file, Int64(offset)) }

    package func setAttribute(_ file: Int32, _ name: String, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int32 {
        avatar_set_attribute(file, name, bytes, count)
    }

    package func attribute(_ file: Int32, _ name: String, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
        avatar_get_attribute(file, name, buffer, count)
    }

    package func futimens(_ file: Int32, _ access: timespec, _ change: timespec) -> Int32 {
        AvatarFoundation.futimens(file, [access, change])
    }

    package func fchmod(_ file: Int32, _ mode: UInt32) -> Int32 { AvatarFoundation.fchmod(file, mode_t(mode)) }

    package func isOnNetwork(_ file: Int32) -> Int32 { avatar_is_on_network_file_system(file) }
}
