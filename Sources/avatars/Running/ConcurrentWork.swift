import AvatarFoundation
import Dispatch

/// Runs `work` on a Dispatch thread, for calls that may block for long, such as reading a pipe.
///
/// If the task is cancelled, this throws at once; the thread stays blocked until the process ends.
///
/// - Throws: the error of `work`; `CancellationError`.
func withBlockingThread<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    let waiter = Waiter<Result>()
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            waiter.wait(continuation)
            // A queue of its own: the shared ones need /proc to size their threads.
            DispatchQueue(label: "avatars.blocking").async {
                waiter.resume(with: Swift.Result(catching: work))
            }
        }
    } onCancel: {
        waiter.resume(with: .failure(CancellationError()))
    }
}

/// Resumes a continuation once, with the first result. The result may arrive before the continuation does.
private final class Waiter<Value: Sendable>: Sendable {
    /// The first of continuation and result waits for the other.
    private enum State {
        /// Neither the continuation nor a result has arrived.
        case idle
        /// The continuation arrived first.
        case waiting(CheckedContinuation<Value, any Error>)
        /// The result arrived first.
        case settled(Result<Value, any Error>)
        /// The continuation was resumed; later results are dropped.
        case done
    }

    /// A lock, because the thread of the work and a cancellation may deliver at once.
    private let state = Locked(State.idle)

    /// Resumes `continuation` with the result, now or once it arrives.
    func wait(_ continuation: CheckedContinuation<Value, any Error>) {
        let early: Result<Value, any Error>? = state.withLock { state in
            guard case .settled(let result) = state else {
                state = .waiting(continuation)
                return nil
            }
            state = .done
            return result
        }
        if let early { continuation.resume(with: early) }
    }

    /// Passes the result on. Later results are dropped.
    func resume(with result: Result<Value, any Error>) {
        let continuation: CheckedContinuation<Value, any Error>? = state.withLock { state in
            switch state {
            case .idle:
                state = .settled(result)
                return nil
            case .waiting(let continuation):
                state = .done
                return continuation
            case .settled, .done:
                return nil
            }
        }
        continuation?.resume(with: result)
    }
}

/// Runs `work` for each of `inputs`, at most `limit` at once, and passes the results to `each` in the order of the
/// inputs.
///
/// A slow input holds back the start of later ones once `limit` inputs are started and not yet passed on.
///
/// - Throws: the first error of `work` or `each`; the rest of the work is cancelled.
func inOrder<Input: Sendable, Output: Sendable>(
    _ inputs: [Input],
    atOnce limit: Int,
    _ work: @escaping @Sendable (Input) async throws -> Output,
    each: (Output) throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: (Int, Output).self) { group in
        var started = 0
        var handedOut = 0
        var early: [Int: Output] = [:]
        while handedOut < inputs.count {
            while started < inputs.count, started - handedOut < limit {
                let number = started
                group.addTask { (number, try await work(inputs[number])) }
                started += 1
            }
            guard let (number, output) = try await group.next() else { return }
            early[number] = output
            while let next = early.removeValue(forKey: handedOut) {
                try each(next)
                handedOut += 1
            }
        }
    }
}
