import AvatarCore
import AvatarFoundation
import AvatarProviders

/// A request whose first hop is under way. Redirects are followed only by `finish`.
final class BegunTransfer: BegunRequest {
    private enum State {
        /// The addresses of the host are looked up; `nil` until the task is known.
        case lookingUp(Task<Void, Never>?)
        case sent(RedirectChain, Transfer)
        case arrived(RedirectChain, Transfer, Transfer.Answer)
        /// It failed, or was cancelled.
        case over
    }

    /// The client, which follows redirects.
    private let origin: HTTPOrigin
    /// The request as the store passed it.
    private let request: OriginRequest
    private let state = Locked(State.lookingUp(nil))

    /// Begins `request`, and calls `arrival` once. If the addresses of its host are not known, a task looks them up first.
    init(
        _ request: OriginRequest,
        of origin: HTTPOrigin,
        _ arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
    ) {
        self.origin = origin
        self.request = request
        do {
            let hops = try RedirectChain(from: request, limit: origin.configuration.maximumRedirects)
            if let transfer = try origin.knownTransfer(hops, request) {
                start(transfer, hops, arrival)
            } else {
                lookUp(hops, arrival)
            }
        } catch {
            fail(error, arrival)
        }
    }

    private func lookUp(
        _ hops: RedirectChain,
        _ arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
    ) {
        let task = Task { [self] in
            do {
                start(try await origin.transfer(hops, request), hops, arrival)
                origin.flush()
            } catch {
                fail(Task.isCancelled ? CancellationError() : error, arrival)
            }
        }
        let isCancelled = state.withLock { state in
            switch state {
            case .lookingUp:
                state = .lookingUp(task)
                return false
            case .sent, .arrived: return false
            case .over: return true
            }
        }
        if isCancelled { task.cancel() }
    }

    private func start(
        _ transfer: Transfer,
        _ hops: RedirectChain,
        _ arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
    ) {
        let isWanted = state.withLock { state in
            guard case .lookingUp = state else { return false }
            state = .sent(hops, transfer)
            return true
        }
        guard isWanted else { return arrival(.failure(CancellationError())) }
        transfer.start { [self] result in
            do {
                let answer = try result.get()
                try origin.check(answer, hops.url)
                state.withLock { state in
                    if case .sent = state { state = .arrived(hops, transfer, answer) }
                }
                arrival(.success(OriginArrival(head: answer.head, body: answer.body)))
            } catch {
                // A body that follows has no reader.
                transfer.cancel()
                fail(error, arrival)
            }
        }
    }

    private func fail(_ error: any Error, _ arrival: @Sendable (Result<OriginArrival, any Error>) -> Void) {
        state.withLock { $0 = .over }
        arrival(.failure(error))
    }

    /// Follows redirects, and passes the final response to `receive`.
    ///
    /// - Throws: `CancellationError` without a response; `OriginError`; any error of `receive`.
    func finish<Result: Sendable>(receive: (OriginResponse) async throws -> Result) async throws -> Result {
        guard case .arrived(let hops, let transfer, let answer) = state.withLock({ $0 }) else {
            throw CancellationError()
        }
        return try await origin.follow(hops, for: request, from: transfer, answer, receive: receive)
    }

    /// Cancels the request unless it has ended.
    func cancel() {
        let (task, transfer) = state.withLock { state -> (Task<Void, Never>?, Transfer?) in
            switch state {
            case .lookingUp(let task):
                state = .over
                return (task, nil)
            case .sent(_, let transfer), .arrived(_, let transfer, _): return (nil, transfer)
            case .over: return (nil, nil)
            }
        }
        task?.cancel()
        transfer?.cancel()
    }
}
