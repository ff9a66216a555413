package import AvatarCore
import CAvatarSystem
import Crypto
import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Who fetches what, across processes: a lease of a key is a lock on one byte of `staging/leases`, an empty file that
/// is never removed.
///
/// The lock belongs to this opening of the file. The kernel keeps it while the process is paused and drops it when the
/// process ends, however it ends: nobody asks a clock, and nothing is left to clean up. Which byte it is, the digest of
/// the key says, so no key is written down. Two keys that share a byte (among a billion, perhaps one pair) take turns,
/// which is slower and not wrong.
package final class FetchLeases: Sendable {
    private let file: Int32
    private let path: String
    /// How many leases of this process hold each byte. The kernel knows only that some do, and a fetch that was
    /// cancelled may still hold one while the next for its key begins.
    private let counts = Mutex<[Int64: Int]>([:])

    /// Opens the leases in the folder `staging`.
    package init(in staging: Directory) throws(AvatarStoreError) {
        // Not a name of a holder: those end in ".lock", and are removed with it.
        path = staging.path + "/leases"
        file = openat(staging.descriptor, "leases", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw SystemCallError("open", path).storeError }
    }

    deinit {
        close(file)
    }

    /// The lease of `key`; `nil` if another process has it. Waits for nobody.
    ///
    /// It keeps other processes out, and other stores that this process has open in the same place. It does not keep out
    /// this store itself, which has one fetch a key anyway.
    package func take(_ key: AvatarKey) throws(SystemCallError) -> FetchLease? {
        let offset = Self.offset(of: key)
        // The call is made under the mutex, so that nobody counts on a byte that is being given back. It does not wait.
        let isTaken = try counts.withLock { (counts) throws(SystemCallError) -> Bool in
            if counts[offset] == nil {
                let result = avatar_lock_byte(file, offset)
                guard result >= 0 else { throw SystemCallError("fcntl", path) }
                guard result == 1 else { return false }
            }
            counts[offset, default: 0] += 1
            return true
        }
        return isTaken ? FetchLease(leases: self, offset: offset) : nil
    }

    /// Whether nobody fetches `key` in this moment, in this process or another. No, if that cannot be known.
    package func isFree(_ key: AvatarKey) -> Bool {
        let offset = Self.offset(of: key)
        guard counts.withLock({ $0[offset] == nil }) else { return false }
        do throws(SystemCallError) {
            return try take(key) != nil
        } catch {
            return false
        }
    }

    fileprivate func release(_ offset: Int64) {
        counts.withLock { counts in
            guard let count = counts[offset], count == 1 else {
                counts[offset]? -= 1
                return
            }
            counts[offset] = nil
            // Giving back a lock that one has does not fail; if it did, closing the file would do it.
            _ = avatar_unlock_byte(file, offset)
        }
    }

    /// The first 62 bits of the key's digest: a file offset has 63.
    private static func offset(of key: AvatarKey) -> Int64 {
        let digest = SHA256.hash(data: Array(key.rawValue.utf8))
        return Int64(digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 2)
    }
}

/// The right to fetch one key, until the value is let go of.
package final class FetchLease: Sendable {
    private let leases: FetchLeases
    private let offset: Int64

    fileprivate init(leases: FetchLeases, offset: Int64) {
        self.leases = leases
        self.offset = offset
    }

    deinit {
        leases.release(offset)
    }
}
