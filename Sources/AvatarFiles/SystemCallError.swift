package import AvatarCore

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A system call that failed: which, on what, and why.
package struct SystemCallError: Error, Sendable {
    package let call: String
    package let path: String
    package let number: Int32

    /// What `errno` says after `call` failed on `path`.
    package init(_ call: String, _ path: String, number: Int32 = errno) {
        self.call = call
        self.path = path
        self.number = number
    }

    /// Whether there is nothing at the path.
    package var isMissing: Bool { number == ENOENT || number == ENOTDIR }

    /// Whether a directory does not hold the path: nothing is there, or it leads through a symbolic link or outwards.
    var isNotHeld: Bool { isMissing || number == ELOOP || number == EXDEV }

    /// The store's error: names the call, the path and the reason.
    package var storeError: AvatarStoreError {
        let reason = String(cString: strerror(number))
        switch number {
        case ENOSPC, EDQUOT:
            return AvatarStoreError(
                .diskFull,
                "The disk is full: \(call) of \(path) failed (\(reason)).",
                failure: .storage,
                underlying: self
            )
        case EROFS, EACCES, EPERM:
            return AvatarStoreError(
                .readOnly,
                "\(call) of \(path) was refused (\(reason)).",
                failure: .storage,
                underlying: self
            )
        default:
            return AvatarStoreError(
                .storage,
                "\(call) of \(path) failed (\(reason)).",
                failure: .storage,
                underlying: self
            )
        }
    }
}
