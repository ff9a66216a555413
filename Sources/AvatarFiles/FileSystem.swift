package import AvatarCore

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The file calls that publish and delete. A protocol, so that tests can make single calls fail.
///
/// Paths are relative to an open directory: if a root is renamed or replaced meanwhile, the calls still use the one
/// that was checked when the store was opened.
package protocol FileSystem: Sendable {
    /// `openat` with `O_CLOEXEC`.
    func open(_ path: String, in directory: Int32, flags: Int32, mode: UInt32) throws(SystemCallError) -> Int32
    /// Writes all of `bytes` at `offset`. Uses `pwritev`, so that a trace of system calls tells these writes from
    /// SQLite's and from those to pipes between threads.
    func write(
        _ bytes: UnsafeRawBufferPointer,
        to file: Int32,
        at offset: Int,
        named path: String
    ) throws(SystemCallError)
    /// Makes a file or directory durable: `fsync`, on Apple platforms `F_FULLFSYNC`.
    func synchronize(_ file: Int32, named path: String) throws(SystemCallError)
    /// `renameat`.
    func rename(
        _ source: String,
        in sourceDirectory: Int32,
        to target: String,
        in targetDirectory: Int32
    ) throws(SystemCallError)
    /// `linkat`: adds a second name for the same file. Symbolic links are not followed.
    func link(
        _ source: String,
        in sourceDirectory: Int32,
        to target: String,
        in targetDirectory: Int32
    ) throws(SystemCallError)
    /// `unlinkat`.
    func unlink(_ path: String, in directory: Int32) throws(SystemCallError)
    /// `mkdirat`.
    ///
    /// - Returns: false if the path exists already.
    func makeDirectory(_ path: String, in directory: Int32, mode: UInt32) throws(SystemCallError) -> Bool
}

/// The file calls of the operating system.
package struct LocalFileSystem: FileSystem {
    /// The calls have no state, so all values are alike.
    package init() {}

    /// Adds `O_CLOEXEC`, so that a child process does not inherit the file.
    package func open(
        _ path: String,
        in directory: Int32,
        flags: Int32,
        mode: UInt32
    ) throws(SystemCallError) -> Int32 {
        let file = openat(directory, path, flags | O_CLOEXEC, mode_t(mode))
        guard file >= 0 else { throw SystemCallError("open", path) }
        return file
    }

    /// Repeats the call until all bytes are written, because one call may write only a part. Continues after a signal
    /// (`EINTR`).
    package func write(
        _ bytes: UnsafeRawBufferPointer,
        to file: Int32,
        at offset: Int,
        named path: String
    ) throws(SystemCallError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let slice = UnsafeRawBufferPointer(rebasing: rest)
            var part = iovec(iov_base: UnsafeMutableRawPointer(mutating: slice.baseAddress), iov_len: slice.count)
            let count = pwritev(file, &part, 1, off_t(offset + rest.startIndex))
            if count < 0 {
                if errno == EINTR { continue }
                throw SystemCallError("write", path)
            }
            rest = rest.dropFirst(count)
        }
    }

    /// On Apple platforms, `fsync` alone leaves bytes in the cache of the drive. It is the fallback where a file system
    /// lacks `F_FULLFSYNC`.
    package func synchronize(_ file: Int32, named path: String) throws(SystemCallError) {
        #if canImport(Darwin)
        guard fcntl(file, F_FULLFSYNC) == 0 || fsync(file) == 0 else { throw SystemCallError("fsync", path) }
        #else
        guard fsync(file) == 0 else { throw SystemCallError("fsync", path) }
        #endif
    }

    /// Replaces a file at `target` in one step. The new name is durable once its directory is synchronized.
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

    /// Fails with `EEXIST` if `target` exists, and with `EXDEV` between two file systems.
    package func link(
        _ source: String,
        in sourceDirectory: Int32,
        to target: String,
        in targetDirectory: Int32
    ) throws(SystemCallError) {
        guard linkat(sourceDirectory, source, targetDirectory, target, 0) == 0 else {
            throw SystemCallError("link", target)
        }
    }

    /// Readers that have the file open keep its bytes.
    package func unlink(_ path: String, in directory: Int32) throws(SystemCallError) {
        guard unlinkat(directory, path, 0) == 0 else { throw SystemCallError("unlink", path) }
    }

    /// The umask of the process may take permissions away from `mode`.
    package func makeDirectory(
        _ path: String,
        in directory: Int32,
        mode: UInt32
    ) throws(SystemCallError) -> Bool {
        if mkdirat(directory, path, mode_t(mode)) == 0 { return true }
        guard errno == EEXIST else { throw SystemCallError("mkdir", path) }
        return false
    }
}

/// A failed system call.
package struct SystemCallError: Error, Sendable {
    /// The name of the call, such as `open`.
    package let call: String
    /// The path it was made on.
    package let path: String
    /// The value of `errno`.
    package let number: Int32

    /// Describes the failure of `call` on `path`. Default number: the current `errno`.
    package init(_ call: String, _ path: String, number: Int32 = errno) {
        self.call = call
        self.path = path
        self.number = number
    }

    /// Whether the path does not exist.
    package var isMissing: Bool { number == ENOENT || number == ENOTDIR }

    /// Whether the path is not in its directory: it does not exist, or leads through a symbolic link or out of it.
    var isNotHeld: Bool { isMissing || number == ELOOP || number == EXDEV }

    /// The purpose of the call in words.
    private var action: String {
        switch call {
        case "mkdir": "create the folder"
        case "rmdir": "delete the folder"
        case "unlink": "delete"
        case "fsync", "syncfs": "synchronize"
        case "stat", "statvfs": "examine"
        case "truncate", "ftruncate": "shorten"
        case "flock", "fcntl": "lock"
        case "chmod": "change the permissions of"
        case "utimensat": "set the time of"
        default: call
        }
    }

    /// The failure as a store's error: `diskFull` (no space, or over the quota), `readOnly` (permission or a read-only
    /// file system) or `storage`.
    package var storeError: AvatarStoreError {
        let reason = String(cString: strerror(number))
        switch number {
        case ENOSPC, EDQUOT:
            return AvatarStoreError(
                .diskFull,
                "The disk is full: cannot \(action) \"\(path)\" (\(reason)).",
                failure: .storage,
                underlying: self
            )
        case EROFS:
            return AvatarStoreError(
                .readOnly,
                "Cannot \(action) \"\(path)\" (\(reason)). Mount that file system for writing, then try again.",
                failure: .storage,
                underlying: self
            )
        case EACCES, EPERM:
            return AvatarStoreError(
                .readOnly,
                "The system refused to \(action) \"\(path)\" (\(reason)).",
                failure: .storage,
                underlying: self
            )
        default:
            return AvatarStoreError(
                .storage,
                "Cannot \(action) \"\(path)\" (\(reason)).",
                failure: .storage,
                underlying: self
            )
        }
    }
}
