import AvatarCore
import AvatarFoundation
import AvatarOriginRules
import AvatarProviders
import HTTPTypes

/// One HTTP request and its response. Tasks ask it for the body; the engine's thread fills it.
///
/// The callback of `start` receives the head, and the body if it is small, so that many requests can be in progress without a
/// task for each. A larger body is handed over chunk by chunk. The engine pauses the response until the reader takes a chunk.
final class Transfer: Sendable {
    /// The response, and its body if that is complete.
    struct Answer: Sendable {
        /// The status, the fields and the facts of the connection.
        let head: OriginHead
        /// The value of Location, if the client follows it.
        let location: String?
        /// The whole body; `nil` if more follows, or for a redirect, whose body is dropped.
        let body: [UInt8]?
    }

    /// Called once, on any thread.
    typealias Arrival = @Sendable (Result<Answer, any Error>) -> Void

    private struct State {
        /// The callback for the response; `nil` before `start` and after the call.
        var arrival: Arrival?
        var isCancelled = false
        /// Bytes of the body that the reader has not taken yet.
        var chunk: [UInt8] = []
        /// Whether the engine keeps bytes back until `chunk` is taken.
        var isBlocked = false
        var reader: CheckedContinuation<[UInt8]?, any Error>?
        var end: Result<Void, any Error>?
    }

    /// The request.
    let hop: Hop
    /// Called on the engine's thread before each HTTP request is sent.
    let willSend: @Sendable () -> Void
    private let driver: CurlDriver
    private let state = Locked(State())

    /// A transfer that `start` or `answer` begins.
    init(_ hop: Hop, on driver: CurlDriver, willSend: @escaping @Sendable () -> Void) {
        (self.hop, self.driver, self.willSend) = (hop, driver, willSend)
    }

    // MARK: For tasks

    /// Puts the request on the way to the engine. It waits there for others until `CurlDriver.flush`.
    func start(_ arrival: @escaping Arrival) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.arrival = arrival }
            return state.isCancelled
        }
        guard !isCancelled else { return arrival(.failure(CancellationError())) }
        driver.post(.start(self))
    }

    /// Sends the request, and waits for the response.
    ///
    /// - Throws: `OriginError`; `CancellationError`.
    func answer() async throws -> Answer {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                start { continuation.resume(with: $0) }
                driver.flush()
            }
        } onCancel: {
            cancel()
        }
    }

    /// Cancels the transfer unless it has ended. Callers that wait for it get a `CancellationError`.
    func cancel() {
        let isOpen = state.withLock { state in
            guard !state.isCancelled, state.end == nil else { return false }
            state.isCancelled = true
            return true
        }
        guard isOpen else { return }
        driver.post(.cancel(self))
        driver.flush()
    }

    /// The next chunk of the body; `nil` at the end.
    ///
    /// - Throws: `OriginError` if the connection breaks; `CancellationError`.
    func next() async throws -> [UInt8]? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (result, isBlocked) = state.withLock { state -> (Result<[UInt8]?, any Error>?, Bool) in
                    if !state.chunk.isEmpty {
                        defer { (state.chunk, state.isBlocked) = ([], false) }
                        return (.success(state.chunk), state.isBlocked)
                    }
                    if let end = state.end { return (end.map { nil }, false) }
                    state.reader = continuation
                    return (nil, false)
                }
                if isBlocked {
                    driver.post(.takeMore(self))
                    driver.flush()
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Ends the reading of the body. The engine drops the rest, or closes the connection if much of it is left.
    func release() {
        guard !Task.isCancelled else { return cancel() }
        guard state.withLock({ $0.end == nil }) else { return }
        driver.post(.release(self))
        driver.flush()
    }

    // MARK: For the engine

    /// Whether a task has cancelled the transfer.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Delivers the response, or the error in its place. Without a body that follows, this is the end of the transfer.
    func arrive(_ result: Result<Answer, any Error>, isComplete: Bool) {
        let arrival = state.withLock { state in
            if isComplete { state.end = result.map { _ in } }
            return state.arrival.take()
        }
        arrival?(result)
    }

    /// Takes bytes of the body, if the ones before have been taken.
    ///
    /// - Returns: whether it took them. If not, the engine gets `takeMore` once it can.
    func take(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let (isTaken, reader) = state.withLock { state -> (Bool, CheckedContinuation<[UInt8]?, any Error>?) in
            guard state.chunk.isEmpty else {
                state.isBlocked = true
                return (false, nil)
            }
            if let reader = state.reader.take() { return (true, reader) }
            state.chunk = Array(bytes)
            return (true, nil)
        }
        reader?.resume(returning: Array(bytes))
        return isTaken
    }

    /// Ends the body, after `rest`.
    func end(_ result: Result<Void, any Error>, rest: UnsafeBufferPointer<UInt8>) {
        let (arrival, reader) = state.withLock { state in
            state.chunk += rest
            state.end = result
            return (state.arrival.take(), state.reader.take())
        }
        if case .failure(let error) = result { arrival?(.failure(error)) }
        guard let reader else { return }
        let chunk = state.withLock { state in
            defer { state.chunk = [] }
            return state.chunk
        }
        if chunk.isEmpty { reader.resume(with: result.map { nil }) } else { reader.resume(returning: chunk) }
    }
}
