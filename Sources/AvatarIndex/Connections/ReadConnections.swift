import AvatarCore
import Dispatch
import Synchronization

/// A fixed set of read connections; a read takes the first that is free.
///
/// A read is a plain call on the caller's thread: a hop to another thread costs several lookups. With as many
/// connections as threads that run at once, no read waits.
final class ReadConnections: Sendable {
    private let slots: [Slot]
    private let path: String
    let isImmutable: Bool
    private let busyTimeoutSeconds: Int

    /// Opens one connection now, so that a file that cannot be read is found at once; the others when needed.
    init(path: String, isImmutable: Bool, count: Int, busyTimeoutSeconds: Int) throws {
        self.path = path
        self.isImmutable = isImmutable
        self.busyTimeoutSeconds = busyTimeoutSeconds
        slots = (0..<max(1, count)).map { _ in Slot() }
        try read { _ in }
    }

    /// Runs `body` on a free connection. Waits for one if all are in use.
    func read<Result: Sendable>(_ body: (ReadConnection) throws -> Result) throws -> Result {
        try withFreeSlot { connection, _ in
            // Every other read sees the index as it is now.
            connection.releaseSnapshot()
            return try body(connection)
        }
    }

    /// Looks up the file of a hit. The connection may keep its snapshot for the next lookup, for ten milliseconds.
    func hit(for key: AvatarKey, _ keep: (IndexHit, WALIndex, WALIndex.State) -> Void) throws -> IndexHit? {
        try withFreeSlot { connection, slot in
            let (hit, state) = try connection.hit(for: key)
            if connection.isHolding { slot.releaseSoon() }
            if let hit, let state, let walIndex = connection.walIndex { keep(hit, walIndex, state) }
            return hit
        }
    }

    private func withFreeSlot<Result: Sendable>(_ body: (ReadConnection, Slot) throws -> Result) throws -> Result {
        for slot in slots {
            let result = try slot.connection.withLockIfAvailable { connection in
                try body(open(&connection), slot)
            }
            if let result { return result }
        }
        let slot = slots[Int.random(in: slots.indices)]
        return try slot.connection.withLock { connection in
            try body(open(&connection), slot)
        }
    }

    /// Closes all connections; a later read opens its own again.
    func close() {
        for slot in slots {
            slot.connection.withLock { $0 = nil }
        }
    }

    private func open(_ connection: inout ReadConnection?) throws -> ReadConnection {
        if let connection { return connection }
        let opened = try ReadConnection(
            path: path,
            isImmutable: isImmutable,
            busyTimeoutSeconds: busyTimeoutSeconds
        )
        connection = opened
        return opened
    }

    private final class Slot: Sendable {
        let connection = Mutex<ReadConnection?>(nil)
        private let isTimerRunning = Atomic(false)

        /// Releases the connection's snapshot in ten milliseconds, also if it is in use again by then.
        func releaseSoon() {
            guard !isTimerRunning.load(ordering: .relaxed),
                !isTimerRunning.exchange(true, ordering: .acquiringAndReleasing)
            else { return }
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(10)) { [self] in
                isTimerRunning.store(false, ordering: .releasing)
                connection.withLock { $0?.releaseSnapshot() }
            }
        }
    }
}
