import AvatarCore
import AvatarFoundation
import AvatarProviders

/// A rendition to make, and the task that waits for it.
final class DecoderJob: Sendable {
    /// The continuation of a task that waits for a rendition.
    typealias Waiter = CheckedContinuation<MadeRendition, any Error>

    private enum State {
        case new
        case waiting(Waiter)
        case finished
    }

    /// The rendition to make.
    let rendition: Rendition
    /// The request to the helper.
    let request: [UInt8]
    /// The caller's descriptor. It is open while the task waits.
    private let descriptor: Int32
    private let state = Locked(State.new)

    /// A rendition of the image in `descriptor`.
    init(_ rendition: Rendition, request: [UInt8], descriptor: Int32) {
        (self.rendition, self.request, self.descriptor) = (rendition, request, descriptor)
    }

    /// Whether the task has its result, or was cancelled.
    var isFinished: Bool {
        state.withLock { state in
            if case .finished = state { true } else { false }
        }
    }

    /// Stores `waiter` until the job finishes. Resumes it at once if the job was cancelled before.
    func begin(_ waiter: Waiter) {
        let isCancelled = state.withLock { state in
            if case .finished = state { return true }
            state = .waiting(waiter)
            return false
        }
        if isCancelled { waiter.resume(throwing: CancellationError()) }
    }

    /// Calls `body` with the descriptor, which stays open during the call. Returns `nil` if the task no longer waits.
    ///
    /// The call holds the lock and delays a cancellation, so `body` must be short.
    func whileWaiting<Value>(_ body: (Int32) -> Value) -> Value? {
        state.withLock { state in
            guard case .waiting = state else { return nil }
            return body(descriptor)
        }
    }

    /// Resumes the task with `result`, unless it has one.
    func finish(_ result: Result<MadeRendition, any Error>) {
        let waiter: Waiter? = state.withLock { state in
            defer { state = .finished }
            if case .waiting(let waiter) = state { return waiter }
            return nil
        }
        waiter?.resume(with: result)
    }
}
