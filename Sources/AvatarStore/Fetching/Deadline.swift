import Dispatch
import Synchronization

/// The time for a piece of work is up.
struct DeadlinePassed: Error {}

/// Runs `work`, and cancels it once `timeout` has passed.
///
/// The timer is a dispatch source, which is freed when it is cancelled. A sleeping task would be woken by its
/// cancellation, but what it left with the executor would stay there until the timeout: with thousands of images a
/// second and a minute each, that is most of the memory of a sync.
///
/// - Throws: `DeadlinePassed`; what `work` throws.
func withDeadline<Result: Sendable>(
    _ timeout: Duration,
    _ work: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    let task = Task { try await work() }
    let flag = Flag()
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.setEventHandler {
        flag.isRaised.store(true, ordering: .relaxed)
        task.cancel()
    }
    timer.schedule(deadline: .now() + .milliseconds(Int(min(timeout / .milliseconds(1), 1e12))))
    timer.resume()
    defer { timer.cancel() }
    do {
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    } catch  where flag.isRaised.load(ordering: .relaxed) && !Task.isCancelled {
        throw DeadlinePassed()
    }
}

private final class Flag: Sendable {
    let isRaised = Atomic(false)
}
