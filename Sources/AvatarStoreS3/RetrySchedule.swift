import AvatarCore

/// When to send a failed request again: exponential backoff with full jitter.
enum RetrySchedule {
    /// The upper limit of the first pause.
    static let base = Duration.milliseconds(200)
    /// The upper limit of all pauses, and of a Retry-After that is waited for.
    static let maximum = Duration.seconds(5)

    /// The pause before the next attempt: random up to a limit that doubles with each failure, and at least the Retry-After.
    ///
    /// - Parameters:
    ///   - failures: the number of failed attempts, from 1.
    ///   - retryAfter: the value of the field, in seconds or as a date; empty if absent.
    ///   - now: the current time.
    static func pause(after failures: Int, retryAfter: String, now: Timestamp) -> Duration {
        // No limit is reached later than after 5 doublings.
        let limit = min(maximum, base * (1 << min(failures - 1, 5)))
        let jitter = Duration.milliseconds(Int64.random(in: 0...Int64(limit / .milliseconds(1))))
        return max(jitter, min(maximum, wanted(retryAfter, now)))
    }

    private static func wanted(_ retryAfter: String, _ now: Timestamp) -> Duration {
        if let seconds = UInt16(retryAfter) { return .seconds(seconds) }
        return HTTPDate.parse(retryAfter, now: now)?.duration(since: now) ?? .zero
    }
}
