package import HTTPTypes

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
            let seconds = DeltaSeconds.parse(text) ?? secondsUntil(text, fields, now), seconds > 0
        else { return nil }
        return now.adding(seconds: min(seconds, longest))
    }

    private static func secondsUntil(_ date: String, _ fields: HTTPFields, _ now: Timestamp) -> Int64? {
        let theirs = fields[values: .date].first.flatMap { HTTPDate.parse($0, now: now) }
        return HTTPDate.parse(date, now: now)?.seconds(since: theirs ?? now)
    }
}
