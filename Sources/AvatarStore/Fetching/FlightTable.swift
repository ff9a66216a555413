package import AvatarCore
import AvatarFoundation

/// Coalesces fetches: one fetch per key at a time, for any number of readers.
///
/// The fetch of a read runs in a task of its own, so the first reader can be cancelled while others still wait. When
/// the last waiter is cancelled, so is the fetch. A sync runs its fetches itself (`begin`, `finish`); readers can wait
/// for them but not cancel them.
package final class FlightTable<Value: Sendable>: Sendable {
    /// One running fetch.
    private struct Flight {
        /// Tells this fetch from a later one of the same key.
        let number: Int
        /// The task of the fetch; `nil` if a sync runs it.
        var task: Task<Void, Never>?
        /// The waiting readers, by their numbers.
        var waiters: [Int: CheckedContinuation<Value, any Error>] = [:]
        /// Numbers of the holders: they keep the fetch going without waiting for it.
        var holds: Set<Int> = []

        /// Whether a reader waits for the fetch or a holder keeps it.
        var isWanted: Bool { !waiters.isEmpty || !holds.isEmpty }
    }

    private struct State {
        /// The running fetches. A cancelled one is not in here.
        var flights: [AvatarKey: Flight] = [:]
        /// Cancelled fetches whose tasks have not ended yet.
        var ending: [AvatarKey: (number: Int, task: Task<Void, Never>)] = [:]
        var lastNumber = 0

        /// The next number for a fetch, a waiter or a holder. All share one sequence.
        mutating func nextNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }
    }

    private let state = Locked(State())

    /// A table without a fetch.
    package init() {}

    /// The value of the running fetch of `key`. Without one, begins a fetch with the closure.
    ///
    /// - Throws: any error of the fetch; `CancellationError` if the calling task is cancelled, or a sync gives its
    ///   fetch up.
    package func join(_ key: AvatarKey, _ fetch: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let waiter = state.withLock { $0.nextNumber() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                board(key, waiter: waiter, continuation: continuation, fetch: fetch)
            }
        } onCancel: {
            leave(key, waiter)
        }
    }

    /// Registers a fetch of `key` that the caller runs, and ends with `finish`.
    ///
    /// - Returns: the number of the fetch; `nil` if one for `key` is running already.
    func begin(_ key: AvatarKey) -> Int? {
        state.withLock { state in
            guard state.flights[key] == nil else { return nil }
            let number = state.nextNumber()
            state.flights[key] = Flight(number: number)
            return number
        }
    }

    /// Ends the fetch `number` of `key`, and passes `result` to its waiters.
    func finish(_ key: AvatarKey, number: Int, with result: Result<Value, any Error>) {
        let waiters = state.withLock { state -> [CheckedContinuation<Value, any Error>] in
            guard let flight = state.flights[key], flight.number == number else { return [] }
            state.flights[key] = nil
            return Array(flight.waiters.values)
        }
        for waiter in waiters { waiter.resume(with: result) }
    }

    /// The number of readers that wait for the fetch of `key`.
    func waiterCount(of key: AvatarKey) -> Int {
        state.withLock { $0.flights[key]?.waiters.count ?? 0 }
    }

    /// Keeps the running fetch of `key` from being cancelled while the returned value lives; `nil` without one.
    package func hold(_ key: AvatarKey) -> FlightHold? {
        let number = state.withLock { state -> Int? in
            guard state.flights[key] != nil else { return nil }
            let number = state.nextNumber()
            state.flights[key]?.holds.insert(number)
            return number
        }
        return number.map { number in FlightHold { self.leave(key, number) } }
    }

    /// Adds a waiter to the fetch of `key`, and begins that fetch if necessary.
    private func board(
        _ key: AvatarKey,
        waiter: Int,
        continuation: CheckedContinuation<Value, any Error>,
        fetch: @escaping @Sendable () async throws -> Value
    ) {
        state.withLock { state in
            if state.flights[key] == nil {
                let number = state.nextNumber()
                // It resumes the partial download of a cancelled fetch, so that fetch has to end first.
                let last = state.ending[key]?.task
                let task = Task {
                    await last?.value
                    self.finish(key, number: number, with: await Self.result(of: fetch))
                    self.end(key, number)
                }
                state.flights[key] = Flight(number: number, task: task)
            }
            state.flights[key]?.waiters[waiter] = continuation
        }
        // The task may have been cancelled before the waiter was added. Leaving twice does no harm.
        if Task.isCancelled { leave(key, waiter) }
    }

    /// Removes a waiter or holder, and cancels a fetch that has none left. A fetch that a sync runs goes on.
    private func leave(_ key: AvatarKey, _ waiter: Int) {
        let (continuation, task) = state.withLock { state in
            let continuation = state.flights[key]?.waiters.removeValue(forKey: waiter)
            let wasHeld = state.flights[key]?.holds.remove(waiter) != nil
            guard continuation != nil || wasHeld, let flight = state.flights[key], let task = flight.task,
                !flight.isWanted
            else { return (continuation, nil as Task<Void, Never>?) }
            // The next reader gets a new fetch, not the cancellation of this one.
            state.flights[key] = nil
            state.ending[key] = (flight.number, task)
            return (continuation, task)
        }
        task?.cancel()
        continuation?.resume(throwing: CancellationError())
    }

    /// Forgets a cancelled fetch, now that its task has ended.
    private func end(_ key: AvatarKey, _ number: Int) {
        state.withLock { state in
            if state.ending[key]?.number == number { state.ending[key] = nil }
        }
    }

    private static func result(of fetch: @Sendable () async throws -> Value) async -> Result<Value, any Error> {
        do {
            return .success(try await fetch())
        } catch {
            return .failure(error)
        }
    }
}

/// Keeps a fetch from being cancelled as long as this value lives.
package final class FlightHold: Sendable {
    private let release: @Sendable () -> Void

    init(_ release: @escaping @Sendable () -> Void) {
        self.release = release
    }

    deinit {
        release()
    }
}
