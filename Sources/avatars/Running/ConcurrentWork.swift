import Dispatch
import Synchronization

/// Runs work that may block for long, such as reading a pipe, on a thread of its own.
///
/// If the task is cancelled, this throws at once and leaves the thread to the end of the process.
func withBlockingThread<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    let waiter = Waiter<Result>()
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            waiter.wait(continuation)
            DispatchQueue.global().async {
                waiter.resume(with: Swift.Result(catching: work))
            }
        }
    } onCancel: {
        waiter.resume(with: .failure(CancellationError()))
    }
}

/// Resumes a continuation with the first result that comes, be it before anybody waits.
private final class Waiter<Value: Sendable>: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<Value, any Error>)
        case settled(Result<Value, any Error>)
        case done
    }

    private let state = Mutex(State.idle)

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

/// Does `work` for each of `inputs`, some at once, and hands the results to `each` in the order of the inputs.
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
