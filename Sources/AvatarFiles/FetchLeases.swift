package import AvatarCore
import AvatarDigest
package import AvatarFileSystem
import AvatarFoundation
import Synchronization

/// The leases that keep two processes from fetching the same key. A lease is a lock on one byte of a file in `staging`;
/// the file stays empty and is never removed.
///
/// The lock belongs to this open file description. The kernel keeps it while the process is paused and drops it when the
/// process ends for any reason, so leases need no expiry time and no cleanup. The digest of the key selects the byte, so
/// no key is written to disk. Two keys that share a byte (among a billion keys, perhaps one pair) take turns, which is
/// slower but correct.
///
/// The bytes are spread over several files: for each new lock the kernel walks all locks of the file, and a sync holds
/// hundreds.
package final class FetchLeases: Sendable {
    /// How many files share the leases. If versions of the program disagree on it, they may fetch an image twice; nothing
    /// else goes wrong.
    private static let fileCount = 8

    /// The files, of which the lowest bits of a lease's offset select one.
    private let files: [LeaseFile]

    /// The leases in the folder `staging`. A file is created with its first lease.
    package init(in staging: Directory) {
        // The names must not end in ".lock": those files belong to holders and are removed with them.
        files = (0..<Self.fileCount).map { LeaseFile(in: staging, named: "leases-\($0)") }
    }

    /// Takes the lease of `key`; `nil` if another process has it. Does not wait.
    ///
    /// It excludes other processes, and other stores that this process has open in the same directory. It does not exclude
    /// this store itself, whose fetches are coalesced per key anyway.
    ///
    /// - Throws: `SystemCallError` if the file cannot be opened or locked.
    package func take(_ key: AvatarKey) throws(SystemCallError) -> FetchLease? {
        let offset = Self.offset(of: key)
        let file = file(of: offset)
        return try file.take(offset) ? FetchLease(file: file, offset: offset) : nil
    }

    /// Whether no process, this one included, holds the lease of `key` now. False if the lock cannot be checked.
    ///
    /// Cleanups call it before they delete an interrupted download: a running fetch may still write to its file.
    package func isFree(_ key: AvatarKey) -> Bool {
        let offset = Self.offset(of: key)
        guard !file(of: offset).isTaken(offset) else { return false }
        do throws(SystemCallError) {
            return try take(key) != nil
        } catch {
            return false
        }
    }

    /// The file that holds the byte at `offset`. The number of files is a power of two.
    private func file(of offset: Int64) -> LeaseFile { files[Int(offset) & (Self.fileCount - 1)] }

    /// The first 62 bits of the key's digest: a file offset has 63.
    private static func offset(of key: AvatarKey) -> Int64 {
        let digest = SHA256.hash(key.rawValue.utf8)
        return Int64(digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 2)
    }
}

/// The leases in one file.
private final class LeaseFile: Sendable {
    /// The state behind the mutex.
    private struct State {
        /// `nil` until a lease is taken.
        var descriptor: Int32?
        /// How many leases of this process hold each byte. The kernel does not count them, and a cancelled fetch may still
        /// hold a lease while the next fetch of its key begins.
        var counts: [Int64: Int] = [:]
    }

    /// The folder of the file. A purge of the caches may remove it; the next lease makes it again.
    private let staging: Directory
    /// The name of the file in `staging`.
    private let name: String
    /// Guards the descriptor and the counts together: locking a byte and counting it must be one step.
    private let state = Locked(State())

    /// Opens nothing yet: the file is created with its first lease.
    init(in staging: Directory, named name: String) {
        self.staging = staging
        self.name = name
    }

    deinit {
        if let descriptor = state.withLock({ $0.descriptor }) { staging.fileSystem.close(descriptor) }
    }

    /// Locks the byte at `offset`; false if another process has it.
    func take(_ offset: Int64) throws(SystemCallError) -> Bool {
        // Locked under the mutex, so that a concurrent release cannot unlock the byte in between. The call does not wait.
        try state.withLock { (state) throws(SystemCallError) -> Bool in
            if state.counts[offset] == nil {
                let result = staging.fileSystem.lockByte(try opened(&state), at: Int(offset))
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

    /// Gives one lease back. The last one unlocks the byte.
    func release(_ offset: Int64) {
        state.withLock { state in
            guard let count = state.counts[offset], count == 1, let descriptor = state.descriptor else {
                state.counts[offset]? -= 1
                return
            }
            state.counts[offset] = nil
            // Unlocking a held byte does not fail. If it did, closing the file would unlock it.
            staging.fileSystem.unlockByte(descriptor, at: Int(offset))
        }
    }

    /// The descriptor of the file, which is created if it is missing.
    ///
    /// - Throws: `SystemCallError` if the staging folder or the file cannot be made.
    private func opened(_ state: inout State) throws(SystemCallError) -> Int32 {
        if let descriptor = state.descriptor { return descriptor }
        try staging.restoreIfRemoved(mode: 0o700)
        let descriptor = staging.fileSystem.openat(staging.descriptor, name, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemCallError("open", staging.path + "/" + name) }
        state.descriptor = descriptor
        return descriptor
    }
}

/// The right to fetch one key. It ends with the last reference to this value.
package final class FetchLease: Sendable {
    /// The file with the locked byte. The reference keeps its descriptor open.
    private let file: LeaseFile
    /// The offset of the locked byte.
    private let offset: Int64
    private let isReleased = Atomic(false)

    /// A lease of a byte that `LeaseFile.take` has locked.
    fileprivate init(file: LeaseFile, offset: Int64) {
        self.file = file
        self.offset = offset
    }

    deinit {
        release()
    }

    /// Ends the lease. Does nothing the second time.
    package func release() {
        if !isReleased.exchange(true, ordering: .acquiringAndReleasing) { file.release(offset) }
    }
}
