import AvatarFoundation

/// The pause between two syncs of a server, which can be ended early.
final class SyncAlarm: Sendable {
    private struct State {
        var sleep: Task<Void, Never>?
        /// Whether the alarm rang since the last pause ended.
        var hasRung = false
    }

    private let state = Locked(State())

    /// Ends the present pause, or else the next one at its begin: the sync that runs now may have read the old lists.
    func ring() {
        let sleep = state.withLock { state in
            state.hasRung = true
            return state.sleep
        }
        sleep?.cancel()
    }

    /// Returns after `pause`, when the alarm rings, or when the task is cancelled.
    func wait(_ pause: Duration) async {
        let sleep = Task<Void, Never> {
            try? await Deadlines.shared.sleep(for: pause)  // Cancelling ends the pause.
        }
        begin(sleep)
        await withTaskCancellationHandler {
            await sleep.value
        } onCancel: {
            sleep.cancel()
        }
        state.withLock { $0 = State() }
    }

    private func begin(_ sleep: Task<Void, Never>) {
        let hasRung = state.withLock { state in
            state.sleep = sleep
            return state.hasRung
        }
        if hasRung { sleep.cancel() }
    }
}
