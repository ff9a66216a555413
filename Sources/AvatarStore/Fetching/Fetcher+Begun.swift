import AvatarCore

/// A fetch whose request was begun without a task of its own.
final class BegunFetch: Sendable {
    /// The fetch of the image, with its entry when the request was begun.
    let job: FetchJob
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

    fileprivate init(
        _ job: FetchJob,
        tally: Tally,
        conditions: Fetcher.Conditions,
        requested: Timestamp,
        start: ContinuousClock.Instant,
        deadline: ContinuousClock.Instant,
        request: any BegunRequest
    ) {
        (self.job, self.tally, self.conditions, self.request) = (job, tally, conditions, request)
        (self.requested, self.start, self.deadline) = (requested, start, deadline)
        number = Deadlines.shared.add(deadline) { request.cancel() }
    }

    /// Cancels the request. It then arrives as a `CancellationError`.
    func cancel() {
        request.cancel()
    }

    /// The response, or the error in its place.
    struct Arrival: Sendable {
        fileprivate let response: Result<OriginArrival, any Error>
        /// The meaning of a response that is complete; `nil` if more follows, or if it takes more than plain calls to
        /// handle it. It was found on the client's thread, beside the work of the sync.
        fileprivate let content: Result<FetchResult.Content?, any Error>
        /// When the response arrived.
        fileprivate let time: Timestamp
    }
}

extension Fetcher {
    /// Begins to fetch or revalidate the image of `job`, whose entry was just looked up. Calls `arrival` once, on any
    /// thread.
    ///
    /// - Returns: `nil` if the request cannot begin without waiting, or resumes a download. Use `fetch` then.
    func begin(
        _ job: FetchJob,
        arrival: @escaping @Sendable (BegunFetch.Arrival) -> Void
    ) -> BegunFetch? {
        let target = job.target
        guard let batchOrigin, !target.isTransient, !target.isPartial else { return nil }
        // The file was there when the target was planned. It is checked again when the response arrives.
        let conditions = conditions(for: target, metadata(target))
        let (tally, clock) = (Tally(), clock)
        let (requested, start) = (clock.now(), ContinuousClock.now)
        let deadline = start.advanced(by: timeout)
        var request = OriginRequest(key: target.requestKey, fields: conditions.fields) { tally.addRequest() }
        request.conditionalURL = conditions.stored?.redirection?.url
        let begun = batchOrigin.begin(request) { [self] response in
            let times = Times(request: requested, response: clock.now())
            let content = response.flatMap { arrived in
                Result {
                    try takeWhole(arrived, conditions: conditions, times: times, for: job.target, counting: tally)
                }
            }
            arrival(BegunFetch.Arrival(response: response, content: content, time: times.response))
        }
        guard let begun else { return nil }
        return BegunFetch(
            job,
            tally: tally,
            conditions: conditions,
            requested: requested,
            start: start,
            deadline: deadline,
            request: begun
        )
    }

    /// The result of `arrival`, if all of it is at hand: a usable 304, a small image or a failure.
    ///
    /// - Parameter isWanted: whether the sync goes on. If so, a cancelled request has passed its deadline.
    /// - Returns: `nil` if the response has to be handled with `finish`.
    /// - Throws: `CancellationError`.
    func settle(_ begun: BegunFetch, _ arrival: BegunFetch.Arrival, isWanted: Bool) throws -> FetchResult? {
        Deadlines.shared.remove(begun.number)
        do {
            guard let content = try arrival.content.get() else { return nil }
            return result(begun, content, ended: arrival.time)
        } catch {
            let failure = failure(for: try cause(error, of: begun, isWanted: isWanted), begun.job.target)
            return result(begun, .failed(failure), ended: arrival.time)
        }
    }

    /// Handles a response of which more follows: a redirect, a large body, one with a content coding, or a 304 after
    /// which the image has to be requested again.
    ///
    /// - Throws: `CancellationError` only.
    func finish(_ begun: BegunFetch, _ arrival: BegunFetch.Arrival) async throws -> FetchResult {
        let content: FetchResult.Content
        do {
            content = try await Deadlines.shared.run(until: begun.deadline) { [self] in
                try await takeRest(begun, arrival)
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            content = .failed(failure(for: error, begun.job.target))
        }
        return result(begun, content, ended: clock.now())
    }

    private func takeRest(_ begun: BegunFetch, _ arrival: BegunFetch.Arrival) async throws -> FetchResult.Content {
        let (target, tally) = (begun.job.target, begun.tally)
        let times = Times(request: begun.requested, response: arrival.time)
        let arrived = try arrival.response.get()
        let content: FetchResult.Content?
        if let body = arrived.body {
            let head = arrived.head
            let response = OriginResponse(status: head.status, fields: head.fields, body: OriginBody(body))
            content = try await take(response, times, stored: begun.conditions.stored, for: target, counting: tally)
        } else {
            content = try await begun.request.finish { response in
                try await take(response, times, stored: begun.conditions.stored, for: target, counting: tally)
            }
        }
        if let content { return content }
        return try await repeated(begun.conditions, for: target, counting: tally)
    }

    /// The meaning of a response that is complete.
    ///
    /// - Returns: `nil` if more of the response follows, or if it takes more than plain calls to handle it.
    /// - Throws: `FetchFailure` for a status without an image; `ImageRejection`.
    private func takeWhole(
        _ arrived: OriginArrival,
        conditions: Conditions,
        times: Times,
        for target: FetchTarget,
        counting tally: Tally
    ) throws -> FetchResult.Content? {
        let head = arrived.head
        tally.note(head)
        switch meaning(of: head) {
        case .confirmation:
            // It has no body, whatever the client says.
            return notModified(head.fields, nil, times: times, stored: conditions.stored, for: target)
        case .image:
            guard let body = arrived.body, head.fields.contentCodings.isEmpty else { return nil }
            tally.add(bytes: body.count)
            return try image(body, status: head.status, metadata(head, nil, times: times, for: target), for: target)
        case .failure:
            // Without a body it may be a redirect, which the client follows.
            guard arrived.body != nil else { return nil }
            throw statusFailure(head, nil, for: target)
        }
    }

    /// The error in place of a response. A cancelled request does not say whether its deadline or the sync cancelled it.
    private func cause(_ error: any Error, of begun: BegunFetch, isWanted: Bool) throws -> any Error {
        guard error is CancellationError else { return error }
        guard isWanted, ContinuousClock.now >= begun.deadline else { throw error }
        return DeadlinePassed()
    }

    private func result(_ begun: BegunFetch, _ content: FetchResult.Content, ended: Timestamp) -> FetchResult {
        var result = begun.tally.result(content, began: begun.requested, ended: ended)
        result.duration = .now - begun.start
        note(result, of: begun.job.target)
        return result
    }
}
