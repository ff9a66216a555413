/// What follows from a check that failed: when the entry is checked next, and whether its image is gone for good. Nothing
/// that was said of the image changes.
package struct FailedCheck: Hashable, Sendable {
    /// Failures in a row, this one among them.
    package let count: Int
    package let nextCheck: Timestamp
    /// The origin has said "gone" as often as the store wants to hear it: the file may go.
    package let isRemovalConfirmed: Bool

    /// What follows from a failure of `kind` at `now`; `nil` for one that says nothing of the URL, and is not kept.
    ///
    /// - Parameter past: the failure that is kept with the entry.
    /// - Parameter retryAfter: until when the host wants no request; a week from now counts at most.
    /// - Parameter goneConfirmations: how many times "gone" removes the file; 0: never.
    /// - Parameter jitter: 0 to 1, drawn anew for each check.
    package init?(
        _ kind: FailureKind,
        at now: Timestamp,
        after past: PastFailure?,
        retryAfter: Timestamp? = nil,
        goneConfirmations: Int = 0,
        jitter: Double
    ) {
        guard RetryPolicy.isKept(kind) else { return nil }
        count = RetryPolicy.count(of: kind, at: now, after: past)
        let wait = RetryPolicy().wait(after: kind, count: count, jitter: jitter)
        let wish = min(retryAfter ?? now, now.adding(seconds: RetryAfter.longest))
        let planned = now.adding(seconds: wait)
        // "Gone" once more before its time: the plan that was made stands.
        let isRepeated = kind == .gone && past?.kind == kind && past?.count == count
        nextCheck = max(isRepeated ? min(planned, past?.nextCheck ?? planned) : planned, wish)
        isRemovalConfirmed = kind == .gone && goneConfirmations > 0 && count >= goneConfirmations
    }
}
