import AvatarFoundation

/// A command that reads its files again on SIGHUP. SIGHUP ends any other command.
protocol ReloadingCommand {}

/// SIGHUP in a `ReloadingCommand`.
final class Hangup: Sendable {
    /// That of the process.
    static let shared = Hangup()

    private struct State {
        var action: (@Sendable () -> Void)?
        /// Whether a signal came before the action was known.
        var isPending = false
    }

    private let state = Locked(State())

    /// Calls the action, now or once it is known.
    func received() {
        let action = state.withLock { state in
            state.isPending = state.action == nil
            return state.action
        }
        action?()
    }

    /// Calls `action` on each signal, on a Dispatch thread, and now if one came before.
    func handle(_ action: @escaping @Sendable () -> Void) {
        let isPending = state.withLock { state in
            state.action = action
            defer { state.isPending = false }
            return state.isPending
        }
        if isPending { action() }
    }
}
