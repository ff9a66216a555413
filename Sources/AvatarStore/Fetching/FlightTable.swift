package import AvatarCore
import AvatarFoundation

/// Coalesces fetches: one fetch per key at a time, for any number of readers.
///
/// The fetch of a read runs in a task of its own, or without one, so the first reader can be cancelled while others still
/// wait. When the last waiter is cancelled, so is the fetch. A sync runs its fetches itself (`begin`, `finish`); readers can
/// wait for them but not cancel them.
package final class FlightTable<Value: Sendable>: Sendable {
    /// One running fetch.
    private struct Flight {
        /// Tells this fetch from a later one of the same key.
        let number: Int
        /// Cancels the fetch; `nil` if a sync runs it, and while it is being started.
        var cancel: (@Sendable () -> Void)?
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
        /// The last cancelled fetch of each key that has not ended yet, by its number.
        var ending: [AvatarKey: Int] = [:]
        /// Cancelled fetches that have not ended yet, by their numbers, each with the fetches of its key that wait for that.
        var successors: [Int: [CheckedContinuation<Void, Never>]] = [:]
        var lastNumber = 0

        /// The next number for a fetch, a waiter or a holder. All share one sequence.
        mutating func nextNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }

        /// Takes the fetch of `key` out if no reader wants it any more: the next reader gets a new one, not the cancellation.
        ///
        /// - Returns: cancels the fetch; `nil` if it goes on.
        mutating func abandon(_ key: AvatarKey) -> (@Sendable () -> Void)? {
            guard let flight = flights[key], !flight.isWanted, let cancel = flight.cancel else { return nil }
            flights[key] = nil
            ending[key] = flight.number
            successors[flight.number] = []
            return cancel
        }
    }

    private let state = Locked(State())

    /// A table without a fetch.
    package init() {}

    /// Begins a fetch without a task, by a call that does not wait.
    ///
    /// It calls `done` once, on any thread, even before it returns.
    /// - Returns: cancels the fetch; `nil` if a task has to run the fetch. Then `done` is not called, nor after an error.
    typealias Beginning =
        @Sendable (_ done: @escaping @Sendable (Result<Value, any Error>) -> Void) throws
        -> (@Sendable () -> Void)?

    /// The value of the running fetch of `key`. Without one, begins a fetch with the closure.
    ///
    /// - Throws: any error of the fetch; `CancellationError` if the calling task is cancelled, or a sync gives its
    ///   fetch up.
    package func join(_ key: AvatarKey, _ fetch: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await join(key, fetch, begin: nil)
    }

    /// As the other `join`.
    ///
    /// It is concurrent, so that `begin` does not hold up the actor of a reader.
    ///
    /// - Parameter begin: tried first.
    @concurrent func join(
        _ key: AvatarKey,
        _ fetch: @escaping @Sendable () async throws -> Value,
        begin: Beginning?
    ) async throws -> Value {
        let waiter = state.withLock { $0.nextNumber() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                board(key, waiter: waiter, continuation: continuation, fetch, begin)
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
        let (waiters, successors) = state.withLock { state in
            if state.ending[key] == number { state.ending[key] = nil }
            let successors = state.successors.removeValue(forKey: number) ?? []
            // A cancelled fetch has no waiters any more.
            guard let flight = state.flights[key], flight.number == number else {
                return ([CheckedContinuation<Value, any Error>](), successors)
            }
            state.flights[key] = nil
            return (Array(flight.waiters.values), successors)
        }
        for waiter in waiters { waiter.resume(with: result) }
        for successor in successors { successor.resume() }
    }

    /// The number of readers that wait for the fetch of `key`.
    func waiterCount(of key: AvatarKey) -> Int {
        state.withLock { $0.flights[key]?.waiters.count ?? 0 }
    }

    /// Whether the fetch of `key` waits for the end of a cancelled one.
    func isWaitingForEnd(_ key: AvatarKey) -> Bool {
        state.withLock { state in state.ending[key].flatMap { state.successors[$0] }?.isEmpty == false }
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
        _ fetch: @escaping @Sendable () async throws -> Value,
        _ begin: Beginning?
    ) {
        let begun = state.withLock { state -> (number: Int, last: Int?)? in
            defer { state.flights[key]?.waiters[waiter] = continuation }
            guard state.flights[key] == nil else { return nil }
            let number = state.nextNumber()
            state.flights[key] = Flight(number: number)
            return (number, state.ending[key])
        }
        if let begun { launch(key, begun.number, after: begun.last, fetch, begin) }
        // The task may have been cancelled before the waiter was added. Leaving twice does no harm.
        if Task.isCancelled { leave(key, waiter) }
    }

    /// Starts the fetch `number` of `key`.
    ///
    /// - Parameter last: a cancelled fetch. The new one resumes its partial download, so it has to end first.
    private func launch(
        _ key: AvatarKey,
        _ number: Int,
        after last: Int?,
        _ fetch: @escaping @Sendable () async throws -> Value,
        _ begin: Beginning?
    ) {
        if last == nil, self.begin(key, number, begin) { return }
        let cancel = state.withLock { state -> (@Sendable () -> Void)? in
            // The task may replace how it is cancelled, so it must not run before that is kept.
            let task = Task {
                if let last {
                    await self.waitForEnd(of: last)
                    if self.begin(key, number, begin) { return }
                }
                self.finish(key, number: number, with: await Self.result(of: fetch))
            }
            state.flights[key]?.cancel = { task.cancel() }
            return state.abandon(key)
        }
        cancel?()
    }

    /// Begins the fetch `number` of `key` without a task.
    ///
    /// - Returns: `false` if a task has to run it.
    private func begin(_ key: AvatarKey, _ number: Int, _ begin: Beginning?) -> Bool {
        do {
            guard !Task.isCancelled, let begin,
                let cancel = try begin({ self.finish(key, number: number, with: $0) })
            else { return false }
            keep(key, number, cancel)
        } catch {
            finish(key, number: number, with: .failure(error))
        }
        return true
    }

    /// Keeps `cancel` for the fetch `number` of `key`, and calls it if no reader wants the fetch any more. The fetch may have ended
    /// already.
    private func keep(_ key: AvatarKey, _ number: Int, _ cancel: @escaping @Sendable () -> Void) {
        let unwanted = state.withLock { state -> (@Sendable () -> Void)? in
            if state.successors[number] != nil { return cancel }
            guard state.flights[key]?.number == number else { return nil }
            state.flights[key]?.cancel = cancel
            return state.abandon(key)
        }
        unwanted?()
    }

    /// Removes a waiter or holder, and cancels a fetch that has none left. A fetch that a sync runs goes on.
    private func leave(_ key: AvatarKey, _ waiter: Int) {
        let (continuation, cancel) = state.withLock { state in
            let continuation = state.flights[key]?.waiters.removeValue(forKey: waiter)
            let wasHeld = state.flights[key]?.holds.remove(waiter) != nil
            return (continuation, continuation != nil || wasHeld ? state.abandon(key) : nil)
        }
        cancel?()
        continuation?.resume(throwing: CancellationError())
    }

    /// Waits until the cancelled fetch `number` has ended.
    private func waitForEnd(of number: Int) async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                guard state.successors[number] != nil else { return true }
                state.successors[number]?.append(continuation)
                return false
            }
            if hasEnded { continuation.resume() }
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
