/// The columns of the index that describe an entry's last responses: validators, freshness and the next check.
package struct ValidationRecord: Hashable, Sendable {
    /// The ETag field, verbatim.
    package var etag: String?
    /// The Last-Modified field, verbatim.
    package var lastModified: String?
    /// The stored header fields that freshness depends on, one `name: value` per line.
    /// `ResponseMetadata.encodedFields` writes them.
    package var responseFields: String?
    /// When the stored response arrived.
    package var response: Timestamp?
    /// How long after its request the stored response arrived, in milliseconds.
    package var responseDelayMilliseconds: Int64 = 0
    /// When the image was last downloaded in full; a 304 leaves it as it is.
    package var fetched: Timestamp?
    /// When the origin last responded, or the last attempt failed.
    package var checked: Timestamp?
    /// The image is fresh before this time; `nil` without a response.
    package var freshUntil: Timestamp?
    /// When the next check is due; `nil` without a planned check.
    package var nextCheck: Timestamp?
    /// The kind of the last failure; `nil` after a success.
    package var failure: FailureKind?
    /// A sentence about the last failure; `nil` after a success, and if the index has none.
    package var failureMessage: String?
    /// The number of consecutive failures; 0 after a success.
    package var failureCount: Int = 0

    /// A record of an entry that was never requested.
    package init() {}
}

extension ResponseMetadata {
    /// The response that delivered or confirmed the image of an entry, read back from the index.
    ///
    /// The status counts as 200, because the index does not record it.
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
    /// The record to store after a response that delivers or confirms an image. It has no trace of earlier failures.
    ///
    /// - Parameters:
    ///   - response: the response, after a 304 the updated one.
    ///   - fetched: when the image was last downloaded in full.
    ///   - jitter: a random number from 0 to 1; see `Freshness.nextCheck(jitter:)`.
    package init(_ response: AssessedResponse, fetched: Timestamp?, jitter: Double) {
        self.init()
        let (metadata, freshness) = (response.metadata, response.freshness)
        let fields = metadata.encodedFields
        let (delay, overflow) = metadata.responseTime.milliseconds.subtractingReportingOverflow(
            metadata.requestTime.milliseconds
        )
        etag = metadata.etag
        lastModified = metadata.lastModified
        responseFields = fields.isEmpty ? nil : fields
        self.response = metadata.responseTime
        responseDelayMilliseconds = overflow ? 0 : delay
        self.fetched = fetched
        checked = metadata.responseTime
        freshUntil = freshness.freshUntil
        nextCheck = freshness.nextCheck(jitter: jitter)
    }

    // MARK: Freshness

    /// Whether the image is fresh at `now`. Failed checks do not end its freshness.
    package func isFresh(at now: Timestamp) -> Bool {
        guard let freshUntil, freshUntil > max(now, response ?? now) else { return false }
        return !wasWrittenLater(than: now)
    }

    /// Whether the last check failed and the entry still waits for its retry at `now`.
    package func isBackingOff(at now: Timestamp) -> Bool {
        failure != nil && !isDue(at: now)
    }

    /// Whether a check is due at `now`.
    ///
    /// It is due at once if the planned time was written by a clock that ran ahead, or is further away than the longest
    /// backoff (`RetryPolicy.longestWait`).
    package func isDue(at now: Timestamp) -> Bool {
        guard let nextCheck else { return false }
        if nextCheck <= now || wasWrittenLater(than: now) { return true }
        return failure != nil && nextCheck.seconds(since: now) > RetryPolicy.longestWait
    }

    private func wasWrittenLater(than now: Timestamp) -> Bool {
        (checked ?? response)?.isAhead(of: now) ?? false
    }
}
