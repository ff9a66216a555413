import AvatarCore
import AvatarFiles
import AvatarImages
import HTTPTypes

/// Asks an origin for one image: conditionally where something is stored, where it stopped if it broke off before, within
/// a deadline, into the staging folder.
struct Fetcher: Sendable {
    let origin: any OriginClient
    let places: StorePlaces
    let clock: any WallClock
    let timeout: Duration
    let allowsSVG: Bool
    let limits: Limits
    let metrics: StoreMetrics
    let partials: PartialDownloads
    let progress: FetchProgressTable
    /// `origin`, if it can begin requests without a task for each.
    let batchOrigin: (any BatchOriginClient)?

    /// Fetches or revalidates `target`. A failure is a result; only cancellation is thrown.
    ///
    /// - Parameter tally: counts what was sent and what came, also if it is cancelled.
    func fetch(_ target: FetchTarget, _ tally: Tally = Tally()) async throws -> FetchResult {
        let began = clock.now()
        let start = ContinuousClock.now
        let content: FetchResult.Content
        do {
            content = try await Deadlines.shared.run(timeout) { try await exchange(target, tally) }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            content = .failed(failure(for: error, target))
        }
        let result = tally.result(content, began: began, ended: clock.now())
        metrics.fetch(result, took: .now - start)
        return result
    }

    private func exchange(_ target: FetchTarget, _ tally: Tally) async throws -> FetchResult.Content {
        if !target.isTransient, let partial = try await partials.find(target),
            let content = try await resume(partial, target, tally)
        {
            return content
        }
        let stored = stored(target)
        let conditions = conditions(for: target, stored)
        // A 304 to a request without conditions confirms nothing.
        let confirmable = conditions.isEmpty ? nil : stored
        if let content = try await request(target, conditions, confirmable, tally) { return content }
        return conditions.isEmpty ? unaskedConfirmation(target) : try await unconditional(target, tally)
    }

    /// Asks in full: the answer was "not modified", but of what is stored nothing is left, or it spoke of something else.
    func unconditional(_ target: FetchTarget, _ tally: Tally) async throws -> FetchResult.Content {
        try await request(target, HTTPFields(), nil, tally) ?? unaskedConfirmation(target)
    }

    private func unaskedConfirmation(_ target: FetchTarget) -> FetchResult.Content {
        .failed(
            FetchFailure(
                kind: .unexpectedStatus,
                message: "\(named(target)) answered 304 to an unconditional request."
            )
        )
    }

    /// - Parameter stored: what a 304 would confirm.
    /// - Returns: `nil`: the origin says that what is stored is right, but the store cannot use that.
    private func request(
        _ target: FetchTarget,
        _ conditions: HTTPFields,
        _ stored: ResponseMetadata?,
        _ tally: Tally
    ) async throws -> FetchResult.Content? {
        try await send(target, conditions, for: stored?.redirection?.url, tally) { response, times in
            try await take(response, times, stored, target, tally)
        }
    }

    /// Takes the answer to a request for all of the image, which may have been conditional.
    ///
    /// - Returns: `nil`: the origin says that what is stored is right, but the store cannot use that.
    func take(
        _ response: OriginResponse,
        _ times: Times,
        _ stored: ResponseMetadata?,
        _ target: FetchTarget,
        _ tally: Tally
    ) async throws -> FetchResult.Content? {
        switch response.status {
        case 304:
            return notModified(response.fields, response.redirection, times, stored, target)
        case 206 where response.fields.mayHoldWholeBody, _ where FailureKind(status: response.status) == nil:
            return try await receiveImage(response, metadata(response, times, target), target, tally)
        default:
            throw statusFailure(response, target)
        }
    }

    /// Goes on with a download that broke off. `nil`: what is there is no use, and the image has to be asked for.
    private func resume(
        _ partial: PartialDownloads.Found,
        _ target: FetchTarget,
        _ tally: Tally
    ) async throws -> FetchResult.Content? {
        let (plan, url) = (partial.plan, partial.record.url)
        let content: FetchResult.Content? = try await send(target, plan.fields, for: url, tally) { response, times in
            let metadata = metadata(response, times, target)
            // Nobody else was asked for a part.
            let isOfAnother = response.status == 206 && response.url(of: target) != url
            switch isOfAnother ? .refuse(.otherRange) : plan.judge(status: response.status, fields: response.fields) {
            case .append(_, let total):
                return try await receiveRest(of: total, partial, response, metadata, target, tally)
            case .startAnew:
                try await partials.drop(partial)
                return try await receiveImage(response, metadata, target, tally)
            case .refuse:
                return FetchResult.Content?.none
            case .fail:
                throw statusFailure(response, target)
            }
        }
        if content == nil { try await partials.drop(partial) }
        return content
    }

    /// When a request was sent, and when the head of its answer came.
    struct Times {
        let request: Timestamp
        let response: Timestamp
    }

    private func send<Result: Sendable>(
        _ target: FetchTarget,
        _ fields: HTTPFields,
        for conditionalURL: String?,
        _ tally: Tally,
        receive: (OriginResponse, Times) async throws -> Result
    ) async throws -> Result {
        let requestTime = clock.now()
        var request = OriginRequest(key: target.requestKey, fields: fields) { tally.addRequest() }
        request.conditionalURL = conditionalURL
        return try await origin.send(request) { response in
            try await receive(response, Times(request: requestTime, response: clock.now()))
        }
    }

    private func metadata(_ response: OriginResponse, _ times: Times, _ target: FetchTarget) -> ResponseMetadata {
        ResponseMetadata(
            // A part that completes the whole stands for the whole (RFC 9110 section 15.3.7.3).
            status: response.status == 206 ? 200 : response.status,
            fields: response.fields,
            requestTime: times.request,
            responseTime: times.response,
            request: origin.requestFields(for: target.requestURL),
            redirection: response.redirection
        )
    }

    // MARK: Conditions

    /// What the origin said of the image that is stored; `nil` if none is, in full.
    private func stored(_ target: FetchTarget) -> ResponseMetadata? {
        guard let file = target.entry?.file, places.stored.contains(file) else { return nil }
        return metadata(target)
    }

    /// What the origin said of the image that the index knows of; `nil` if it knows of none that is in full.
    func metadata(_ target: FetchTarget) -> ResponseMetadata? {
        guard let entry = target.entry, entry.file != nil, entry.isLowData == target.isLowData else { return nil }
        return ResponseMetadata(stored: entry.validation)
    }

    func conditions(for target: FetchTarget, _ stored: ResponseMetadata?) -> HTTPFields {
        ConditionalRequest(
            for: stored,
            fetched: target.entry?.validation.fetched,
            isReload: target.isUnconditional,
            policy: limits.freshness,
            now: clock.now(),
            request: origin.requestFields(for: target.requestURL)
        ).fields
    }

    /// What is stored, brought up to date by the `fields` of a 304; `nil` if they speak of something else.
    func notModified(
        _ fields: HTTPFields,
        _ redirection: Redirection?,
        _ times: Times,
        _ stored: ResponseMetadata?,
        _ target: FetchTarget
    ) -> FetchResult.Content? {
        // Its file may have gone meanwhile.
        guard let stored, let file = target.entry?.file, places.stored.contains(file) else { return nil }
        let updated = stored.updating(
            with: fields,
            requestTime: times.request,
            responseTime: times.response,
            request: origin.requestFields(for: target.requestURL),
            redirection: redirection,
            mode: limits.freshness.mode
        )
        return updated.map { .notModified($0) }
    }

    // MARK: Failures

    /// What a status without an image says; its body says nothing more.
    private func statusFailure(_ response: OriginResponse, _ target: FetchTarget) -> FetchFailure {
        FetchFailure(
            kind: FailureKind(status: response.status) ?? .unexpectedStatus,
            message: "\(named(target)) answered with status \(response.status).",
            retryAfter: RetryAfter.time(status: response.status, fields: response.fields, now: clock.now()),
            redirectedHost: response.redirection.flatMap { AvatarKey(stored: $0.url).host?.description }
        )
    }

    func failure(for error: any Error, _ target: FetchTarget) -> FetchFailure {
        switch error {
        case let failure as FetchFailure:
            failure
        case let error as OriginError:
            FetchFailure(kind: error.kind, message: error.message, redirectedHost: error.redirectedHost)
        case let rejection as ImageRejection:
            FetchFailure(kind: rejection.kind, message: "\(named(target)): \(rejection.message)")
        case is DeadlinePassed:
            FetchFailure(
                kind: .timeout,
                message: "\(named(target)) took longer than \(timeout), the limit for one image."
            )
        case let error as AvatarStoreError:
            FetchFailure(kind: error.failure ?? .storage, message: error.message, storeError: error)
        default:
            FetchFailure(kind: .unreachable, message: "\(named(target)): the origin client failed (\(type(of: error)).")
        }
    }

    func named(_ target: FetchTarget) -> String {
        AvatarKey.redact(target.requestURL)
    }
}

extension OriginResponse {
    /// Where it came from.
    func url(of target: FetchTarget) -> String { redirection?.url ?? target.requestURL }
}
