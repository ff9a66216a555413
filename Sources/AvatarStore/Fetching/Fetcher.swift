import AvatarCore
import AvatarFiles
import HTTPTypes

/// Asks an origin for one image: conditionally where something is stored, within a deadline, into the staging folder.
struct Fetcher: Sendable {
    let origin: any OriginClient
    let places: StorePlaces
    let clock: any WallClock
    let timeout: Duration
    let allowsSVG: Bool
    let limits: Limits

    /// Fetches or revalidates `target`. A failure is a result; only cancellation is thrown.
    func fetch(_ target: FetchTarget) async throws -> FetchResult {
        let tally = Tally()
        let began = clock.now()
        let content: FetchResult.Content
        do {
            content = try await withDeadline(timeout) { try await exchange(target, tally) }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            content = .failed(failure(for: error, target))
        }
        return tally.result(content, began: began)
    }

    private func exchange(_ target: FetchTarget, _ tally: Tally) async throws -> FetchResult.Content {
        let conditions = conditions(for: target)
        let content = try await request(target, conditions, tally)
        if let content { return content }
        // The answer was "not modified", but of what is stored nothing is left, or it spoke of something else.
        return try await request(target, HTTPFields(), tally)
            ?? .failed(
                FetchFailure(
                    kind: .unexpectedStatus,
                    message: "\(named(target)) answered 304 to an unconditional request."
                )
            )
    }

    /// `nil`: the origin says that what is stored is right, but the store cannot use that.
    private func request(
        _ target: FetchTarget,
        _ conditions: HTTPFields,
        _ tally: Tally
    ) async throws -> FetchResult.Content? {
        let requestTime = clock.now()
        let request = OriginRequest(url: target.sourceURL, fields: conditions) { tally.addRequest() }
        return try await origin.send(request) { response in
            let metadata = ResponseMetadata(
                status: response.status,
                fields: response.fields,
                requestTime: requestTime,
                responseTime: clock.now()
            )
            switch response.status {
            case 200, 203:
                return try await receiveImage(response, metadata, target, tally)
            case 304:
                return notModified(response, metadata, target)
            default:
                try await drain(response.body, tally)
                throw statusFailure(response, target)
            }
        }
    }

    // MARK: Conditions

    private func conditions(for target: FetchTarget) -> HTTPFields {
        var fields = HTTPFields()
        // Without its file an entry has nothing to revalidate.
        guard !target.isUnconditional, let entry = target.entry, let file = entry.file,
            places.stored.contains(file), !needsFullFetch(entry)
        else { return fields }
        if let etag = entry.validation.etag, HTTPField.isValidValue(etag) { fields[.ifNoneMatch] = etag }
        if let date = entry.validation.lastModified, HTTPField.isValidValue(date) { fields[.ifModifiedSince] = date }
        return fields
    }

    private func needsFullFetch(_ entry: AvatarEntry) -> Bool {
        guard let fetched = entry.validation.fetched else { return true }
        return limits.freshness.requiresFullFetch(fetched: fetched, now: clock.now())
    }

    private func notModified(
        _ response: OriginResponse,
        _ metadata: ResponseMetadata,
        _ target: FetchTarget
    ) -> FetchResult.Content? {
        guard let entry = target.entry, let file = entry.file, places.stored.contains(file) else { return nil }
        let stored = ResponseMetadata(entry.validation)
        let updated = stored.updating(
            with: response.fields,
            requestTime: metadata.requestTime,
            responseTime: metadata.responseTime
        )
        return updated.map { .notModified($0) }
    }

    // MARK: The body

    private func receiveImage(
        _ response: OriginResponse,
        _ metadata: ResponseMetadata,
        _ target: FetchTarget,
        _ tally: Tally
    ) async throws -> FetchResult.Content {
        try refuseCoding(response, target)
        if let length = response.fields[.contentLength].flatMap({ Int($0) }) { try requireSize(length, target) }
        let file = try places.files(of: target.storageClass).stage()
        while let chunk = try await response.body.next() {
            try Task.checkCancellation()
            tally.add(bytes: chunk.count)
            try requireSize(file.byteCount + chunk.count, target)
            if file.byteCount == 0, !ImageInspector.couldBeImage(prefix: chunk.prefix(1024)) {
                throw FetchFailure(
                    kind: .notImage,
                    message: "\(named(target)) answered with something that is no image."
                )
            }
            try file.write(chunk)
        }
        let inspector = ImageInspector(maximumPixels: limits.maximumPixels, allowsSVG: allowsSVG)
        let image = file.finish(as: try inspector.inspect(file))
        return .image(image, metadata, mayBeStored: limits.freshness.assess(metadata).allowsStore)
    }

    private func refuseCoding(_ response: OriginResponse, _ target: FetchTarget) throws {
        guard let coding = response.fields[.contentEncoding], coding.lowercased() != "identity" else { return }
        throw FetchFailure(
            kind: .notImage,
            message: "\(named(target)) answered with the content coding \(coding.prefix(40)), which was not asked for."
        )
    }

    private func requireSize(_ bytes: Int, _ target: FetchTarget) throws {
        guard bytes > limits.maximumImageBytes else { return }
        throw FetchFailure(
            kind: .tooLarge,
            message: "\(named(target)) is larger than \(limits.maximumImageBytes) bytes, the limit for one image."
        )
    }

    /// Reads the rest of a small body, so that the connection can be used again; a larger one is not worth it.
    private func drain(_ body: OriginBody, _ tally: Tally) async throws {
        var count = 0
        while count <= 16_384, let chunk = try await body.next() {
            count += chunk.count
            tally.add(bytes: chunk.count)
        }
    }

    // MARK: Failures

    private func statusFailure(_ response: OriginResponse, _ target: FetchTarget) -> FetchFailure {
        let kind: FailureKind =
            switch response.status {
            case 404, 410: .gone
            case 401, 403: .refused
            case 429: .rateLimited
            case 500...599: .serverError
            default: .unexpectedStatus
            }
        let retryAfter = [429, 503].contains(response.status) ? response.fields[.retryAfter] : nil
        return FetchFailure(
            kind: kind,
            message: "\(named(target)) answered with status \(response.status).",
            retryAfter: retryAfter.flatMap { retryTime($0) }
        )
    }

    /// A Retry-After field, in either form (RFC 9110 section 10.2.3); no host is left alone for longer than a week.
    private func retryTime(_ value: String) -> Timestamp? {
        let now = clock.now()
        let time = Int64(value).map { now.adding(seconds: $0) } ?? HTTPDate.parse(value, now: now)
        guard let time, time > now else { return nil }
        return min(time, now.adding(seconds: 7 * 86_400))
    }

    private func failure(for error: any Error, _ target: FetchTarget) -> FetchFailure {
        switch error {
        case let failure as FetchFailure:
            failure
        case let error as OriginError:
            FetchFailure(kind: error.kind, message: error.message)
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

    private func named(_ target: FetchTarget) -> String {
        AvatarKey.redact(target.sourceURL)
    }
}
