import AvatarCore
import AvatarSQLite
import Synchronization

/// The write connection of an index. Its callers take turns; a call inside a call ends the process.
final class Writer: Sendable {
    // A connection must not be used by two threads at once: it is only reached while `turn` is locked.
    /// The connection, until `close` ends it.
    private nonisolated(unsafe) let connection: Connection
    /// Locked while a caller uses the connection.
    private let turn = Mutex(())

    /// - Parameter connection: only the writer uses it from now on.
    init(_ connection: Connection) {
        self.connection = connection
    }

    /// Runs `body` with the connection, once no other call uses it.
    ///
    /// - Throws: any error of `body`.
    func use<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        // Beside the lock, so that a result need not be `Sendable`: it never leaves the caller's thread.
        var result: Swift.Result<Result, any Error>?
        turn.withLock { _ in
            result = Swift.Result { try body(connection) }
        }
        // `withLock` runs its body exactly once before it returns.
        guard let result else { preconditionFailure("A lock did not run its body.") }
        return try result.get()
    }

    /// Closes the connection, which then refuses every call. A second call does nothing.
    ///
    /// - Throws: an error of SQLite.
    func close() throws {
        try use { try $0.close() }
    }
}
