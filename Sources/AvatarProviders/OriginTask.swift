import AvatarFoundation

/// A request that a task of its own sends, for an `OriginClient` whose transport is async.
///
/// ```swift
/// func begin(
///     _ request: OriginRequest,
///     arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
/// ) -> any BegunRequest {
///     OriginTask(arrival) { try await self.response(to: request) }
/// }
/// ```
///
/// The head arrives without the body, which the store reads from the response as it comes.
public final class OriginTask: BegunRequest {
    /// The response, between its arrival and `finish`.
    private final class Handed: Sendable {
        // The task of the request writes it and ends; `finish` waits for that end, and reads it. So no two tasks use it at once.
        nonisolated(unsafe) var response: OriginResponse?
    }

    private let handed = Handed()
    private let task: Task<Void, Never>

    /// Begins to send a request.
    ///
    /// - Parameters:
    ///   - arrival: as in `OriginClient.begin`.
    ///   - send: sends the request, follows redirects, and returns the final response. It throws an `OriginError` if none
    ///     arrives; an error after `cancel` counts as a `CancellationError`.
    public init(
        _ arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void,
        send: @escaping @Sendable @concurrent () async throws -> sending OriginResponse
    ) {
        task = Task { [handed] in
            do {
                let response = try await send()
                handed.response = response
                arrival(.success(OriginArrival(head: response.head)))
            } catch {
                arrival(.failure(Task.isCancelled ? CancellationError() : error))
            }
        }
    }

    /// Passes the response to `receive`.
    ///
    /// - Throws: `CancellationError` without a response; any error of `receive`.
    public func finish<Result: Sendable>(receive: (OriginResponse) async throws -> Result) async throws -> Result {
        await task.value
        guard let response = handed.response else { throw CancellationError() }
        handed.response = nil
        return try await receive(response)
    }

    /// Cancels the task, if the response has not arrived.
    public func cancel() { task.cancel() }
}

/// The arrival of a request, or the result of work on another thread, for a task that waits for it.
package final class AwaitedArrival<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, any Error>)
        case over(Result<Value, any Error>)
    }

    private let state = Locked(State.open)

    /// An arrival that `resume` will deliver.
    package init() {}

    /// Delivers the arrival. Only the first call counts.
    package func resume(_ result: Result<Value, any Error>) {
        let waiting = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            switch state {
            case .open:
                state = .over(result)
                return nil
            case .awaited(let continuation):
                state = .over(result)
                return continuation
            case .over: return nil
            }
        }
        waiting?.resume(with: result)
    }

    /// The arrival, once it is there.
    ///
    /// - Parameter cancel: cancels the request, if the task is cancelled.
    /// - Throws: the error in place of the arrival; `CancellationError`.
    package func value(cancelling cancel: @escaping @Sendable () -> Void) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Value, any Error>? in
                    if case .over(let result) = state { return result }
                    state = .awaited(continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            cancel()
            resume(.failure(CancellationError()))
        }
    }
}
