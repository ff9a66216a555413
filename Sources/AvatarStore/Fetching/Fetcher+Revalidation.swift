import AvatarCore
import HTTPTypes

/// A conditional request that was begun without a task of its own.
struct Revalidation: Sendable {
    /// The image, and its entry when the request was begun.
    let target: FetchTarget
    /// Counts its requests and bytes.
    let tally: Tally
    /// The stored response that a 304 confirms.
    fileprivate let stored: ResponseMetadata
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

    /// Cancels the request. It then arrives as a `CancellationError`.
    func cancel() {
        request.cancel()
    }

    /// The head of the response, or the error in its place, and the time of its arrival.
    struct Arrival: Sendable {
        let head: Result<OriginHead, any Error>
        let time: Timestamp
    }
}

extension Fetcher {
    /// Begins to revalidate `target`, whose entry was just looked up. Calls `arrival` once, on any thread.
    ///
    /// - Returns: `nil` if there is nothing to revalidate, or it cannot begin without waiting. Use `fetch` then.
    func begin(
        _ target: FetchTarget,
        arrival: @escaping @Sendable (Revalidation.Arrival) -> Void
    ) -> Revalidation? {
        // The file was there when the target was planned. It is checked again when the response arrives.
        guard let batchOrigin, !target.isTransient, !target.isUnconditional, !target.isPartial,
            let stored = metadata(target)
        else { return nil }
        let fields = conditions(for: target, stored)
        guard !fields.isEmpty else { return nil }
        let (tally, clock) = (Tally(), clock)
        let (requested, start) = (clock.now(), ContinuousClock.now)
        let deadline = start.advanced(by: timeout)
        var request = OriginRequest(key: target.requestKey, fields: fields) { tally.addRequest() }
        request.conditionalURL = stored.redirection?.url
        let begun = batchOrigin.begin(request) { head in
            arrival(Revalidation.Arrival(head: head, time: clock.now()))
        }
        guard let begun else { return nil }
        return Revalidation(
            target: target,
            tally: tally,
            stored: stored,
            requested: requested,
            start: start,
            deadline: deadline,
            number: Deadlines.shared.add(deadline) { begun.cancel() },
            request: begun
        )
    }

    /// The result of `arrival`, if its head is enough: a usable 304 or a failure.
    ///
    /// - Parameter isWanted: whether the sync goes on. If so, a cancelled request has passed its deadline.
    /// - Returns: `nil` if the response has to be handled with `finish`.
    /// - Throws: `CancellationError`.
    func settle(_ revalidation: Revalidation, _ arrival: Revalidation.Arrival, isWanted: Bool) throws -> FetchResult? {
        Deadlines.shared.remove(revalidation.number)
        let content: FetchResult.Content
        switch arrival.head {
        case .success(let head):
            guard head.status == 304, let confirmed = confirmed(revalidation, head, arrival.time) else { return nil }
            content = confirmed
        case .failure(let error):
            content = .failed(failure(for: try cause(error, revalidation, isWanted), revalidation.target))
        }
        return result(revalidation, content, ended: arrival.time)
    }

    /// Handles a response whose head is not enough: receives the body, or requests the image again.
    ///
    /// - Throws: `CancellationError` only.
    func finish(_ revalidation: Revalidation, _ arrival: Revalidation.Arrival) async throws -> FetchResult {
        let (target, tally) = (revalidation.target, revalidation.tally)
        let times = Times(request: revalidation.requested, response: arrival.time)
        let content: FetchResult.Content
        do {
            content = try await Deadlines.shared.run(until: revalidation.deadline) {
                let content = try await revalidation.request.finish { response in
                    try await take(response, times, revalidation.stored, target, tally)
                }
                if let content { return content }
                return try await unconditional(target, tally)
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            content = .failed(failure(for: error, target))
        }
        return result(revalidation, content, ended: clock.now())
    }

    /// The stored response updated by a 304; `nil` if the 304 does not refer to it, or its file is gone.
    private func confirmed(
        _ revalidation: Revalidation,
        _ head: OriginHead,
        _ time: Timestamp
    ) -> FetchResult.Content? {
        notModified(
            head.fields,
            nil,
            Times(request: revalidation.requested, response: time),
            revalidation.stored,
            revalidation.target
        )
    }

    /// The error in place of a head. A cancelled request does not say whether its deadline or the sync cancelled it.
    private func cause(_ error: any Error, _ revalidation: Revalidation, _ isWanted: Bool) throws -> any Error {
        guard error is CancellationError else { return error }
        guard isWanted, ContinuousClock.now >= revalidation.deadline else { throw error }
        return DeadlinePassed()
    }

    /// The result of a revalidation, counted by the metrics.
    private func result(
        _ revalidation: Revalidation,
        _ content: FetchResult.Content,
        ended: Timestamp
    ) -> FetchResult {
        let result = revalidation.tally.result(content, began: revalidation.requested, ended: ended)
        metrics.fetch(result, took: .now - revalidation.start)
        return result
    }
}
