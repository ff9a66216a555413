package import AvatarCore
import CAvatarSystem
import Crypto
import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Who fetches what, across processes: a lease of a key is a lock on one byte of a file in `staging`, which stays empty
/// and is never removed.
///
/// The lock belongs to this opening of the file. The kernel keeps it while the process is paused and drops it when the
/// process ends, however it ends: nobody asks a clock, and nothing is left to clean up. Which byte it is, the digest of
/// the key says, so no key is written down. Two keys that share a byte (among a billion, perhaps one pair) take turns,
/// which is slower and not wrong.
///
/// There are several files, as the kernel walks all locks on a file for each that is taken, and a sync has hundreds.
package final class FetchLeases: Sendable {
    /// A change of this number would let two versions of the program fetch the same image at once, and no more.
    private static let fileCount = 8

    private let files: [LeaseFile]

    /// The leases in the folder `staging`. A file is made when the first lease of it is taken.
    package init(in staging: Directory) {
        // Not names of holders: those end in ".lock", and are removed with them.
        files = (0..<Self.fileCount).map { LeaseFile(in: staging, named: "leases-\($0)") }
    }

    /// The lease of `key`; `nil` if another process has it. Waits for nobody.
    ///
    /// It keeps other processes out, and other stores that this process has open in the same place. It does not keep out
    /// this store itself, which has one fetch a key anyway.
    package func take(_ key: AvatarKey) throws(SystemCallError) -> FetchLease? {
        let offset = Self.offset(of: key)
        let file = file(of: offset)
        return try file.take(offset) ? FetchLease(file: file, offset: offset) : nil
    }

    /// Whether nobody fetches `key` in this moment, in this process or another. No, if that cannot be known.
    package func isFree(_ key: AvatarKey) -> Bool {
        let offset = Self.offset(of: key)
        guard !file(of: offset).isTaken(offset) else { return false }
        do throws(SystemCallError) {
            return try take(key) != nil
        } catch {
            return false
        }
    }

    private func file(of offset: Int64) -> LeaseFile { files[Int(offset) & (Self.fileCount - 1)] }

    /// The first 62 bits of the key's digest: a file offset has 63.
    private static func offset(of key: AvatarKey) -> Int64 {
        let digest = SHA256.hash(data: Array(key.rawValue.utf8))
        return Int64(digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 2)
    }
}

/// The leases that are bytes of one file.
private final class LeaseFile: Sendable {
    private struct State {
        /// `nil` until a lease is taken.
        var descriptor: Int32?
        /// How many leases of this process hold each byte. The kernel knows only that some do, and a fetch that was
        /// cancelled may still hold one while the next for its key begins.
        var counts: [Int64: Int] = [:]
    }

    private let staging: Directory
    private let name: String
    private let state = Mutex(State())

    init(in staging: Directory, named name: String) {
        self.staging = staging
        self.name = name
    }

    deinit {
        if let descriptor = state.withLock({ $0.descriptor }) { close(descriptor) }
    }

    /// Locks the byte at `offset`; false if another process has it.
    func take(_ offset: Int64) throws(SystemCallError) -> Bool {
        // The call is made under the mutex, so that nobody counts on a byte that is being given back. It does not wait.
        try state.withLock { (state) throws(SystemCallError) -> Bool in
            if state.counts[offset] == nil {
                let result = avatar_lock_byte(try opened(&state), offset)
                guard result >= 0 else { throw SystemCallError("fcntl", staging.path + "/" + name) }
                guard result == 1 else { return false }
            }
            state.counts[offset, default: 0] += 1
            return true
        }
    }

    /// Whether this process has the byte at `offset`.
    func isTaken(_ offset: Int64) -> Bool {
        state.withLock { $0.counts[offset] != nil }
    }

    func release(_ offset: Int64) {
        state.withLock { state in
            guard let count = state.counts[offset], count == 1, let descriptor = state.descriptor else {
                state.counts[offset]? -= 1
                return
            }
            state.counts[offset] = nil
            // Giving back a lock that one has does not fail; if it did, closing the file would do it.
            _ = avatar_unlock_byte(descriptor, offset)
        }
    }

    private func opened(_ state: inout State) throws(SystemCallError) -> Int32 {
        if let descriptor = state.descriptor { return descriptor }
        try staging.restoreIfRemoved(mode: 0o700)
        let descriptor = openat(staging.descriptor, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemCallError("open", staging.path + "/" + name) }
        state.descriptor = descriptor
        return descriptor
    }
}

/// The right to fetch one key, until the value is let go of.
package final class FetchLease: Sendable {
    private let file: LeaseFile
    private let offset: Int64

    fileprivate init(file: LeaseFile, offset: Int64) {
        self.file = file
        self.offset = offset
    }

    deinit {
        file.release(offset)
    }
}
