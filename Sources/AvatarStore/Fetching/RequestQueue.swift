import AvatarCore
import AvatarFoundation

/// The requests of a store: its scheduler, the readers that wait, and the sync to wake.
final class RequestQueue: Sendable {
    private struct State: ~Copyable {
        var scheduler: RequestScheduler<FetchTarget>
        /// The readers that wait. Each is resumed once: with its turn, or with `CancellationError`.
        var readers: [Int: CheckedContinuation<HostTurn, any Error>] = [:]
        /// Readers that were cancelled before they waited.
        var cancelled: Set<Int> = []
        /// Wakes the sync, which may begin a request; `nil` without a sync.
        var bell: (@Sendable () -> Void)?
    }

    /// The moment from which the times of the scheduler count.
    private let origin = ContinuousClock.now
    private let state: Locked<State>

    /// A queue for at most `total` requests at once, and at most `perHost` to one host; `nil` to find out what a host bears.
    init(total: Int, perHost: Int?) {
        state = Locked(State(scheduler: RequestScheduler(total: total, perHost: perHost)))
    }

    private var now: Duration { ContinuousClock.now - origin }

    /// The time `moment` of the scheduler.
    func time(_ moment: Duration) -> ContinuousClock.Instant { origin.advanced(by: moment) }

    // MARK: Readers

    /// Runs `body` once a request to `host` may begin.
    ///
    /// - Parameters:
    ///   - key: the image that is fetched. A wish for it changes the place among the readers.
    ///   - priority: the priority while no reader has a wish for `key`.
    ///   - isProbe: whether the host may have no other request under way.
    /// - Throws: `CancellationError` if the task is cancelled before that; any error of `body`.
    package func run(
        _ host: String,
        for key: AvatarKey,
        _ priority: FetchPriority,
        isProbe: Bool = false,
        body: () async throws -> FetchResult
    ) async throws -> FetchResult {
        let turn = try await wait(host, for: key, priority, isProbe: isProbe)
        do {
            let result = try await body()
            end(turn, result)
            return result
        } catch {
            end(turn, nil)
            throw error
        }
    }

    private func wait(
        _ host: String,
        for key: AvatarKey,
        _ priority: FetchPriority,
        isProbe: Bool
    ) async throws -> HostTurn {
        let number = newNumber()
        defer { state.withLock { _ = $0.cancelled.remove(number) } }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = change { state, _ in
                    guard !state.cancelled.contains(number) else { return true }
                    state.readers[number] = continuation
                    state.scheduler.ask(number, host, for: key, priority, isProbe: isProbe)
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let reader = state.withLock { state in
                if !state.scheduler.cancel(number) { state.cancelled.insert(number) }
                return state.readers.removeValue(forKey: number)
            }
            reader?.resume(throwing: CancellationError())
        }
    }

    /// Begins a request to `host` as `run`, if that needs no waiting. `end` must follow.
    ///
    /// - Returns: `nil` if the host has no place, or another reader waits for one.
    func begin(_ host: String, for key: AvatarKey, _ priority: FetchPriority, isProbe: Bool) -> HostTurn? {
        let now = now
        return state.withLock { state in
            guard state.scheduler.readerCount == 0 else { return nil }
            let number = state.scheduler.nextNumber()
            state.scheduler.ask(number, host, for: key, priority, isProbe: isProbe)
            if let (_, turn) = state.scheduler.nextReader(at: now) { return turn }
            _ = state.scheduler.cancel(number)
            return nil
        }
    }

    /// A number for a reader, or for its wish.
    func newNumber() -> Int { state.withLock { $0.scheduler.nextNumber() } }

    /// Ends the request of a reader; without a result, it was given up.
    func end(_ turn: HostTurn, _ result: FetchResult?) {
        let bell = change { state, now in
            state.scheduler.readerEnded(turn)
            // A refusal of a read is a failure of its host, which the index keeps.
            if let result {
                switch result.hostOutcome {
                case .answer:
                    state.scheduler.answered(
                        turn,
                        took: result.duration,
                        isMultiplexed: result.isMultiplexed,
                        at: now
                    )
                case .trouble: state.scheduler.failed(turn, at: now)
                case .refusal, .none: break
                }
            }
            return state.bell
        }
        bell?()
    }

    /// Changes the state, and resumes the readers that may begin afterwards: before the sync, which asks for places too.
    private func change<Result>(_ body: (inout State, Duration) -> sending Result) -> sending Result {
        let now = now
        var ready: [(reader: CheckedContinuation<HostTurn, any Error>, turn: HostTurn)] = []
        let result = state.withLock { state in
            let result = body(&state, now)
            guard state.scheduler.readerCount > 0 else { return result }
            while let (number, turn) = state.scheduler.nextReader(at: now) {
                if let reader = state.readers.removeValue(forKey: number) { ready.append((reader, turn)) }
            }
            return result
        }
        for (reader, turn) in ready { reader.resume(returning: turn) }
        return result
    }

    /// Requests under way.
    var activeCount: Int { state.withLock { $0.scheduler.activeCount } }

    /// Readers that wait.
    var waitingCount: Int { state.withLock { $0.scheduler.readerCount } }

    /// Sets the priority that a reader wants for the image of `key`; `nil` withdraws the wish. The most urgent wish counts, even
    /// for a fetch that begins later.
    ///
    /// - Parameter number: the reader's number, from `newNumber`.
    func wish(_ number: Int, for key: AvatarKey, _ priority: FetchPriority?) {
        state.withLock { $0.scheduler.wish(number, for: key, priority) }
    }

    /// The most urgent wish for `key`; `nil` without one.
    func wish(for key: AvatarKey) -> FetchPriority? {
        state.withLock { $0.scheduler.wish(for: key) }
    }

    // MARK: The sync

    /// Begins a sync, as `RequestScheduler.beginSync`.
    ///
    /// - Parameter bell: called when a request of the sync may begin, because one of a reader has ended.
    func beginSync(
        most: Int,
        perHost: Int?,
        limits: [String: Int],
        windows: [String: HostWindow],
        scatters: Bool,
        bell: @escaping @Sendable () -> Void
    ) {
        state.withLock { state in
            state.scheduler.beginSync(
                most: most,
                perHost: perHost,
                limits: limits,
                windows: windows,
                scatters: scatters
            )
            state.bell = bell
        }
    }

    /// Ends the sync, before another one begins.
    func endSync() {
        change { state, _ in
            state.bell = nil
            _ = state.scheduler.removeAll()
        }
    }

    /// Calls `body` with the scheduler and the present time, for the sync. Readers that may begin afterwards do.
    func withScheduler<Result>(
        _ body: (inout RequestScheduler<FetchTarget>, Duration) -> sending Result
    ) -> sending Result {
        change { state, now in body(&state.scheduler, now) }
    }
}
