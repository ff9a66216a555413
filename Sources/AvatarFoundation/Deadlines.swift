import Dispatch

/// The deadline of a piece of work has passed.
package struct DeadlinePassed: Error {
    package init() {}
}

/// Cancels work at its deadline, and wakes tasks. All deadlines share one timer, so a deadline that is not reached costs only a
/// row in a table.
///
/// The alternatives cost more. A sleeping task per deadline leaves a timer with the executor until the deadline, even
/// if it is cancelled. A dispatch timer per deadline wakes a thread to set it and again to remove it.
package final class Deadlines: Sendable {
    /// The deadlines of the whole process.
    package static let shared = Deadlines()

    private struct State {
        /// The last number given to a deadline.
        var lastNumber = 0
        /// The deadlines that have not passed, by their numbers.
        var waiting: [Int: Waiter] = [:]
        /// The time at which the timer fires; `nil` if it is not set.
        var alarm: ContinuousClock.Instant?
    }

    /// One deadline and its action.
    private struct Waiter {
        let deadline: ContinuousClock.Instant
        /// Cancels the work. Called at most once, on a dispatch thread.
        let cancel: @Sendable () -> Void
    }

    private let state = Locked(State())
    /// The queue of the timer. A global queue needs /proc (`avatar_run_tasks_without_proc`), and so does `Task.sleep`.
    private let queue = DispatchQueue(label: "avatars.deadlines")

    /// Runs `work`, and cancels it once `timeout` has passed.
    ///
    /// - Throws: `DeadlinePassed` if `work` failed after the deadline; any other error of `work`.
    package func run<Result: Sendable>(
        _ timeout: Duration,
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await run(until: .now.advanced(by: timeout), work)
    }

    /// Runs `work`, and cancels it at `deadline`. If `work` succeeds all the same, its result counts.
    ///
    /// - Throws: `DeadlinePassed` if `work` failed after the deadline; any other error of `work`. If the calling task
    ///   is cancelled, any error of `work`.
    package func run<Result: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let task = Task { try await work() }
        let number = add(deadline) { task.cancel() }
        defer { self.remove(number) }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch  where ContinuousClock.now >= deadline && !Task.isCancelled {
            throw DeadlinePassed()
        }
    }

    /// Suspends the task for `duration`, as `Task.sleep` does.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    package func sleep(for duration: Duration) async throws {
        try await sleep(until: .now.advanced(by: duration))
    }

    /// Suspends the task until `time`.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    package func sleep(until time: ContinuousClock.Instant) async throws {
        try Task.checkCancellation()
        let sleep = Sleep()
        let number = add(time) { sleep.end() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { sleep.begin($0) }
        } onCancel: {
            sleep.end()
        }
        remove(number)
        try Task.checkCancellation()
    }

    /// Calls `cancel` at `deadline`, unless the returned number is removed before.
    package func add(_ deadline: ContinuousClock.Instant, _ cancel: @escaping @Sendable () -> Void) -> Int {
        let waiter = Waiter(deadline: deadline, cancel: cancel)
        let (number, isFirst) = state.withLock { state in
            state.lastNumber += 1
            state.waiting[state.lastNumber] = waiter
            let isFirst = state.alarm.map { waiter.deadline < $0 } ?? true
            if isFirst { state.alarm = waiter.deadline }
            return (state.lastNumber, isFirst)
        }
        if isFirst { setAlarm(waiter.deadline) }
        return number
    }

    /// Removes the deadline `number`. Its action is not called any more, unless it is running.
    package func remove(_ number: Int) {
        _ = state.withLock { $0.waiting.removeValue(forKey: number) }
    }

    /// Sets the shared timer. An earlier timer still fires, and `ring` ignores it.
    private func setAlarm(_ time: ContinuousClock.Instant) {
        let wait = max(.zero, ContinuousClock.now.duration(to: time))
        let milliseconds = Int(min(wait / .milliseconds(1), 1e12).rounded(.up))
        queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { self.ring(time) }
    }

    /// Calls the actions whose deadlines have passed, and sets the timer for the next one. Does nothing if an earlier
    /// alarm has replaced this one.
    private func ring(_ time: ContinuousClock.Instant) {
        let (passed, next) = state.withLock { state -> ([Waiter], ContinuousClock.Instant?) in
            guard state.alarm == time else { return ([], nil) }
            let now = ContinuousClock.now
            let passed = state.waiting.filter { $0.value.deadline <= now }
            for number in passed.keys { state.waiting[number] = nil }
            state.alarm = state.waiting.values.map(\.deadline).min()
            return (Array(passed.values), state.alarm)
        }
        for waiter in passed { waiter.cancel() }
        if let next { setAlarm(next) }
    }
}

/// A task that sleeps. Its end may come before its begin.
private final class Sleep: Sendable {
    private enum State {
        case awake
        case asleep(CheckedContinuation<Void, Never>)
        case ended
    }

    private let state = Locked(State.awake)

    func begin(_ continuation: CheckedContinuation<Void, Never>) {
        let hasEnded = state.withLock { state in
            if case .ended = state { return true }
            state = .asleep(continuation)
            return false
        }
        if hasEnded { continuation.resume() }
    }

    func end() {
        let sleeper = state.withLock { state -> CheckedContinuation<Void, Never>? in
            defer { state = .ended }
            if case .asleep(let continuation) = state { return continuation }
            return nil
        }
        sleeper?.resume()
    }
}
