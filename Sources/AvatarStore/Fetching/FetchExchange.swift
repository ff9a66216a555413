import AvatarCore
import AvatarFoundation
import AvatarProviders
import Synchronization

/// A request for one image under way: its begin, its deadline, and its counts.
final class FetchExchange: Sendable {
    /// The image, with its entry when the request was begun.
    let target: FetchTarget
    /// Counts its requests and bytes.
    let tally: Tally
    fileprivate let conditions: Fetcher.Conditions
    /// When the request was begun, by the store's clock.
    fileprivate let requested: Timestamp
    /// When the request was begun, for its duration.
    fileprivate let start: ContinuousClock.Instant
    /// The end of the time for one image, body included.
    fileprivate let deadline: ContinuousClock.Instant
    /// The number of its deadline in `Deadlines.shared`.
    fileprivate let number: Int
    /// The request under way, which the client can cancel or finish.
    fileprivate let request: any BegunRequest
    /// Whether the store has cancelled it. A client may cancel a request by itself, too.
    private let cancelled = Atomic(false)

    fileprivate init(
        _ target: FetchTarget,
        _ tally: Tally,
        _ conditions: Fetcher.Conditions,
        requested: Timestamp,
        start: ContinuousClock.Instant,
        deadline: ContinuousClock.Instant,
        request: any BegunRequest
    ) {
        (self.target, self.tally, self.conditions, self.request) = (target, tally, conditions, request)
        (self.requested, self.start, self.deadline) = (requested, start, deadline)
        number = Deadlines.shared.add(deadline) { request.cancel() }
    }

    /// Cancels the request. It then arrives as a `CancellationError`.
    func cancel() {
        cancelled.store(true, ordering: .sequentiallyConsistent)
        Deadlines.shared.remove(number)
        request.cancel()
    }

    /// Whether `cancel` was called.
    fileprivate var isCancelled: Bool { cancelled.load(ordering: .sequentiallyConsistent) }

    /// The response, or the error in its place.
    struct Arrival: Sendable {
        fileprivate let response: Result<OriginArrival, any Error>
        /// The meaning of a response that is complete; `nil` if more follows, or if it takes more than plain calls to
        /// handle it. It was found on the client's thread, beside the work of a sync.
        fileprivate let content: Result<FetchResult.Content?, any Error>
        /// When the response arrived.
        fileprivate let time: Timestamp
    }
}

// The three steps of a fetch: begin, settle, finish. A sync and a `BegunFetch` take each by itself; `fetch` waits in a task.

extension Fetcher {
    /// Fetches or revalidates `target`. Resumes an interrupted download if there is one. A failure is a result.
    ///
    /// - Parameter tally: counts requests and bytes, even if the fetch is cancelled.
    /// - Throws: `CancellationError` only.
    func fetch(_ target: FetchTarget, _ tally: Tally = Tally()) async throws -> FetchResult {
        let start = ContinuousClock.now
        if target.isPartial, let result = try await resumed(target, tally, start: start) { return result }
        try Task.checkCancellation()
        let awaited = AwaitedArrival<FetchExchange.Arrival>()
        let exchange = begin(target, stored: stored(target), tally, start: start) { awaited.resume(.success($0)) }
        origin.flush()
        let arrival = try await awaited.value { exchange.cancel() }
        if let result = try settle(exchange, arrival, isWanted: !Task.isCancelled) { return result }
        return try await finish(exchange, arrival)
    }

    /// The result of resuming the interrupted download; `nil` if it cannot go on.
    private func resumed(
        _ target: FetchTarget,
        _ tally: Tally,
        start: ContinuousClock.Instant
    ) async throws -> FetchResult? {
        let requested = clock.now()
        let content: FetchResult.Content?
        do {
            content = try await Deadlines.shared.run(until: start.advanced(by: timeout)) { [self] in
                guard let partial = try await partials.find(target) else { return nil }
                return try await resume(partial, for: target, counting: tally)
            }
        } catch is CancellationError where Task.isCancelled {
            throw CancellationError()
        } catch {
            content = .failed(failure(for: error, target))
        }
        guard let content else { return nil }
        return result(target, tally, content, requested: requested, start: start, ended: clock.now())
    }

    /// Begins to fetch or revalidate `target`, whose entry was just looked up. Calls `arrival` once, on any thread.
    ///
    /// `settle` must follow with the arrival, and then `finish` unless that has a result.
    ///
    /// - Parameters:
    ///   - stored: the response that a 304 confirms; `nil` for an unconditional request.
    ///   - start: when the fetch was begun, from which its time counts.
    func begin(
        _ target: FetchTarget,
        stored: ResponseMetadata?,
        _ tally: Tally,
        start: ContinuousClock.Instant = .now,
        arrival: @escaping @Sendable (FetchExchange.Arrival) -> Void
    ) -> FetchExchange {
        let conditions = conditions(for: target, stored)
        let requested = clock.now()
        var request = OriginRequest(key: target.requestKey, fields: conditions.fields) { tally.addRequest() }
        request.conditionalURL = conditions.stored?.redirection?.url
        request.namedOrigin = target.namedOrigin
        request.isMultiplexed = target.turn.isMultiplexed
        let begun = origin.begin(request) { [self] response in
            let times = Times(request: requested, response: clock.now())
            let content = response.flatMap { arrived in
                Result { try takeWhole(arrived, conditions, times, for: target, counting: tally) }
            }
            arrival(FetchExchange.Arrival(response: response, content: content, time: times.response))
        }
        return FetchExchange(
            target,
            tally,
            conditions,
            requested: requested,
            start: start,
            deadline: start.advanced(by: timeout),
            request: begun
        )
    }

    /// The result of `arrival`, if all of it is at hand: a usable 304, a small image or a failure.
    ///
    /// - Parameter isWanted: whether the fetch goes on.
    /// - Returns: `nil` if the response has to be handled with `finish`.
    /// - Throws: `CancellationError`.
    func settle(
        _ exchange: FetchExchange,
        _ arrival: FetchExchange.Arrival,
        isWanted: Bool
    ) throws -> FetchResult? {
        Deadlines.shared.remove(exchange.number)
        do {
            guard let content = try arrival.content.get() else { return nil }
            return result(exchange, content, ended: arrival.time)
        } catch {
            let failure = failure(for: try cause(error, of: exchange, isWanted: isWanted), exchange.target)
            return result(exchange, .failed(failure), ended: arrival.time)
        }
    }

    /// Handles a response of which more follows: a redirect, a large body, one with a content coding, or a 304 after
    /// which the image has to be requested again.
    ///
    /// - Throws: `CancellationError` only.
    func finish(_ exchange: FetchExchange, _ arrival: FetchExchange.Arrival) async throws -> FetchResult {
        let content: FetchResult.Content
        do {
            content = try await Deadlines.shared.run(until: exchange.deadline) { [self] in
                try await takeRest(exchange, arrival)
            }
        } catch is CancellationError where Task.isCancelled || exchange.isCancelled {
            throw CancellationError()
        } catch {
            content = .failed(failure(for: error, exchange.target))
        }
        return result(exchange, content, ended: clock.now())
    }

    private func takeRest(
        _ exchange: FetchExchange,
        _ arrival: FetchExchange.Arrival
    ) async throws -> FetchResult.Content {
        let (target, tally, stored) = (exchange.target, exchange.tally, exchange.conditions.stored)
        let times = Times(request: exchange.requested, response: arrival.time)
        let arrived = try arrival.response.get()
        let content: FetchResult.Content?
        if let body = arrived.body {
            let response = OriginResponse(arrived.head, body: OriginBody(body))
            content = try await take(response, times, stored: stored, for: target, counting: tally)
        } else {
            content = try await exchange.request.finish { response in
                try await take(response, times, stored: stored, for: target, counting: tally)
            }
        }
        if let content { return content }
        return try await repeated(exchange.conditions, for: target, counting: tally)
    }

    /// The meaning of a response that is complete.
    ///
    /// - Returns: `nil` if more of the response follows, or if it takes more than plain calls to handle it.
    /// - Throws: `FetchFailure` for a status without an image; `ImageRejection`.
    private func takeWhole(
        _ arrived: OriginArrival,
        _ conditions: Conditions,
        _ times: Times,
        for target: FetchTarget,
        counting tally: Tally
    ) throws -> FetchResult.Content? {
        let head = arrived.head
        tally.note(head)
        switch meaning(of: head) {
        case .confirmation:
            // It has no body, whatever the client says.
            return notModified(head, times: times, stored: conditions.stored, for: target)
        case .image:
            guard let body = arrived.body, head.fields.contentCodings.isEmpty else { return nil }
            tally.add(bytes: body.count)
            return try image(body, status: head.status, metadata(head, times: times, for: target), for: target)
        case .failure:
            // Without a body it may be a redirect, which the client follows.
            guard arrived.body != nil else { return nil }
            throw statusFailure(head, for: target)
        }
    }

    /// The error in place of a response. A cancelled request does not say whether its deadline, the store or the client
    /// cancelled it; by the client it is a failure like others.
    private func cause(_ error: any Error, of exchange: FetchExchange, isWanted: Bool) throws -> any Error {
        guard error is CancellationError else { return error }
        guard isWanted, !exchange.isCancelled else { throw error }
        return ContinuousClock.now >= exchange.deadline ? DeadlinePassed() : error
    }

    private func result(_ exchange: FetchExchange, _ content: FetchResult.Content, ended: Timestamp) -> FetchResult {
        result(
            exchange.target,
            exchange.tally,
            content,
            requested: exchange.requested,
            start: exchange.start,
            ended: ended
        )
    }

    private func result(
        _ target: FetchTarget,
        _ tally: Tally,
        _ content: FetchResult.Content,
        requested: Timestamp,
        start: ContinuousClock.Instant,
        ended: Timestamp
    ) -> FetchResult {
        var result = tally.result(content, began: requested, ended: ended)
        result.duration = .now - start
        note(result, of: target)
        return result
    }
}
