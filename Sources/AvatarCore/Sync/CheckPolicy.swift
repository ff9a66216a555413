/// Decides what follows from a check.
package struct CheckPolicy: Sendable {
    package var freshness: FreshnessPolicy
    /// How many times "gone" removes the file; 0: never.
    package var goneConfirmations = 0

    package init(freshness: FreshnessPolicy, goneConfirmations: Int = 0) {
        self.freshness = freshness
        self.goneConfirmations = goneConfirmations
    }

    /// What follows from `outcome` at `now`.
    ///
    /// - Parameter past: what the index keeps with the entry; `nil` if there is none.
    /// - Parameter jitter: 0 to 1, drawn anew for each check.
    package func result(
        of outcome: CheckOutcome,
        after past: ValidationRecord?,
        at now: Timestamp,
        jitter: Double
    ) -> CheckResult {
        switch outcome {
        case .kept:
            CheckResult()
        case .notModified(let metadata):
            answer(metadata, fetched: past?.fetched, jitter)
        case .image(let metadata):
            answer(metadata, fetched: metadata.responseTime, jitter)
        case .failed(let kind, let retryAfter):
            failure(kind, retryAfter, past, now, jitter)
        }
    }

    private func answer(_ metadata: ResponseMetadata, fetched: Timestamp?, _ jitter: Double) -> CheckResult {
        var result = CheckResult()
        result.record = ValidationRecord(metadata, fetched: fetched, policy: freshness, jitter: jitter)
        return result
    }

    /// A failure changes when the entry is checked next, and nothing that was said of its image: validators, header
    /// fields and freshness stay.
    private func failure(
        _ kind: FailureKind,
        _ retryAfter: Timestamp?,
        _ past: ValidationRecord?,
        _ now: Timestamp,
        _ jitter: Double
    ) -> CheckResult {
        let latest = now.adding(seconds: RetryAfter.longest)
        var result = CheckResult()
        result.blame = kind.blame
        result.hostBlockedUntil = retryAfter.flatMap { $0 > now ? min($0, latest) : nil }
        result.endsSync = kind == .offline
        guard RetryPolicy.isKept(kind) else { return result }
        var record = past ?? ValidationRecord()
        let count = RetryPolicy.count(of: kind, at: now, after: past.flatMap(PastFailure.init))
        let wait = RetryPolicy().wait(after: kind, count: count, jitter: jitter)
        record.failure = kind
        record.failureCount = count
        record.checked = now
        record.nextCheck = max(now.adding(seconds: wait), result.hostBlockedUntil ?? now)
        result.record = record
        result.isRemovalConfirmed = kind == .gone && goneConfirmations > 0 && count >= goneConfirmations
        return result
    }
}
