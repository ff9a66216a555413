import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization

/// One request on its way, and the answer as it comes.
///
/// The head is told by a call, so that many requests can be under way without a task for each. The body is asked for
/// piece by piece, with one piece read ahead; while nobody asks, the origin waits.
final class Exchange: HTTPClientResponseDelegate {
    typealias Response = Void
    /// Called once, on any thread. For an answer that has no body by its status, once the connection is free again.
    typealias Arrival = @Sendable (Result<HTTPResponseHead, any Error>) -> Void

    fileprivate struct State {
        var attempts = 0
        /// How many of them met a connection that went away.
        var lostConnections = 0
        var task: HTTPClient.Task<Void>?
        var isCancelled = false
        /// Who is told of the head; gone once that is done.
        var arrival: Arrival?
        /// That of an answer without a body, until its end.
        var head: HTTPResponseHead?
        /// The piece that was read ahead, and who is told that there is room for the next.
        var piece: (bytes: ByteBuffer, room: EventLoopPromise<Void>?)?
        var reader: CheckedContinuation<ByteBuffer?, any Error>?
        /// So many bytes more are taken in for nobody; `nil` while somebody may read.
        var spare: Int?
        /// Who waits for the end of it all.
        var waiter: CheckedContinuation<Void, Never>?
        var end: Result<Void, any Error>?
    }

    /// The longest rest of a body that is read only to keep its connection.
    private static let longestSpare = 16_384
    /// For so long such a rest is waited for.
    private static let longestWait = TimeAmount.seconds(1)

    private let client: HTTPClient
    private let request: HTTPClient.Request
    private let willSend: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameter willSend: called before each attempt, unless the one before was not sent at all.
    init(
        _ request: HTTPClient.Request,
        with client: HTTPClient,
        willSend: @escaping @Sendable () -> Void
    ) {
        self.client = client
        self.request = request
        self.willSend = willSend
    }

    /// Sends the request, and tells `arrival` what came of it.
    func start(_ arrival: @escaping Arrival) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.arrival = arrival }
            return state.isCancelled
        }
        guard !isCancelled else { return arrival(.failure(CancellationError())) }
        willSend()
        send()
    }

    /// Sends the request, and waits for the head of the answer.
    ///
    /// - Throws: `CancellationError`; what the HTTP client reports.
    func head() async throws -> HTTPResponseHead {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                start { continuation.resume(with: $0) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Ends it, unless it has ended: whoever waits for the head or a piece gets an error.
    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.end == nil ? state.task : nil
        }
        task?.cancel()
    }

    /// Nobody reads the body any further. What is left of a short one is still taken in, as its connection can be used
    /// again only then; nobody waits for that.
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

    /// As `release`, and waits until the connection can be used again or is given up.
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

    /// Whether `bytes` belong to a rest that nobody reads.
    private func isSpare(_ bytes: ByteBuffer) -> Bool {
        let (isSpare, isTooMuch) = state.withLock { state in
            guard let spare = state.spare else { return (false, false) }
            state.spare = spare - bytes.readableBytes
            return (true, spare < bytes.readableBytes)
        }
        if isTooMuch { cancel() }
        return isSpare
    }

    /// The next piece of the body; `nil` at the end.
    ///
    /// - Throws: `CancellationError` if it was cancelled; what the HTTP client reports.
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

    private func send() {
        let attempt = state.withLock { state in
            state.attempts += 1
            return state.attempts
        }
        let task = client.execute(request: request, delegate: self)
        // A client that was shut down tells its delegate nothing.
        task.futureResult.whenFailure { [self] error in
            if state.withLock({ $0.attempts == attempt && $0.end == nil }) { fail(error) }
        }
        let isCancelled = state.withLock { state in
            // It may have failed already, and been sent anew.
            if state.attempts == attempt, state.end == nil { state.task = task }
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    // MARK: What the HTTP client tells

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        let arrival = state.withLock { state -> Arrival? in
            // Its sender may not have come to that yet.
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
        if isSpare(bytes) { return task.eventLoop.makeSucceededVoidFuture() }
        let (reader, hasNoBody) = state.withLock { ($0.reader.take(), $0.head != nil) }
        // Over HTTP/2 an origin can send one all the same. Nobody asks for it, so it would never come to its end.
        guard !hasNoBody else { return task.eventLoop.makeSucceededVoidFuture() }
        if let reader {
            reader.resume(returning: bytes)
            return task.eventLoop.makeSucceededVoidFuture()
        }
        let room = task.eventLoop.makePromise(of: Void.self)
        let late = state.withLock { state -> CheckedContinuation<ByteBuffer?, any Error>? in
            // Somebody may have begun to wait between the two looks.
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
        let (arrival, head, reader, waiter) = state.withLock { state in
            state.end = .success(())
            state.task = nil
            return (state.arrival.take(), state.head.take(), state.reader.take(), state.waiter.take())
        }
        waiter?.resume()
        if let head { arrival?(.success(head)) }
        reader?.resume(returning: nil)
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
        if waitsOn(after: error) { return send() }
        guard beginsAnew(after: error) else { return fail(error) }
        willSend()
        send()
    }

    private func fail(_ error: any Error) {
        let (arrival, reader, room, waiter, isCancelled) = state.withLock { state in
            let error: any Error = state.isCancelled ? CancellationError() : error
            state.end = .failure(error)
            state.task = nil
            let room = state.piece?.room.take()
            return (state.arrival.take(), state.reader.take(), room, state.waiter.take(), state.isCancelled)
        }
        waiter?.resume()
        let reported: any Error = isCancelled ? CancellationError() : error
        // What was read ahead can still be read; nothing comes after it.
        room?.succeed()
        arrival?(.failure(reported))
        reader?.resume(throwing: reported)
    }

    /// A pooled connection may have been closed by the origin in the moment it was taken. Since nothing was answered, the
    /// request is sent again on another.
    private func beginsAnew(after error: any Error) -> Bool {
        let attempts = OriginFailure.attempts(after: error)
        return state.withLock { state in
            state.lostConnections += 1
            return state.isUnanswered && state.lostConnections < attempts
        }
    }

    /// Requests to other hosts may have led to this one, more than it has connections for. Each has its own deadline,
    /// so nobody waits in vain for longer than its caller does.
    private func waitsOn(after error: any Error) -> Bool {
        guard OriginFailure.isWaitForConnection(error) else { return false }
        return state.withLock { $0.isUnanswered }
    }
}

extension Exchange.State {
    /// Whether somebody still waits for the head, of which nothing came.
    fileprivate var isUnanswered: Bool { arrival != nil && head == nil && !isCancelled }
}

extension HTTPResponseHead {
    /// RFC 9110 sections 15.3.5 and 15.4.5.
    fileprivate var mayHaveBody: Bool { status != .noContent && status != .notModified }
}
