package import HTTPTypes

/// The backoff of one image: how long it waits for a retry after a failure.
///
/// Each kind of failure has its own first wait, and each consecutive failure doubles it, up to a longest wait. Jitter
/// spreads entries that failed at the same time.
package struct RetryPolicy: Sendable {
    /// The longest wait between two attempts, in seconds: a week.
    package static let longestWait: Int64 = 7 * 86_400

    /// The backoff of the store; it has no settings.
    package init() {}

    /// The wait before the next attempt, in seconds.
    ///
    /// - Parameters:
    ///   - kind: the kind of the failure.
    ///   - count: the number of consecutive failures, this one included.
    ///   - jitter: a random number from 0 to 1, which selects a wait between half and all of the doubled time.
    package func wait(after kind: FailureKind, count: Int, jitter: Double) -> Int64 {
        let doublings = min(max(count, 1) - 1, 20)
        let (first, longest) = bounds(of: kind)
        let full = min(first << Int64(doublings), longest)
        return full / 2 + Int64(Double(full / 2) * min(max(jitter, 0), 1))
    }

    /// The number of consecutive failures, including the one of `kind` at `checked`.
    ///
    /// A failure before the planned check, which a forced request can cause, does not count again, so it lengthens no
    /// wait. `gone` is counted apart from the other kinds, and only once in half a day: repeated 404 responses may
    /// remove an image, but a misconfigured origin must not do so within an afternoon.
    package static func count(of kind: FailureKind, at checked: Timestamp, after past: PastFailure?) -> Int {
        guard let past, (past.kind == .gone) == (kind == .gone) else { return 1 }
        let isRepeated =
            if kind == .gone {
                // Repeated reads must not postpone the count, so it rises at the planned check at the latest.
                checked.seconds(since: past.checked) < goneGraceSeconds && (past.nextCheck.map { checked < $0 } ?? true)
            } else {
                past.nextCheck.map { checked < $0 && !past.checked.isAhead(of: checked) } ?? false
            }
        return isRepeated || past.count == .max ? past.count : past.count + 1
    }

    private static let goneGraceSeconds: Int64 = 43_200

    /// Whether the index records a failure of `kind` with the entry. It does not record failures of the network or the
    /// local disk, which are unrelated to the URL.
    package static func isKept(_ kind: FailureKind) -> Bool {
        kind.blame != .neither
    }

    /// The first and the longest wait after a failure of `kind`, in seconds.
    private func bounds(of kind: FailureKind) -> (first: Int64, longest: Int64) {
        switch kind {
        case .gone, .refused, .tooLarge, .tooManyPixels, .forbiddenAddress, .unsupportedURL:
            // Only a change at the origin or in the settings helps.
            (86_400, Self.longestWait)
        case .notImage, .unexpectedStatus, .tooManyRedirects:
            // The same, except that a captive portal causes these failures for all hosts at once, for a short time.
            (3_600, Self.longestWait)
        case .rateLimited, .serverError:
            // The host failed, not the image. The limit of a day lets its images recover soon after the host.
            (600, 86_400)
        case .timeout, .unreachable:
            (120, 86_400)
        default:
            (120, Self.longestWait)
        }
    }
}

/// The consequences of a failed check: the time of the next check, and whether the image counts as gone for good.
///
/// The validators and the freshness of the stored image stay as they are.
package struct FailedCheck: Hashable, Sendable {
    /// The number of consecutive failures, including this one.
    package let count: Int
    /// When the entry is checked next.
    package let nextCheck: Timestamp
    /// Whether the origin has reported `gone` as often as the settings require, so that the file may be deleted.
    package let isRemovalConfirmed: Bool

    /// The consequences of a failure; `nil` for a kind that the index does not record (`RetryPolicy.isKept`).
    ///
    /// - Parameters:
    ///   - kind: the kind of the failure.
    ///   - now: the time of the check.
    ///   - past: the failure that the index has recorded for the entry; `nil` if the last check succeeded.
    ///   - retryAfter: the end of the host's Retry-After time; limited to a week from `now`.
    ///   - goneConfirmations: the number of counted `gone` failures that deletes the file; 0 for never.
    ///   - jitter: a random number from 0 to 1 for this check.
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
        // A `gone` that does not count must not postpone the planned check.
        let isRepeated = kind == .gone && past?.kind == kind && past?.count == count
        nextCheck = max(isRepeated ? min(planned, past?.nextCheck ?? planned) : planned, wish)
        isRemovalConfirmed = kind == .gone && goneConfirmations > 0 && count >= goneConfirmations
    }
}

/// The failure that the index has recorded for an entry.
package struct PastFailure: Sendable {
    let kind: FailureKind
    let count: Int
    let checked: Timestamp
    let nextCheck: Timestamp?

    /// A recorded failure.
    ///
    /// - Parameters:
    ///   - kind: the kind of the failure.
    ///   - count: the number of consecutive failures.
    ///   - checked: when the last check failed.
    ///   - nextCheck: the planned time of the next check; `nil` if unknown.
    package init(kind: FailureKind, count: Int, checked: Timestamp, nextCheck: Timestamp? = nil) {
        (self.kind, self.count, self.checked, self.nextCheck) = (kind, count, checked, nextCheck)
    }
}

/// The Retry-After field: until when a host asks for no more requests (RFC 9110 section 10.2.3).
package enum RetryAfter {
    /// The longest pause that a host may ask for, in seconds: a week.
    package static let longest: Int64 = 7 * 86_400

    /// The time that the Retry-After field of a 429 or 503 names, in seconds or as a date; `nil` if it names no time
    /// after `now`. The result is at most `longest` seconds after `now`.
    ///
    /// A date is compared with the Date field of the response, because the clocks of origin and store may differ by
    /// years.
    package static func time(status: Int, fields: HTTPFields, now: Timestamp) -> Timestamp? {
        guard status == 429 || status == 503, let text = fields[values: .retryAfter].first,
            let seconds = DeltaSeconds.parse(text) ?? secondsUntil(text, fields: fields, now: now), seconds > 0
        else { return nil }
        return now.adding(seconds: min(seconds, longest))
    }

    private static func secondsUntil(_ date: String, fields: HTTPFields, now: Timestamp) -> Int64? {
        let theirs = fields[values: .date].first.flatMap { HTTPDate.parse($0, now: now) }
        return HTTPDate.parse(date, now: now)?.seconds(since: theirs ?? now)
    }
}
