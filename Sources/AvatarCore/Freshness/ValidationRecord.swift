/// What the index keeps of the origin's answers for one entry: validators, freshness and the next check.
package struct ValidationRecord: Hashable, Sendable {
    /// The validators, verbatim.
    package var etag: String?
    package var lastModified: String?
    /// The stored header fields that freshness depends on, one "name: value" a line.
    package var responseFields: String?
    /// When the stored response came, and how long after its request.
    package var response: Timestamp?
    package var responseDelayMilliseconds: Int64 = 0
    /// When the bytes last came from the origin.
    package var fetched: Timestamp?
    /// The last answer, or the last attempt to get one.
    package var checked: Timestamp?
    package var freshUntil: Timestamp?
    /// When the entry is due; `nil`: never.
    package var nextCheck: Timestamp?
    /// The kind of the last failure; `nil` after a success.
    package var failure: FailureKind?
    package var failureCount: Int = 0

    package init() {}
}

extension ResponseMetadata {
    /// The response that brought or confirmed the image of an entry, as the index keeps it.
    package init(stored record: ValidationRecord) {
        let response = record.response ?? Timestamp(milliseconds: 0)
        let (delay, overflow) = Int64(0).subtractingReportingOverflow(record.responseDelayMilliseconds)
        self.init(
            etag: record.etag,
            lastModified: record.lastModified,
            encodedFields: record.responseFields ?? "",
            requestTime: response.adding(milliseconds: overflow ? .max : delay),
            responseTime: response
        )
    }
}

extension ValidationRecord {
    /// What the index keeps after an answer that brings or confirms an image.
    ///
    /// - Parameter fetched: when the bytes came.
    /// - Parameter jitter: 0 to 1; see `Freshness.nextCheck(jitter:)`.
    package init(_ metadata: ResponseMetadata, fetched: Timestamp?, policy: FreshnessPolicy, jitter: Double) {
        self.init()
        let freshness = policy.assess(metadata)
        let fields = metadata.encodedFields
        let (delay, overflow) = metadata.responseTime.milliseconds.subtractingReportingOverflow(
            metadata.requestTime.milliseconds
        )
        etag = metadata.etag
        lastModified = metadata.lastModified
        responseFields = fields.isEmpty ? nil : fields
        response = metadata.responseTime
        responseDelayMilliseconds = overflow ? 0 : delay
        self.fetched = fetched
        checked = metadata.responseTime
        freshUntil = freshness.freshUntil
        nextCheck = freshness.nextCheck(jitter: jitter)
    }

    // MARK: Asking it

    /// Whether the image is fresh at `now`, whatever came of later checks.
    package func isFresh(at now: Timestamp) -> Bool {
        guard let freshUntil, freshUntil > max(now, response ?? now) else { return false }
        return !wasWrittenLater(than: now)
    }

    /// Whether the last check failed and the time for the next one has not come at `now`.
    package func isBackingOff(at now: Timestamp) -> Bool {
        failure != nil && !isDue(at: now)
    }

    /// Whether the origin is to be asked at `now`.
    ///
    /// A plan that was made by a clock which ran ahead is not waited for, nor one beyond what any backoff comes to.
    package func isDue(at now: Timestamp) -> Bool {
        guard let nextCheck else { return false }
        if nextCheck <= now || wasWrittenLater(than: now) { return true }
        return failure != nil && nextCheck.seconds(since: now) > RetryPolicy.longestWait
    }

    private func wasWrittenLater(than now: Timestamp) -> Bool {
        (checked ?? response)?.isAhead(of: now) ?? false
    }
}
