package import AvatarCore
import Synchronization

/// One fetch a key, however many ask for it.
///
/// A read's fetch is a task of its own: who asked first may lose interest while others still wait, and when the last
/// one does, it is cancelled. A sync drives its fetches itself (`begin`, `finish`); others can only wait for them.
package final class FlightTable<Value: Sendable>: Sendable {
    private struct Flight {
        let number: Int
        var task: Task<Void, Never>?
        var waiters: [Int: CheckedContinuation<Value, any Error>] = [:]
        /// Those who wait for nothing, but want it to go on.
        var holds: Set<Int> = []

        var isWanted: Bool { !waiters.isEmpty || !holds.isEmpty }
    }

    private struct State {
        var flights: [AvatarKey: Flight] = [:]
        /// Those that were cancelled and are not over yet.
        var ending: [AvatarKey: (number: Int, task: Task<Void, Never>)] = [:]
        var lastNumber = 0

        mutating func nextNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }
    }

    private let state = Mutex(State())

    package init() {}

    /// The value of `fetch` for `key`: of the one that is under way, or of a new one.
    package func join(_ key: AvatarKey, _ fetch: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let waiter = state.withLock { $0.nextNumber() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                board(key, waiter, continuation, fetch)
            }
        } onCancel: {
            leave(key, waiter)
        }
    }

    /// Begins a fetch that the caller drives and ends with `finish`; `nil` if one for `key` is under way.
    func begin(_ key: AvatarKey) -> Int? {
        state.withLock { state in
            guard state.flights[key] == nil else { return nil }
            let number = state.nextNumber()
            state.flights[key] = Flight(number: number)
            return number
        }
    }

    /// Ends the fetch `number` for `key`, and tells all who wait for it.
    func finish(_ key: AvatarKey, _ number: Int, _ result: Result<Value, any Error>) {
        let waiters = state.withLock { state -> [CheckedContinuation<Value, any Error>] in
            guard let flight = state.flights[key], flight.number == number else { return [] }
            state.flights[key] = nil
            return Array(flight.waiters.values)
        }
        for waiter in waiters { waiter.resume(with: result) }
    }

    /// How many wait for the fetch for `key`.
    func waiterCount(of key: AvatarKey) -> Int {
        state.withLock { $0.flights[key]?.waiters.count ?? 0 }
    }

    /// Keeps the fetch for `key` that is under way from being cancelled, until the value goes away; `nil` if there is
    /// none.
    package func hold(_ key: AvatarKey) -> FlightHold? {
        let number = state.withLock { state -> Int? in
            guard state.flights[key] != nil else { return nil }
            let number = state.nextNumber()
            state.flights[key]?.holds.insert(number)
            return number
        }
        return number.map { number in FlightHold { self.leave(key, number) } }
    }

    private func board(
        _ key: AvatarKey,
        _ waiter: Int,
        _ continuation: CheckedContinuation<Value, any Error>,
        _ fetch: @escaping @Sendable () async throws -> Value
    ) {
        state.withLock { state in
            if state.flights[key] == nil {
                let number = state.nextNumber()
                // It goes on where the last one was cancelled, which has to be over for that.
                let last = state.ending[key]?.task
                let task = Task {
                    await last?.value
                    self.finish(key, number, await Self.result(of: fetch))
                    self.end(key, number)
                }
                state.flights[key] = Flight(number: number, task: task)
            }
            state.flights[key]?.waiters[waiter] = continuation
        }
        // Cancellation may have come before there was anything to leave; leaving twice does no harm.
        if Task.isCancelled { leave(key, waiter) }
    }

    private func leave(_ key: AvatarKey, _ waiter: Int) {
        let (continuation, task) = state.withLock { state in
            let continuation = state.flights[key]?.waiters.removeValue(forKey: waiter)
            let wasHeld = state.flights[key]?.holds.remove(waiter) != nil
            guard continuation != nil || wasHeld, let flight = state.flights[key], let task = flight.task,
                !flight.isWanted
            else { return (continuation, nil as Task<Void, Never>?) }
            // Who comes next gets a new fetch, not the end of this one.
            state.flights[key] = nil
            state.ending[key] = (flight.number, task)
            return (continuation, task)
        }
        task?.cancel()
        continuation?.resume(throwing: CancellationError())
    }

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

/// Keeps a fetch going as long as it lives.
package final class FlightHold: Sendable {
    private let release: @Sendable () -> Void

    init(_ release: @escaping @Sendable () -> Void) {
        self.release = release
    }

    deinit {
        release()
    }
}
