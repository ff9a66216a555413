package import HTTPTypes

/// When an image that could not be had is asked for again.
///
/// Each kind of failure has its own first wait; each further failure in a row doubles it, up to the longest wait. A
/// random part spreads entries that failed together.
package struct RetryPolicy: Sendable {
    /// No image waits for longer between two attempts, in seconds: a week.
    package static let longestWait: Int64 = 7 * 86_400

    package init() {}

    /// How long to wait after the failure number `count` in a row, in seconds.
    ///
    /// - Parameter jitter: 0 to 1; the wait is between half and the whole of what the doubling gives.
    package func wait(after kind: FailureKind, count: Int, jitter: Double) -> Int64 {
        let doublings = min(max(count, 1) - 1, 20)
        let (first, longest) = bounds(of: kind)
        let full = min(first << Int64(doublings), longest)
        return full / 2 + Int64(Double(full / 2) * min(max(jitter, 0), 1))
    }

    /// How many failures in a row this one makes.
    ///
    /// One that comes before its time, as somebody insisted, is the same failure once more and lengthens no wait.
    /// "Gone" is counted for itself, and only when it is seen again after half a day: the origin's own word, again and
    /// again, may remove an image, an afternoon of mistakes may not.
    package static func count(of kind: FailureKind, at checked: Timestamp, after past: PastFailure?) -> Int {
        guard let past, (past.kind == .gone) == (kind == .gone) else { return 1 }
        let isRepeated =
            if kind == .gone {
                // Being read again and again puts off no count: it comes with the check that was planned.
                checked.seconds(since: past.checked) < goneGraceSeconds && (past.nextCheck.map { checked < $0 } ?? true)
            } else {
                past.nextCheck.map { checked < $0 && !past.checked.isAhead(of: checked) } ?? false
            }
        return isRepeated || past.count == .max ? past.count : past.count + 1
    }

    private static let goneGraceSeconds: Int64 = 43_200

    /// Whether a failure says something of the URL, and is kept with the entry. Being offline or out of disk does not.
    package static func isKept(_ kind: FailureKind) -> Bool {
        kind.blame != .nobody
    }

    /// The first wait and the longest one, in seconds.
    private func bounds(of kind: FailureKind) -> (first: Int64, longest: Int64) {
        switch kind {
        case .gone, .refused, .tooLarge, .tooManyPixels, .forbiddenAddress, .unsupportedURL:
            // A person has to change something at the origin.
            (86_400, Self.longestWait)
        case .notImage, .unexpectedStatus, .tooManyRedirects:
            // Likely the same, but a captive portal looks so too, for all hosts at once, and is soon over.
            (3_600, Self.longestWait)
        case .rateLimited, .serverError:
            // How the host fares is not the image's fault: when it is back, its images are not days behind.
            (600, 86_400)
        case .timeout, .unreachable:
            (120, 86_400)
        default:
            (120, Self.longestWait)
        }
    }
}

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

/// The failure that is kept with an entry.
package struct PastFailure: Sendable {
    let kind: FailureKind
    let count: Int
    let checked: Timestamp
    let nextCheck: Timestamp?

    /// - Parameter nextCheck: when the entry was to be asked for again, if that is known.
    package init(kind: FailureKind, count: Int, checked: Timestamp, nextCheck: Timestamp? = nil) {
        self.kind = kind
        self.count = count
        self.checked = checked
        self.nextCheck = nextCheck
    }
}

/// Until when a host wants no further request (RFC 9110 section 10.2.3).
package enum RetryAfter {
    /// No host is left alone for longer, in seconds: a week.
    package static let longest: Int64 = 7 * 86_400

    /// The time that a 429 or 503 names, in seconds or as a date; `nil` if it names none that lies ahead.
    ///
    /// A date is read by the origin's own clock, if the answer shows it: what counts is how long it wants to be left
    /// alone, and the two clocks may differ by years.
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
