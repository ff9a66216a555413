import AvatarCore

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Says of a place that a store is being put together there: a file beside its future index, locked by whoever is at it.
///
/// It names the roots, so that whoever clears up after a process that was killed clears only what that process made.
final class UnfinishedMark {
    /// Whether it was there already, and its maker is dead.
    let wasThere: Bool
    private let path: String
    private let lock: Int32

    /// Takes the mark at `path`.
    ///
    /// - Throws: `busy` if somebody is at work there; `notEmpty` if somebody who is dead was, with other roots.
    static func take(_ path: String, roots: String) throws(AvatarStoreError) -> UnfinishedMark {
        while true {
            if let mark = try takeOnce(path, roots) { return mark }
        }
    }

    private init(path: String, lock: Int32, wasThere: Bool) {
        self.path = path
        self.lock = lock
        self.wasThere = wasThere
    }

    deinit {
        close(lock)
    }

    /// Says that the place is finished, or cleared.
    func remove() {
        // Should this fail, it stays beside an index, where it says nothing, or in a place that is cleared next time.
        unlink(path)
    }

    /// `nil` if its owner removed it in this moment.
    private static func takeOnce(_ path: String, _ roots: String) throws(AvatarStoreError) -> UnfinishedMark? {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw SystemCallError("open", path).storeError }
        do throws(AvatarStoreError) {
            guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
                throw AvatarStoreError(.busy, "Another process is at work on a backup or a restore at \(path).")
            }
            if try isNamed(file, path) {
                return UnfinishedMark(path: path, lock: file, wasThere: try claim(file, path, roots))
            }
        } catch {
            close(file)
            throw error
        }
        close(file)
        return nil
    }

    private static func isNamed(_ file: Int32, _ path: String) throws(AvatarStoreError) -> Bool {
        var opened = stat()
        var named = stat()
        guard fstat(file, &opened) == 0 else { throw SystemCallError("stat", path).storeError }
        return lstat(path, &named) == 0 && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }

    /// Writes what the mark says, unless it says so already, which is then true.
    private static func claim(_ file: Int32, _ path: String, _ roots: String) throws(AvatarStoreError) -> Bool {
        let bytes = [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, count in
            count = max(0, pread(file, buffer.baseAddress, buffer.count, 0))
        }
        let wanted = Array(roots.utf8)
        if bytes == wanted { return true }
        // A mark that is cut short is of somebody who was killed while writing it, and had made nothing else.
        guard wanted.starts(with: bytes) else {
            throw AvatarStoreError(
                .notEmpty,
                "\(path) was left by a process that was killed while it made a store with other roots. Use the same "
                    + "roots again, or remove what it made."
            )
        }
        do throws(SystemCallError) {
            guard ftruncate(file, 0) == 0 else { throw SystemCallError("truncate", path) }
            try wanted.withUnsafeBufferPointer { (bytes) throws(SystemCallError) in
                try LocalFileSystem().write(UnsafeRawBufferPointer(bytes), to: file, at: 0, named: path)
            }
        } catch {
            throw error.storeError
        }
        return false
    }
}
