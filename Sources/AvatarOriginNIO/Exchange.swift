#if NIOOrigin
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization

/// One request in progress, and its response as it arrives.
///
/// A callback delivers the head, so that many requests can be in progress without a task for each. The reader pulls the
/// body chunk by chunk, with one chunk read ahead. While it does not pull, back-pressure stops the origin.
final class Exchange: HTTPClientResponseDelegate {
    typealias Response = Void
    /// Called once, on any thread, with the head or an error. For a response whose status allows no body, it is called
    /// when the connection is free again.
    typealias Arrival = @Sendable (Result<HTTPResponseHead, any Error>) -> Void

    /// The beginning of a body that is collected for a callback.
    fileprivate struct Collection {
        let limit: Int
        var start = NIOHTTPOrigin.BodyStart()
        let done: @Sendable (NIOHTTPOrigin.BodyStart) -> Void
    }

    /// The state that callbacks of the event loop and the reader share.
    fileprivate struct State {
        /// The number of attempts to send the request.
        var attempts = 0
        /// The number of attempts that lost their connection.
        var lostConnections = 0
        var task: HTTPClient.Task<Void>?
        var isCancelled = false
        /// The callback for the head; `nil` after the call.
        var arrival: Arrival?
        /// The head of a response without a body, held back until the response ends.
        var head: HTTPResponseHead?
        /// The chunk that was read ahead, and the promise to fulfil when there is room for the next one.
        var piece: (bytes: ByteBuffer, room: EventLoopPromise<Void>?)?
        var reader: CheckedContinuation<ByteBuffer?, any Error>?
        /// The beginning of the body, collected before a reader asks for it; `nil` if nothing is collected.
        var collection: Collection?
        /// Bytes still to drain so that the connection can be reused; `nil` while the body has a reader.
        var spare: Int?
        /// The caller of `releaseAndWait`, which waits for the end of the exchange.
        var waiter: CheckedContinuation<Void, Never>?
        var end: Result<Void, any Error>?
    }

    /// The maximum number of bytes that are drained to keep the connection.
    private static let longestSpare = 16_384
    /// The maximum time for draining.
    private static let longestWait = TimeAmount.seconds(1)

    /// The client that sends the request.
    private let client: HTTPClient
    /// The request, which each attempt sends unchanged.
    private let request: HTTPClient.Request
    /// Called before attempts, so that the store can count requests.
    private let willSend: @Sendable () -> Void
    private let state = Mutex(State())

    /// An exchange that `start` or `head` sends.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - client: the HTTP client that sends it.
    ///   - willSend: called before each attempt, except after an attempt that was not sent at all.
    init(
        _ request: HTTPClient.Request,
        with client: HTTPClient,
        willSend: @escaping @Sendable () -> Void
    ) {
        self.client = client
        self.request = request
        self.willSend = willSend
    }

    /// Sends the request, and calls `arrival` with the head or an error.
    func start(_ arrival: @escaping Arrival) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.arrival = arrival }
            return state.isCancelled
        }
        guard !isCancelled else { return arrival(.failure(CancellationError())) }
        willSend()
        send()
    }

    /// Sends the request, and waits for the head of the response.
    ///
    /// - Throws: `CancellationError`; any error of the HTTP client.
    func head() async throws -> HTTPResponseHead {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                start { continuation.resume(with: $0) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Cancels the exchange unless it has ended. Callers that wait for the head or a chunk get a `CancellationError`.
    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.end == nil ? state.task : nil
        }
        task?.cancel()
    }

    /// Ends the reading of the body. The rest of a short body is drained in the background, because the connection can
    /// be reused only after that; a longer one is cancelled.
    func release() {
        guard !Task.isCancelled else { return cancel() }
        let (task, room) = state.withLock { state -> (HTTPClient.Task<Void>?, EventLoopPromise<Void>?) in
            guard state.end == nil, state.spare == nil, let task = state.task else { return (nil, nil) }
            let piece = state.piece.take()
            state.spare = Self.longestSpare - (piece?.bytes.readableBytes ?? 0)
            return (task, piece?.room)
        }
        room?.succeed()
        guard let task else { return }
        task.eventLoop.scheduleTask(in: Self.longestWait) { [self] in cancel() }
    }

    /// The same as `release`, but waits until the connection can be reused or is closed.
    func releaseAndWait() async {
        release()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let hasEnded = state.withLock { state in
                    if state.end == nil { state.waiter = continuation }
                    return state.end != nil
                }
                if hasEnded { continuation.resume() }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Whether `bytes` are only drained. Cancels the exchange if they exceed the limit.
    private func isSpare(_ bytes: ByteBuffer) -> Bool {
        let (isSpare, isTooMuch) = state.withLock { state in
            guard let spare = state.spare else { return (false, false) }
            state.spare = spare - bytes.readableBytes
            return (true, spare < bytes.readableBytes)
        }
        if isTooMuch { cancel() }
        return isSpare
    }

    /// The next chunk of the body; `nil` at the end.
    ///
    /// - Throws: `CancellationError` if the exchange was cancelled; any error of the HTTP client.
    func next() async throws -> ByteBuffer? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (result, room) = state.withLock {
                    state -> (Result<ByteBuffer?, any Error>?, EventLoopPromise<Void>?) in
                    if let piece = state.piece.take() { return (.success(piece.bytes), piece.room) }
                    if let end = state.end { return (end.map { nil }, nil) }
                    state.reader = continuation
                    return (nil, nil)
                }
                room?.succeed()
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Collects the body until it ends, exceeds `limit` bytes or takes longer than `time`, and passes it to `done`, once and on
    /// any thread. `next` then returns what follows.
    func collect(
        upTo limit: Int,
        for time: TimeAmount,
        on eventLoop: any EventLoop,
        _ done: @escaping @Sendable (NIOHTTPOrigin.BodyStart) -> Void
    ) {
        let end = state.withLock { state in
            if state.end == nil { state.collection = Collection(limit: limit, done: done) }
            return state.end
        }
        switch end {
        case .success?: done(NIOHTTPOrigin.BodyStart(isWhole: true))
        case .failure(let error)?: done(NIOHTTPOrigin.BodyStart(error: error))
        case nil:
            eventLoop.scheduleTask(in: time) { [self] in
                let slow = state.withLock { $0.collection.take() }
                slow.map { $0.done($0.start) }
            }
        }
    }

    /// Adds `bytes` to what is collected.
    ///
    /// - Returns: whether they were collected.
    private func collects(_ bytes: ByteBuffer) -> Bool {
        let (isCollected, full) = state.withLock { state -> (Bool, Collection?) in
            guard var collection = state.collection.take() else { return (false, nil) }
            collection.start.bytes += bytes.readableBytesView
            if collection.start.bytes.count > collection.limit { return (true, collection) }
            state.collection = collection
            return (true, nil)
        }
        full.map { $0.done($0.start) }
        return isCollected
    }

    /// Begins an attempt to send the request.
    private func send() {
        let attempt = state.withLock { state in
            state.attempts += 1
            return state.attempts
        }
        let task = client.execute(request: request, delegate: self)
        // A client that was shut down does not call its delegate.
        task.futureResult.whenFailure { [self] error in
            if state.withLock({ $0.attempts == attempt && $0.end == nil }) { fail(error) }
        }
        let isCancelled = state.withLock { state in
            // The attempt may have failed and been repeated already.
            if state.attempts == attempt, state.end == nil { state.task = task }
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    // MARK: HTTPClientResponseDelegate

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        let arrival = state.withLock { state -> Arrival? in
            // `send` may not have stored the task yet.
            state.task = task
            guard head.mayHaveBody else {
                state.head = head
                return nil
            }
            return state.arrival.take()
        }
        arrival?(.success(head))
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ bytes: ByteBuffer) -> EventLoopFuture<Void> {
        if isSpare(bytes) || collects(bytes) { return task.eventLoop.makeSucceededVoidFuture() }
        let (reader, hasNoBody) = state.withLock { ($0.reader.take(), $0.head != nil) }
        // Over HTTP/2 an origin can send a body even so. It has no reader, so holding it back would block the stream.
        guard !hasNoBody else { return task.eventLoop.makeSucceededVoidFuture() }
        if let reader {
            reader.resume(returning: bytes)
            return task.eventLoop.makeSucceededVoidFuture()
        }
        let room = task.eventLoop.makePromise(of: Void.self)
        let late = state.withLock { state -> CheckedContinuation<ByteBuffer?, any Error>? in
            // A reader may have begun to wait since the first look at the state.
            if let reader = state.reader.take() { return reader }
            state.piece = (bytes, room)
            return nil
        }
        guard let late else { return room.futureResult }
        room.succeed()
        late.resume(returning: bytes)
        return room.futureResult
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) {
        let (arrival, head, reader, waiter, collection) = state.withLock { state in
            state.end = .success(())
            state.task = nil
            return (
                state.arrival.take(), state.head.take(), state.reader.take(), state.waiter.take(),
                state.collection.take()
            )
        }
        waiter?.resume()
        if let head { arrival?(.success(head)) }
        if var start = collection?.start {
            start.isWhole = true
            collection?.done(start)
        }
        reader?.resume(returning: nil)
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
        if waitsOn(after: error) { return send() }
        guard beginsAnew(after: error) else { return fail(error) }
        willSend()
        send()
    }

    /// Ends the exchange with `error`, or with a `CancellationError` if it was cancelled.
    private func fail(_ error: any Error) {
        let (arrival, reader, room, waiter, collection, isCancelled) = state.withLock { state in
            let error: any Error = state.isCancelled ? CancellationError() : error
            state.end = .failure(error)
            state.task = nil
            let room = state.piece?.room.take()
            return (
                state.arrival.take(), state.reader.take(), room, state.waiter.take(), state.collection.take(),
                state.isCancelled
            )
        }
        waiter?.resume()
        let reported: any Error = isCancelled ? CancellationError() : error
        // The chunk that was read ahead can still be read. No more follow.
        room?.succeed()
        arrival?(.failure(reported))
        if var start = collection?.start {
            start.error = reported
            collection?.done(start)
        }
        reader?.resume(throwing: reported)
    }

    /// Whether to send the request again on another connection. The origin may have closed a pooled connection just
    /// when it was taken; a request without any response can be repeated safely.
    private func beginsAnew(after error: any Error) -> Bool {
        let attempts = OriginFailure.attempts(after: error)
        return state.withLock { state in
            state.lostConnections += 1
            return state.isUnanswered && state.lostConnections < attempts
        }
    }

    /// Whether to queue the request for a connection again. Redirects from other hosts may have led more requests to
    /// this host than it has connections. Each request has a deadline of its own, so the wait is bounded.
    private func waitsOn(after error: any Error) -> Bool {
        guard OriginFailure.isWaitForConnection(error) else { return false }
        return state.withLock { $0.isUnanswered }
    }
}

extension Exchange.State {
    /// Whether a caller still waits for the head, and no part of the response has arrived.
    fileprivate var isUnanswered: Bool { arrival != nil && head == nil && !isCancelled }
}

extension HTTPResponseHead {
    /// Whether the status allows a body (RFC 9110 sections 15.3.5 and 15.4.5).
    fileprivate var mayHaveBody: Bool { status != .noContent && status != .notModified }
}
#endif
