import AvatarProviders
import Dispatch

/// Runs `work` on a Dispatch thread, for calls that may block for long, such as reading a pipe.
///
/// If the task is cancelled, this throws at once; the thread stays blocked until the process ends.
///
/// - Throws: the error of `work`; `CancellationError`.
func withBlockingThread<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    let waiter = AwaitedArrival<Result>()
    // A queue of its own: the shared ones need /proc to size their threads.
    DispatchQueue(label: "avatars.blocking").async { waiter.resume(Swift.Result(catching: work)) }
    return try await waiter.value {}
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
