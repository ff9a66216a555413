package import AvatarCore
package import AvatarFileSystem
import AvatarFoundation

/// The identity of a process that has a store open: an exclusive `flock` on `staging/NAME.lock`, held until the store is
/// closed.
///
/// Pending files, staging folders and the running sync name their holder. If another process can take the lock, the
/// holder is dead, however it ended. No timeout is involved.
package final class Holder: Sendable {
    /// 16 random hex digits, new for each holder.
    package let name: String
    /// The folder of the lock file.
    private let staging: Directory
    /// The descriptor of the locked file.
    private let lock: Int32

    /// Creates a holder with a new name in the folder `staging`.
    ///
    /// - Throws: `storage`, `readOnly` or `diskFull` if the lock file cannot be made or locked.
    package init(in staging: Directory) throws(AvatarStoreError) {
        self.staging = staging
        while true {
            let name = Hexadecimal.random64()
            if let lock = try Self.takeNew(name, in: staging) {
                self.name = name
                self.lock = lock
                return
            }
        }
    }

    deinit {
        staging.fileSystem.close(lock)
    }

    /// Makes the lock file larger, because the transaction that ends this holder's work needs room, and the disk may be
    /// full by then: `release()` gives the room back. Without effect if the disk has no room for it now.
    package func keepRoom() {
        let room = [UInt8](repeating: 0, count: Self.room)
        let count = room.withUnsafeBytes { staging.fileSystem.pwrite(lock, $0.baseAddress, $0.count, 0) }
        if count < Self.room { staging.fileSystem.ftruncate(lock, 0) }
    }

    /// Removes the lock file. Other processes finish the pending work that still names this holder.
    package func release() {
        // The room is free only after this or after the descriptor is closed, which is later.
        staging.fileSystem.ftruncate(lock, 0)
        // If this fails, closing the descriptor still frees the lock, and another process removes the file.
        staging.fileSystem.unlinkat(staging.descriptor, name + Self.suffix, 0)
    }

    /// The names of all holders with a lock file in `staging`, dead or alive.
    package static func names(in staging: Directory) throws(SystemCallError) -> [String] {
        try staging.names().filter { $0.hasSuffix(suffix) }.map { String($0.dropLast(suffix.count)) }.filter(isName)
    }

    /// The names of all holders with a lock file or a folder in `staging`, dead or alive. A folder without a lock file is
    /// that of a dead holder: a loss of power took the name of its lock.
    package static func traces(in staging: Directory) throws(SystemCallError) -> Set<String> {
        Set(
            try staging.names()
                .map { $0.hasSuffix(suffix) ? String($0.dropLast(suffix.count)) : $0 }
                .filter(isName)
        )
    }

    /// Whether `text` has the form of a holder's name.
    package static func isName(_ text: String) -> Bool {
        text.utf8.count == 16 && text.utf8.allSatisfy(FilePath.isHexadecimal)
    }

    /// Takes over a dead holder. No other process can take it over while the returned value lives.
    ///
    /// Called for each holder with pending work, before that work is finished.
    ///
    /// - Returns: `nil` if the holder is alive or belongs to another user, or if `name` does not have the form of a
    ///   holder's name.
    /// - Throws: `storage`, `readOnly` or `diskFull` if the lock file cannot be opened.
    package static func takeOver(_ name: String, in staging: Directory) throws(AvatarStoreError) -> Holder? {
        // A name from a foreign index may be a path that leads elsewhere.
        guard isName(name) else { return nil }
        let file = staging.fileSystem.openat(staging.descriptor, name + suffix, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)
        if file < 0, errno == EACCES { return nil }
        guard file >= 0 else { throw SystemCallError("open", staging.path + "/" + name + suffix).storeError }
        guard staging.fileSystem.lock(file, LOCK_EX | LOCK_NB) == 0 else {
            staging.fileSystem.close(file)
            return nil
        }
        return Holder(name: name, staging: staging, lock: file)
    }

    /// Whether the holder `name` still holds its lock. The holder of another user counts as alive.
    package static func isAlive(_ name: String, in staging: Directory) throws(AvatarStoreError) -> Bool {
        guard isName(name) else { return false }
        let file = staging.fileSystem.openat(staging.descriptor, name + suffix, O_RDWR | O_NOFOLLOW, 0)
        guard file >= 0 else {
            if errno == ENOENT { return false }
            if errno == EACCES { return true }
            throw SystemCallError("open", staging.path + "/" + name + suffix).storeError
        }
        defer { staging.fileSystem.close(file) }
        return staging.fileSystem.lock(file, LOCK_SH | LOCK_NB) != 0
    }

    /// A holder whose lock file is open and locked already.
    private init(name: String, staging: Directory, lock: Int32) {
        (self.name, self.staging, self.lock) = (name, staging, lock)
    }

    /// The bytes that `keepRoom()` takes: the frames of a transaction that drops a pending row, several times.
    private static let room = 64 << 10

    /// The end of a lock file's name. `names(in:)` recognises the files of holders by it.
    private static let suffix = ".lock"

    /// Creates and locks the file of `name`.
    ///
    /// - Returns: its descriptor; `nil` if the name is in use, or if another process took the holder for dead between
    ///   creating and locking the file.
    private static func takeNew(_ name: String, in staging: Directory) throws(AvatarStoreError) -> Int32? {
        let file = staging.fileSystem.openat(staging.descriptor, name + suffix, O_RDWR | O_CREAT | O_EXCL, 0o600)
        if file < 0 {
            if errno == EEXIST { return nil }
            throw SystemCallError("open", staging.path + "/" + name + suffix).storeError
        }
        guard staging.fileSystem.lock(file, LOCK_EX | LOCK_NB) == 0 else {
            let error = SystemCallError("flock", staging.path + "/" + name + suffix)
            staging.fileSystem.close(file)
            if error.number == EWOULDBLOCK { return nil }
            // The file system does not support these locks, so another name would not help.
            staging.fileSystem.unlinkat(staging.descriptor, name + suffix, 0)
            throw error.storeError
        }
        var opened = stat()
        var named = stat()
        guard staging.fileSystem.fstat(file, &opened) == 0,
            staging.fileSystem.fstatat(staging.descriptor, name + suffix, &named, AT_SYMLINK_NOFOLLOW) == 0,
            opened.st_ino == named.st_ino
        else {
            staging.fileSystem.close(file)
            return nil
        }
        return file
    }
}
