import AvatarCore
import Synchronization

/// A fixed set of read connections; a read takes the first that is free.
///
/// A read is a plain call on the caller's thread: a hop to another thread costs several lookups. With as many
/// connections as threads that run at once, nobody waits.
final class ReadConnections: Sendable {
    private let slots: [Slot]
    private let path: String
    let isImmutable: Bool
    private let busyTimeoutMilliseconds: Int32

    /// Opens one connection now, so that a file that cannot be read is found at once; the others when needed.
    init(path: String, isImmutable: Bool, count: Int, busyTimeoutMilliseconds: Int32) throws {
        self.path = path
        self.isImmutable = isImmutable
        self.busyTimeoutMilliseconds = busyTimeoutMilliseconds
        slots = (0..<max(1, count)).map { _ in Slot() }
        try read { _ in }
    }

    /// Runs `body` on a free connection. Waits for one if all are in use.
    func read<Result: Sendable>(_ body: (ReadConnection) throws -> Result) throws -> Result {
        for slot in slots {
            let result = try slot.connection.withLockIfAvailable { connection in
                try body(open(&connection))
            }
            if let result { return result }
        }
        return try slots[Int.random(in: slots.indices)].connection.withLock { connection in
            try body(open(&connection))
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
            busyTimeoutMilliseconds: busyTimeoutMilliseconds
        )
        connection = opened
        return opened
    }

    private final class Slot: Sendable {
        let connection = Mutex<ReadConnection?>(nil)
    }
}
