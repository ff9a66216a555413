import AvatarCore
import AvatarFileSystem
import AvatarFoundation
import AvatarSQLite
import Synchronization

/// The write-ahead log of an index, after a synchronization that failed.
///
/// The system tells of the failure once: it takes for written what it could not write, and the next synchronization succeeds. So the log
/// is written again before a process relies on it, by this process or by another one that learns of the loss.
package final class IndexLog: Sendable {
    /// The path of the index.
    private let path: String
    private let fileSystem: any FileSystem
    /// Whether a synchronization of the log failed, and the log was not written again since.
    private let isInDoubt = Atomic(false)
    /// The other processes that write to the log; `nil` before `share(with:)`.
    private let peers = Locked<(any LogPeers)?>(nil)
    /// The header of the WAL as the write connection maps it; `nil` until the first write that needs it.
    private let writerWALIndex = Locked<WALIndex?>(nil)

    init(of path: String, on fileSystem: any FileSystem) {
        (self.path, self.fileSystem) = (path, fileSystem)
    }

    /// The memory of the write connection; found once.
    func walIndex(of connection: Connection) -> WALIndex? {
        writerWALIndex.withLock { known in
            if known == nil { known = WALIndex(of: connection) }
            return known
        }
    }

    // MARK: Doubts

    /// Whether the log may lack bytes on the disk, because it could not be written again.
    package var isDoubtful: Bool { isInDoubt.load(ordering: .relaxed) }

    /// Tells `peers` from now on when the log may lack bytes, and asks them the same.
    package func share(with peers: any LogPeers) { self.peers.withLock { $0 = peers } }

    /// Notes that the log may lack bytes on the disk: another process may have died between a failed synchronization of the log and
    /// writing it once more.
    package func doubt() { setDoubt(true) }

    /// Takes note of a synchronization that failed: the log may lack bytes on the disk, and the file pages that a checkpoint that could
    /// not copy all has left there.
    func doubt(_ connection: Connection) {
        setDoubt(true)
        walIndex(of: connection)?.copyAllAgain()
    }

    /// Notes that the log was written again in a transaction that is committed now.
    func settle() { setDoubt(false) }

    private func setDoubt(_ isDoubtful: Bool) {
        guard isInDoubt.exchange(isDoubtful, ordering: .relaxed) != isDoubtful else { return }
        peers.withLock(\.self)?.setDoubt(isDoubtful)
    }

    /// Whether the log may lack bytes on the disk that another process could not write. This one doubts it then, too.
    func learnOfLoss() throws -> Bool {
        guard try peers.withLock(\.self)?.learnOfLoss() == true else { return false }
        setDoubt(true)
        return true
    }

    /// As `learnOfLoss()`, after a commit. Peers that cannot be asked may have found one.
    private func learnOfLateLoss() -> Bool {
        do {
            guard try peers.withLock(\.self)?.learnOfLateLoss() == true else { return false }
        } catch {
            // The log is written again, as after a loss.
        }
        setDoubt(true)
        return true
    }

    // MARK: Writing it again

    /// Writes the log once more after its synchronization has failed. Changes that are in it and not on the disk would take
    /// all later ones with them, durable or not; and the transaction that was rolled back is complete in it, so that a loss
    /// of power would bring it back. A transaction of its own takes the place of that one.
    func rewrite(_ connection: Connection) throws {
        try connection.statement("PRAGMA synchronous = FULL").run()
        defer { Self.restoreSynchronous(connection) }
        var failure: AvatarStoreError?
        try connection.transaction { transaction in
            do { try rewriteFile(connection) } catch let error as AvatarStoreError { failure = error }
            try transaction.rewriteHeader()
        }
        if let failure { throw failure }
        settle()
    }

    /// As `rewrite(_:)`, at the beginning of a transaction that is durable itself. `settle()` must follow its commit.
    func rewrite(_ connection: Connection, in transaction: borrowing Transaction) throws {
        try rewriteFile(connection)
        try transaction.rewriteHeader()
    }

    /// Writes the log once more before a checkpoint, if another process could not: beside a file with a part of its pages, a log that
    /// ends too early would be worse than none.
    func rewriteThatOfOthers(_ connection: Connection) throws {
        if try learnOfLoss() { try rewrite(connection) }
    }

    /// Writes the log once more after a durable commit, if another process was told of a failure before and could not say so in time.
    func rewriteAfterLateLoss(_ connection: Connection) throws {
        if learnOfLateLoss() { try rewrite(connection) }
    }

    /// Writes the file again. Called in a transaction: no process appends to it meanwhile.
    private func rewriteFile(_ connection: Connection) throws {
        guard !connection.hasFileMoved else { throw AvatarIndex.wasReplaced(path) }
        do throws(SystemCallError) {
            try cut(connection)
            do throws(SystemCallError) {
                try fileSystem.rewrite(path + "-wal")
            } catch {
                // The first synchronization reports what the system has lost before.
                guard error.number == EIO else { throw error }
                try fileSystem.rewrite(path + "-wal")
            }
        } catch {
            guard error.isMissing else { throw error.storeError }
        }
    }

    /// Takes the frames behind the last transaction out of the log: after the end of all processes, one that was rolled back and is
    /// whole would count again. That needs no synchronization (https://www.sqlite.org/fileformat2.html, section 4).
    private func cut(_ connection: Connection) throws(SystemCallError) {
        guard let walIndex = walIndex(of: connection) else { return }
        let log = path + "-wal"
        let file = try fileSystem.open(log, flags: O_RDWR | O_NOFOLLOW)
        defer { fileSystem.close(file) }
        var header = [UInt8](repeating: 0, count: 32)
        guard fileSystem.pread(file, &header, header.count, 0) == header.count else { return }
        // The log of before, which a commit is to begin again, is in the file of the index.
        guard header.withUnsafeBytes({ $0.loadUnaligned(fromByteOffset: 16, as: UInt64.self) }) == walIndex.salts else {
            return
        }
        let pageSize = header[8..<12].reduce(0) { $0 << 8 | Int($1) }
        let end = 32 + Int(walIndex.frameCount) * (24 + pageSize)
        guard try fileSystem.status(of: file, named: log).st_size > end else { return }
        let empty = [UInt8](repeating: 0, count: 24)
        try empty.withUnsafeBufferPointer { (bytes) throws(SystemCallError) in
            try fileSystem.write(UnsafeRawBufferPointer(bytes), to: file, at: end, named: log)
        }
    }

    /// Returns the connection to its usual durability, after a commit that had to survive a power loss.
    static func restoreSynchronous(_ connection: Connection) {
        // If this fails, later transactions are more durable than they need be, which is correct and only slower.
        try? connection.statement("PRAGMA synchronous = NORMAL").run()
    }
}

extension SQLiteError {
    /// Whether a transaction that was rolled back may be complete in the log.
    var isFailedSynchronization: Bool { [.failedSynchronization, .failedFolderSynchronization].contains(code) }
}

/// The other processes that write to the log of an index.
package protocol LogPeers: Sendable {
    /// Whether one of them could not synchronize the log, or has died since the last call.
    func learnOfLoss() throws -> Bool

    /// As `learnOfLoss()`, after a commit that followed it: whether one has found a loss since that may be older than the commit.
    func learnOfLateLoss() throws -> Bool

    /// Tells them whether this process could not synchronize the log, and has not written it again.
    func setDoubt(_ isDoubtful: Bool)
}
