import AvatarCore
import AvatarFileSystem
import AvatarFoundation
import Dispatch
import Synchronization

/// A fixed set of read connections; a read takes the first that is free.
///
/// A read is a plain call on the caller's thread: a hop to another thread costs several lookups. With as many
/// connections as threads that run at once, no read waits.
final class ReadConnections: Sendable {
    /// The connections, each with its lock.
    private let slots: [Slot]
    /// The path of the database file.
    private let path: String
    /// The file system of the file.
    private let fileSystem: any FileSystem
    /// Whether the disk cannot be written, so that the file is read without locks.
    let isImmutable: Bool
    /// The time in seconds that a read waits for another process's lock.
    private let busyTimeoutSeconds: Int

    /// Takes or opens one connection now, so that a file that cannot be read fails at once. The others are opened at
    /// their first use.
    ///
    /// - Parameters:
    ///   - first: an open connection to the file; only these connections use it from now on. `nil`: one is opened.
    ///   - isImmutable: whether the disk cannot be written, so that the file is read without locks.
    ///   - count: the maximum number of connections.
    ///   - busyTimeoutSeconds: how long a read waits for another process's lock.
    /// - Throws: an `AvatarStoreError` if the file cannot be opened.
    init(
        _ first: ReadConnection? = nil,
        path: String,
        on fileSystem: any FileSystem,
        isImmutable: Bool,
        count: Int,
        busyTimeoutSeconds: Int
    ) throws {
        (self.path, self.fileSystem) = (path, fileSystem)
        (self.isImmutable, self.busyTimeoutSeconds) = (isImmutable, busyTimeoutSeconds)
        let others = (1..<max(1, count)).map { _ in Slot() }
        if let first {
            try first.setBusyTimeout(seconds: busyTimeoutSeconds)
            slots = [Slot(first)] + others
        } else {
            slots = [Slot()] + others
            try read { _ in }
        }
    }

    /// The number of open connections. Waits for reads under way.
    var openCount: Int { slots.count { slot in slot.connection.withLock { $0 != nil } } }

    /// Runs `body` on a free connection. Waits for one if all are in use.
    ///
    /// - Throws: an `AvatarStoreError` for an error of SQLite; any error of `body`.
    func read<Result: Sendable>(_ body: (ReadConnection) throws -> Result) throws -> Result {
        try withFreeSlot { connection, _ in
            // Every other read sees the index as it is now.
            connection.releaseSnapshot()
            return try body(connection)
        }
    }

    /// Looks up the file of a hit.
    ///
    /// - Parameter keep: receives the hit for the cache, with the state of the index in which it is valid.
    /// - Returns: `nil` if no entry with a file has the key.
    /// - Throws: an `AvatarStoreError` for an error of SQLite.
    func hit(for key: AvatarKey, _ keep: (IndexHit, WALIndex, WALIndex.State) -> Void) throws -> IndexHit? {
        try lookUp({ try $0.hit(for: key) }) { connection, hit, state in
            if let hit, let state, let walIndex = connection.walIndex { keep(hit, walIndex, state) }
        }
    }

    /// Runs the short lookup `body` on a free connection, which may keep its snapshot for the next one, for ten
    /// milliseconds. A commit before this call is seen.
    ///
    /// - Parameter found: receives the result, with the state of the index in which it is valid; `nil`: not known.
    /// - Throws: an `AvatarStoreError` for an error of SQLite; any error of `body`.
    func lookUp<Result: Sendable>(
        _ body: (ReadConnection) throws -> Result,
        _ found: (ReadConnection, Result, WALIndex.State?) -> Void = { _, _, _ in }
    ) throws -> Result {
        try withFreeSlot { connection, slot in
            let (result, state) = try connection.holdingSnapshot { try body(connection) }
            if connection.isHolding { slot.releaseSoon() }
            found(connection, result, state)
            return result
        }
    }

    /// Runs `body` with a connection that is not in use. If all are in use, waits for a random one.
    ///
    /// Random, so that waiting reads spread over all connections.
    private func withFreeSlot<Result: Sendable>(_ body: (ReadConnection, Slot) throws -> Result) throws -> Result {
        // Trying a lock that is taken costs a system call, and its release by the other thread costs another one.
        for slot in slots where !slot.isInUse.load(ordering: .relaxed) {
            let result = try slot.connection.withLockIfAvailable { connection in
                slot.isInUse.store(true, ordering: .relaxed)
                defer { slot.isInUse.store(false, ordering: .relaxed) }
                return try body(self.open(&connection), slot)
            }
            if let result { return result }
        }
        let slot = slots[Int.random(in: slots.indices)]
        return try slot.connection.withLock { connection in
            try body(self.open(&connection), slot)
        }
    }

    /// Closes all connections; a later read opens its own again.
    func close() {
        for slot in slots {
            slot.connection.withLock { $0 = nil }
        }
    }

    /// The connection of a slot, opened if necessary.
    private func open(_ connection: inout ReadConnection?) throws -> ReadConnection {
        if let connection { return connection }
        let opened = try ReadConnection(
            path: path,
            on: fileSystem,
            isImmutable: isImmutable,
            busyTimeoutSeconds: busyTimeoutSeconds
        )
        connection = opened
        return opened
    }

    /// One connection and its lock.
    private final class Slot: Sendable {
        /// The connection; `nil` until its first use and after closing. The lock is held for a whole read.
        let connection: Locked<ReadConnection?>
        /// Whether a thread holds the lock. Only a hint: the value may be stale.
        let isInUse = Atomic(false)
        /// Whether a release of the snapshot is scheduled.
        private let isTimerRunning = Atomic(false)
        /// The queue of the timer. A global queue needs /proc (`avatar_run_tasks_without_proc`).
        private let queue = DispatchQueue(label: "avatars.snapshot")

        /// - Parameter connection: an open connection. Default: none.
        init(_ connection: ReadConnection? = nil) {
            // The caller gives it away: from now on it is only reached through the lock.
            nonisolated(unsafe) let given = connection
            self.connection = Locked(given)
        }

        /// Releases the connection's snapshot in ten milliseconds, even if it is in use again by then.
        func releaseSoon() {
            guard !isTimerRunning.load(ordering: .relaxed),
                !isTimerRunning.exchange(true, ordering: .acquiringAndReleasing)
            else { return }
            queue.asyncAfter(deadline: .now() + .milliseconds(10)) { [self] in
                isTimerRunning.store(false, ordering: .releasing)
                connection.withLock { $0?.releaseSnapshot() }
            }
        }
    }
}
