package import AvatarCore

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// One process's hold on a store: an exclusive `flock` on `staging/NAME.lock` for as long as the store is open.
///
/// Pending files, staging folders and the running sync name their holder. A holder whose lock can be taken is dead,
/// however it died; no clock is asked.
package final class Holder: Sendable {
    /// 16 hex digits, drawn anew each time.
    package let name: String
    private let staging: Directory
    private let lock: Int32

    /// Takes a new name in the folder `staging`.
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
        close(lock)
    }

    /// Gives the name up. What still names it is finished by others.
    package func release() {
        // Should this fail, the lock is free all the same once the descriptor is closed; others remove the file.
        unlinkat(staging.descriptor, name + Self.suffix, 0)
    }

    /// The holders with a lock file in `staging`, dead or alive.
    package static func names(in staging: Directory) throws(SystemCallError) -> [String] {
        try staging.names().filter { $0.hasSuffix(suffix) }.map { String($0.dropLast(suffix.count)) }.filter(isName)
    }

    /// Whether `text` has the form of a holder's name.
    package static func isName(_ text: String) -> Bool {
        text.utf8.count == 16 && text.utf8.allSatisfy(FilePath.isHexadecimal)
    }

    /// Takes over the dead holder `name`; `nil` if it is alive or another user's, or if `name` is not a holder's. No other
    /// process takes it over while the value lives.
    package static func takeOver(_ name: String, in staging: Directory) throws(AvatarStoreError) -> Holder? {
        // A name in an index may come from elsewhere, and lead there.
        guard isName(name) else { return nil }
        let file = openat(staging.descriptor, name + suffix, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if file < 0, errno == EACCES { return nil }
        guard file >= 0 else { throw SystemCallError("open", staging.path + "/" + name + suffix).storeError }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            close(file)
            return nil
        }
        return Holder(name: name, staging: staging, lock: file)
    }

    /// Whether the holder `name` still holds its lock. Another user's is taken to hold it.
    package static func isAlive(_ name: String, in staging: Directory) throws(AvatarStoreError) -> Bool {
        guard isName(name) else { return false }
        let file = openat(staging.descriptor, name + suffix, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else {
            if errno == ENOENT { return false }
            if errno == EACCES { return true }
            throw SystemCallError("open", staging.path + "/" + name + suffix).storeError
        }
        defer { close(file) }
        return flock(file, LOCK_SH | LOCK_NB) != 0
    }

    private init(name: String, staging: Directory, lock: Int32) {
        self.name = name
        self.staging = staging
        self.lock = lock
    }

    private static let suffix = ".lock"

    /// `nil` if the name is taken, or was taken for dead in the moment between making the file and locking it.
    private static func takeNew(_ name: String, in staging: Directory) throws(AvatarStoreError) -> Int32? {
        let file = openat(staging.descriptor, name + suffix, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if file < 0 {
            if errno == EEXIST { return nil }
            throw SystemCallError("open", staging.path + "/" + name + suffix).storeError
        }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            let error = SystemCallError("flock", staging.path + "/" + name + suffix)
            close(file)
            if error.number == EWOULDBLOCK { return nil }
            // A file system that has no such locks gives none for another name either.
            unlinkat(staging.descriptor, name + suffix, 0)
            throw error.storeError
        }
        var opened = stat()
        var named = stat()
        guard fstat(file, &opened) == 0,
            fstatat(staging.descriptor, name + suffix, &named, AT_SYMLINK_NOFOLLOW) == 0,
            opened.st_ino == named.st_ino
        else {
            close(file)
            return nil
        }
        return file
    }
}
