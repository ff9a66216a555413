package import AvatarCore
import AvatarFoundation

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
        (self.call, self.path, self.number) = (call, path, number)
    }

    /// Whether the path does not exist.
    package var isMissing: Bool { number == ENOENT || number == ENOTDIR }

    /// Whether the path is not in its directory: it does not exist, or leads through a symbolic link or out of it.
    package var isNotHeld: Bool { isMissing || number == ELOOP || number == EXDEV }

    /// Whether bytes that were written before the call may be lost, though later synchronizations succeed (fsync(2), `EIO`).
    package var losesWrittenBytes: Bool { number == EIO || isSynchronization }

    /// Whether the call was to make bytes durable.
    package var isSynchronization: Bool { call == "fsync" || call == "syncfs" }

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

/// Runs `body`, and throws the store's error for a system call that failed.
package func withStoreErrors<Result>(
    _ body: () throws(SystemCallError) -> Result
) throws(AvatarStoreError) -> Result {
    do throws(SystemCallError) {
        return try body()
    } catch {
        throw error.storeError
    }
}
