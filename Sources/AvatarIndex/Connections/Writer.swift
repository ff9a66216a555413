import AvatarCore
import AvatarSQLite
import Synchronization

/// The write connection of an index. Its callers take turns; a call inside a call ends the process.
final class Writer: Sendable {
    // A connection must not be used by two threads at once: it is only reached while `turn` is locked.
    private nonisolated(unsafe) let connection: Connection
    private let turn = Mutex(())

    /// - Parameter connection: only the writer uses it from now on.
    init(_ connection: Connection) {
        self.connection = connection
    }

    /// Runs `body` with the connection, once all earlier calls are done.
    func use<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        // Beside the lock, so that a result need not be `Sendable`: it never leaves the caller's thread.
        var result: Swift.Result<Result, any Error>?
        turn.withLock { _ in
            result = Swift.Result { try body(connection) }
        }
        guard let result else { preconditionFailure("A lock did not run its body.") }
        return try result.get()
    }

    /// Closes the connection; it refuses everything after that. Does nothing the second time.
    func close() throws {
        try use { try $0.close() }
    }
}
