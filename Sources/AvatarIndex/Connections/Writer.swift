import AvatarCore
import AvatarFoundation
import AvatarSQLite
import Synchronization

/// The write connection of an index. Its callers take turns; a call inside a call ends the process.
///
/// It may be opened by the first call: a process that only reads then never opens it.
final class Writer: Sendable {
    /// The connection, or how to open it.
    private enum State {
        /// No caller has needed the connection yet.
        case unopened(@Sendable () throws -> Connection)
        /// The connection; closed as well, once `close` has ended it.
        case opened(Connection)
        /// Closed before any caller needed the connection.
        case closed
    }

    // A connection must not be used by two threads at once: it is only reached while `turn` is locked.
    /// The connection, until `close` ends it.
    private nonisolated(unsafe) var state: State
    /// Locked while a caller uses the connection.
    private let turn = Locked(())
    /// Whether the connection was opened.
    private let wasOpened: Atomic<Bool>

    /// - Parameter connection: only the writer uses it from now on.
    init(_ connection: Connection) {
        state = .opened(connection)
        wasOpened = Atomic(true)
    }

    /// - Parameter open: opens the connection for the first call that uses it. If it throws, the next call tries again.
    init(openedBy open: @escaping @Sendable () throws -> Connection) {
        state = .unopened(open)
        wasOpened = Atomic(false)
    }

    /// Whether a caller has opened the connection. It does not wait for a caller that uses it.
    var isOpened: Bool { wasOpened.load(ordering: .acquiring) }

    /// Runs `body` with the connection, once no other call uses it.
    ///
    /// - Throws: any error of `body`, and of opening the connection.
    func use<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        // Beside the lock, so that a result need not be `Sendable`: it never leaves the caller's thread.
        var result: Swift.Result<Result, any Error>?
        turn.withLock { _ in
            result = Swift.Result { try body(connection()) }
        }
        // `withLock` runs its body exactly once before it returns.
        guard let result else { preconditionFailure("A lock did not run its body.") }
        return try result.get()
    }

    /// Closes the connection, which then refuses every call. A second call does nothing.
    ///
    /// - Parameter keepsLog: whether the write-ahead log stays as it is, even if no other connection is open. Default: no.
    /// - Throws: an error of SQLite.
    func close(keepingLog keepsLog: Bool = false) throws {
        var result: Swift.Result<Void, any Error> = .success(())
        turn.withLock { _ in
            switch state {
            case .unopened: state = .closed
            case .opened(let connection): result = Swift.Result { try connection.close(keepingLog: keepsLog) }
            case .closed: break
            }
        }
        try result.get()
    }

    /// The connection, opened if necessary. Called while `turn` is locked.
    private func connection() throws -> Connection {
        switch state {
        case .opened(let connection): return connection
        case .unopened(let open):
            let connection = try open()
            state = .opened(connection)
            wasOpened.store(true, ordering: .releasing)
            return connection
        case .closed: throw SQLiteError(.misuse, "The connection is closed.")
        }
    }
}
