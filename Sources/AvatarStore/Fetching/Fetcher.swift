import AvatarCore
import AvatarFiles
import AvatarFoundation
import AvatarImages
import AvatarIndex
import AvatarProviders
import AvatarWriter
import HTTPTypes
import Logging

/// Requests one image from its origin, within a deadline, and stages its bytes.
///
/// The request is conditional if the image is stored, and a range request if an earlier download was interrupted.
///
/// It is a class so that each request under way copies one reference.
final class Fetcher: Sendable {
    /// The client that sends the requests.
    package let origin: any OriginClient
    /// The folders for staged files.
    package let places: StorePlaces
    /// The clock of request and response times (RFC 9111 section 4.2.3).
    package let clock: any WallClock
    /// The time limit for one image, including redirects and the body.
    let timeout: Duration
    /// The limits on bytes and pixels, the formats, and the freshness rules.
    package let limits: Limits
    /// Counts each fetch with its duration.
    let metrics: StoreMetrics
    /// Receives a line per fetch.
    let logger: Logger
    /// Interrupted downloads, to resume and to keep.
    let partials: PartialDownloads
    /// The readers that want the progress.
    let progress: FetchProgressTable

    /// A fetcher of `parts` that sends its requests with `origin`.
    init(
        _ origin: any OriginClient,
        _ parts: StoreParts,
        _ writable: StoreParts.Writable,
        timeout: Duration,
        limits: Limits,
        metrics: StoreMetrics,
        progress: FetchProgressTable
    ) {
        self.origin = origin
        (self.timeout, self.limits, self.metrics, self.progress) = (timeout, limits, metrics, progress)
        (places, clock, logger) = (writable.places, parts.clock, parts.configuration.logger)
        partials = PartialDownloads(
            index: parts.index,
            places: places,
            writer: writable.writer,
            clock: clock,
            logger: logger
        )
    }

    /// Counts a fetch, and logs it in a line.
    func note(_ result: FetchResult, of target: FetchTarget) {
        metrics.fetch(result, took: result.duration)
        logger.debug("requested", metadata: result.facts(host: target.host, took: result.duration))
    }

    /// Requests the image without conditions, after a 304 that the store cannot use: the stored file is gone, or the
    /// 304 does not refer to it. A 304 to a request without conditions is a failure.
    func repeated(_ refused: Conditions, for target: FetchTarget, counting tally: Tally) async throws
        -> FetchResult.Content
    {
        if !refused.fields.isEmpty {
            let content = try await send(target, HTTPFields(), for: nil, counting: tally) { response, times in
                try await take(response, times, stored: nil, for: target, counting: tally)
            }
            if let content { return content }
        }
        return .failed(
            FetchFailure(
                kind: .unexpectedStatus,
                message: "\(named(target)) returned status 304 to an unconditional request."
            )
        )
    }

    /// Handles the response to a request for the whole image, conditional or not.
    ///
    /// - Parameter stored: the stored response that a 304 confirms.
    /// - Returns: `nil` after a 304 that the store cannot use.
    /// - Throws: `FetchFailure` for a status without an image; any error of the body.
    func take(
        _ response: OriginResponse,
        _ times: Times,
        stored: ResponseMetadata?,
        for target: FetchTarget,
        counting tally: Tally
    ) async throws -> FetchResult.Content? {
        let head = response.head
        switch meaning(of: head) {
        case .confirmation:
            return notModified(head, times: times, stored: stored, for: target)
        case .image:
            let metadata = metadata(head, times: times, for: target)
            return try await receiveImage(response, metadata, for: target, counting: tally)
        case .failure:
            throw statusFailure(head, for: target)
        }
    }

    /// The meaning of a status for the image.
    enum Meaning {
        /// 304: the stored image is still the current one.
        case confirmation
        /// The body is an image, or should be one.
        case image
        /// There is no image.
        case failure
    }

    /// The meaning of the response that begins with `head`.
    func meaning(of head: OriginHead) -> Meaning {
        switch head.status {
        case 304: .confirmation
        case 206 where head.fields.mayHoldWholeBody, _ where FailureKind(status: head.status) == nil: .image
        default: .failure
        }
    }

    /// Resumes an interrupted download.
    ///
    /// - Returns: `nil` if the response does not continue the stored part. The part is dropped, and the image has to be
    ///   requested in full.
    func resume(
        _ partial: PartialDownloads.Found,
        for target: FetchTarget,
        counting tally: Tally
    ) async throws -> FetchResult.Content? {
        let (plan, url) = (partial.plan, partial.record.url)
        let content: FetchResult.Content? = try await send(target, plan.fields, for: url, counting: tally) {
            response,
            times in
            let head = response.head
            let metadata = metadata(head, times: times, for: target)
            // The range applies to the URL that sent the stored part. A part from another URL may be of another image.
            let isOfAnother = head.status == 206 && response.url(of: target) != url
            switch isOfAnother ? .refuse(.otherRange) : plan.judge(status: head.status, fields: head.fields) {
            case .append(_, let total):
                return try await receiveRest(
                    of: total,
                    partial,
                    response,
                    metadata: metadata,
                    for: target,
                    counting: tally
                )
            case .startAnew:
                try await partials.drop(partial)
                return try await receiveImage(response, metadata, for: target, counting: tally)
            case .refuse:
                return FetchResult.Content?.none
            case .fail:
                throw statusFailure(head, for: target)
            }
        }
        if content == nil { try await partials.drop(partial) }
        return content
    }

    /// The times at which a request was sent and the head of its response was received.
    struct Times {
        let request: Timestamp
        let response: Timestamp
    }

    /// Sends a request and counts it.
    ///
    /// - Parameter conditionalURL: the URL that the conditions apply to, if it is not the URL of `target`.
    private func send<Result: Sendable>(
        _ target: FetchTarget,
        _ fields: HTTPFields,
        for conditionalURL: String?,
        counting tally: Tally,
        receive: (OriginResponse, Times) async throws -> Result
    ) async throws -> Result {
        let requestTime = clock.now()
        var request = OriginRequest(key: target.requestKey, fields: fields) { tally.addRequest() }
        request.conditionalURL = conditionalURL
        request.namedOrigin = target.namedOrigin
        return try await origin.send(request) { response in
            tally.note(response.head)
            return try await receive(response, Times(request: requestTime, response: clock.now()))
        }
    }

    /// The metadata of a response as the index keeps them, with the request's fields that `Vary` names.
    func metadata(
        _ head: OriginHead,
        times: Times,
        for target: FetchTarget
    ) -> ResponseMetadata {
        ResponseMetadata(
            // A part that completes the stored one counts as a 200 (RFC 9110 section 15.3.7.3).
            status: head.status == 206 ? 200 : head.status,
            fields: head.fields,
            requestTime: times.request,
            responseTime: times.response,
            request: origin.requestFields(for: target.requestURL),
            redirection: head.redirection
        )
    }

    // MARK: Conditions

    /// The stored response of the image; `nil` if the entry has no file, or the file is missing.
    func stored(_ target: FetchTarget) -> ResponseMetadata? {
        isConfirmable(target) ? metadata(target) : nil
    }

    /// Whether a 304 can confirm an image: the file of the entry exists, or its image is ignored, or another machine has a
    /// copy.
    ///
    /// An image whose file the disk cannot answer for is requested whole. That takes nothing from the index: the commit
    /// looks at the file again, and throws what the disk says.
    func isConfirmable(_ target: FetchTarget) -> Bool {
        if target.standIn != nil { return true }
        guard let entry = target.entry else { return false }
        guard let file = entry.file else { return entry.isIgnored }
        do throws(AvatarStoreError) { return try places.stored.contains(file) } catch { return false }
    }

    /// The stored response according to the index, without checking the disk. `nil` if the entry has neither a file nor an
    /// ignored image, or has the low-data image while `target` is the regular image (or the reverse).
    func metadata(_ target: FetchTarget) -> ResponseMetadata? {
        if let standIn = target.standIn { return standIn.metadata }
        guard let entry = target.entry, entry.file != nil || entry.isIgnored, entry.isLowData == target.isLowData else {
            return nil
        }
        return ResponseMetadata(stored: entry.validation)
    }

    /// The conditions of a request (RFC 9110 section 13.1). It is a class because a sync hands them on.
    final class Conditions: Sendable {
        /// The conditional header fields; empty for an unconditional request.
        let fields: HTTPFields
        /// The stored response that a 304 confirms. `nil` without conditions: such a 304 confirms nothing.
        let stored: ResponseMetadata?

        /// The condition that what `stored` describes has changed, as `fields` say it. Default: no condition.
        init(fields: HTTPFields = HTTPFields(), stored: ResponseMetadata? = nil) {
            self.fields = fields
            self.stored = fields.isEmpty ? nil : stored
        }
    }

    /// The conditions of a request for `target`; none if `stored` is `nil` or has no validator.
    func conditions(for target: FetchTarget, _ stored: ResponseMetadata?) -> Conditions {
        let request = ConditionalRequest(
            for: stored,
            fetched: target.standIn?.fetched ?? target.entry?.validation.fetched,
            isReload: target.isUnconditional,
            policy: limits.freshness,
            now: clock.now(),
            request: origin.requestFields(for: target.requestURL)
        )
        return Conditions(fields: request.fields, stored: stored)
    }

    /// The stored response, updated with the fields of a 304 (RFC 9111 section 4.3.4); `nil` if they do not refer to
    /// it, or its file is missing.
    func notModified(
        _ head: OriginHead,
        times: Times,
        stored: ResponseMetadata?,
        for target: FetchTarget
    ) -> FetchResult.Content? {
        // The file may have been deleted while the request was sent.
        guard let stored, isConfirmable(target) else { return nil }
        let updated = stored.updating(
            with: head.fields,
            requestTime: times.request,
            responseTime: times.response,
            request: origin.requestFields(for: target.requestURL),
            redirection: head.redirection,
            mode: limits.freshness.mode
        )
        return updated.map { .notModified(AssessedResponse($0, under: limits.freshness)) }
    }

    // MARK: Failures

    /// The failure for a status without an image. The body is not read.
    func statusFailure(_ head: OriginHead, for target: FetchTarget) -> FetchFailure {
        var failure = FetchFailure(
            kind: FailureKind(status: head.status) ?? .unexpectedStatus,
            message: "\(named(target)) returned status \(head.status).",
            retryAfter: RetryAfter.time(status: head.status, fields: head.fields, now: clock.now()),
            redirectedHost: head.redirection.flatMap { AvatarKey(stored: $0.url).host?.description }
        )
        failure.isRefusal = head.status == 429 || head.status == 503
        failure.status = head.status
        let times = Times(request: clock.now(), response: clock.now())
        let metadata = metadata(head, times: times, for: target)
        failure.mayBeShared = head.redirection == nil && metadata.mayBeShared(isAuthorized: false)
        return failure
    }

    /// The failure for an error of the client, the store or the deadline.
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

    /// The URL of the request for a message, without user info, query or fragment.
    func named(_ target: FetchTarget) -> String {
        AvatarKey.redact(target.requestURL)
    }
}

extension OriginResponse {
    /// The URL that sent the response: the one of `target`, or the one that it redirected to.
    func url(of target: FetchTarget) -> String { head.redirection?.url ?? target.requestURL }
}
