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
