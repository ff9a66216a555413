import AvatarCore
import HTTPTypes

/// A conditional request that was begun without a task of its own.
struct Revalidation: Sendable {
    let target: FetchTarget
    let tally: Tally
    /// What a 304 confirms.
    fileprivate let stored: ResponseMetadata
    fileprivate let requested: Timestamp
    fileprivate let start: ContinuousClock.Instant
    fileprivate let deadline: ContinuousClock.Instant
    fileprivate let number: Int
    fileprivate let request: any BegunRequest

    /// Ends it: its head will be told to be a `CancellationError`.
    func cancel() {
        request.cancel()
    }

    /// What came of it, and when.
    struct Arrival: Sendable {
        let head: Result<OriginHead, any Error>
        let time: Timestamp
    }
}

extension Fetcher {
    /// Begins to revalidate `target`, which was looked at just now, and calls `arrival` once, on any thread.
    ///
    /// - Returns: `nil` if there is nothing to revalidate, or it cannot be done without waiting: `fetch` does that.
    func begin(
        _ target: FetchTarget,
        arrival: @escaping @Sendable (Revalidation.Arrival) -> Void
    ) -> Revalidation? {
        // Its file was there when it was chosen. Whether it still is, is asked once more when the answer has come.
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

    /// What `arrival` comes to; `nil` if there is more to be done about it than to take note (`finish`).
    ///
    /// - Parameter isWanted: whether it was not cancelled from here.
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

    /// Goes on from the head of an answer that is more than a confirmation.
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

    /// Why there is no head: what cancels a request does not say why it did.
    private func cause(_ error: any Error, _ revalidation: Revalidation, _ isWanted: Bool) throws -> any Error {
        guard error is CancellationError else { return error }
        guard isWanted, ContinuousClock.now >= revalidation.deadline else { throw error }
        return DeadlinePassed()
    }

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
