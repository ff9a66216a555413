import Synchronization

/// A request and the task that waits for its response.
final class RequestJob: Sendable {
    private struct State {
        var waiter: CheckedContinuation<WireResponse, any Error>?
        var isEnded = false
    }

    let request: WireRequest
    private let state = Mutex(State())

    init(_ request: WireRequest) {
        self.request = request
    }

    /// Whether the task no longer waits.
    var isEnded: Bool { state.withLock { $0.isEnded } }

    /// Registers the task. Returns `false` if the job was cancelled before, and then the task was resumed.
    func begin(_ waiter: CheckedContinuation<WireResponse, any Error>) -> Bool {
        let isEnded = state.withLock { state in
            if !state.isEnded { state.waiter = waiter }
            return state.isEnded
        }
        if isEnded { waiter.resume(throwing: CancellationError()) }
        return !isEnded
    }

    /// Resumes the task unless it was resumed before.
    func end(_ result: Result<WireResponse, any Error>) {
        let waiter = state.withLock { state in
            state.isEnded = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(with: result)
    }
}
