import AvatarFoundation

/// The fetch of a read, from its request to its result, without a task: to wake one costs more than to handle a small image.
///
/// The client's thread handles a response that is complete, and a task the rest of one of which more follows, such as a large body.
/// `Fetcher.fetch` does the same in a task.
final class BegunFetch: Sendable {
    private struct State {
        /// The request; `nil` before the client has begun it, and once its result is there.
        var exchange: FetchExchange?
        /// The response, if it was there before `exchange`.
        var early: FetchExchange.Arrival?
        /// Whether the response is there, or the fetch was cancelled before. Nothing that the client says later counts.
        var hasArrived = false
        /// Handles the rest of the response.
        var rest: Task<Void, Never>?
        var isCancelled = false
    }

    private let target: FetchTarget
    private let fetcher: Fetcher
    private let done: @Sendable (Result<FetchResult, any Error>) -> Void
    private let state = Locked(State())

    /// A fetch of `target`, whose entry was just looked up.
    ///
    /// - Parameter done: called once with the result, or a `CancellationError`, on any thread, even before `send` returns.
    init(
        _ target: FetchTarget,
        _ fetcher: Fetcher,
        done: @escaping @Sendable (Result<FetchResult, any Error>) -> Void
    ) {
        (self.target, self.fetcher, self.done) = (target, fetcher, done)
    }

    /// Sends the request. Called once.
    func send() {
        let priority = Task.currentPriority
        let exchange = fetcher.begin(target, stored: fetcher.stored(target), Tally()) { [self] arrival in
            let exchange = state.withLock { state -> FetchExchange? in
                guard !state.hasArrived else { return nil }
                state.hasArrived = true
                if state.exchange == nil { state.early = arrival }
                return state.exchange
            }
            if let exchange { arrived(arrival, exchange, priority) }
        }
        let early = state.withLock { state in
            state.exchange = exchange
            return state.early.take()
        }
        fetcher.origin.flush()
        if let early { arrived(early, exchange, priority) }
    }

    /// Cancels the fetch, unless its result is there. `done` gets a `CancellationError`, whatever the client does.
    func cancel() {
        let (exchange, rest, hasArrived) = state.withLock { state in
            state.isCancelled = true
            defer { state.hasArrived = true }
            return (state.exchange, state.rest, state.hasArrived)
        }
        // First, so that the end of the body is not taken for the end of the image.
        rest?.cancel()
        exchange?.cancel()
        if !hasArrived { finish(.failure(CancellationError())) }
    }

    private func arrived(_ arrival: FetchExchange.Arrival, _ exchange: FetchExchange, _ priority: TaskPriority) {
        do {
            if let result = try fetcher.settle(exchange, arrival, isWanted: true) { return finish(.success(result)) }
        } catch {
            return finish(.failure(error))
        }
        let isCancelled = state.withLock { state in
            guard !state.isCancelled else { return true }
            state.rest = Task(priority: priority) { await takeRest(of: arrival, exchange) }
            return false
        }
        if isCancelled { finish(.failure(CancellationError())) }
    }

    private func takeRest(of arrival: FetchExchange.Arrival, _ exchange: FetchExchange) async {
        do {
            finish(.success(try await fetcher.finish(exchange, arrival)))
        } catch {
            exchange.cancel()
            finish(.failure(error))
        }
    }

    private func finish(_ result: Result<FetchResult, any Error>) {
        state.withLock { $0.exchange = nil }
        done(result)
    }
}
