import Dispatch
import Synchronization

/// The time for a piece of work is up.
struct DeadlinePassed: Error {}

/// Ends pieces of work whose time is up. All share one timer, so that a deadline which is not reached costs no more than
/// its place in a table.
///
/// A sleeping task a piece would be woken by its cancellation, but what it left with the executor would stay there until
/// the deadline; a dispatch timer a piece would wake a thread to set it, and once more to take it back.
final class Deadlines: Sendable {
    /// Those of the whole process.
    static let shared = Deadlines()

    private struct State {
        var lastNumber = 0
        var waiting: [Int: Waiter] = [:]
        /// When the timer goes off; `nil` if it is not set.
        var alarm: ContinuousClock.Instant?
    }

    private struct Waiter {
        let deadline: ContinuousClock.Instant
        let cancel: @Sendable () -> Void
    }

    private let state = Mutex(State())

    /// Runs `work`, and cancels it once `timeout` has passed.
    ///
    /// - Throws: `DeadlinePassed`; what `work` throws.
    func run<Result: Sendable>(
        _ timeout: Duration,
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await run(until: .now.advanced(by: timeout), work)
    }

    /// Runs `work`, and cancels it at `deadline`.
    ///
    /// - Throws: `DeadlinePassed`; what `work` throws.
    func run<Result: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let task = Task { try await work() }
        let number = add(deadline) { task.cancel() }
        defer { remove(number) }
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

    /// Calls `cancel` at `deadline`, unless the number is removed before.
    func add(_ deadline: ContinuousClock.Instant, _ cancel: @escaping @Sendable () -> Void) -> Int {
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

    /// Takes a deadline back.
    func remove(_ number: Int) {
        _ = state.withLock { $0.waiting.removeValue(forKey: number) }
    }

    private func setAlarm(_ time: ContinuousClock.Instant) {
        let wait = max(.zero, ContinuousClock.now.duration(to: time))
        let milliseconds = Int(min(wait / .milliseconds(1), 1e12).rounded(.up))
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { self.ring(time) }
    }

    /// An alarm that a shorter one has replaced finds nothing to do.
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
