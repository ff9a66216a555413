import AvatarCore
import HTTPTypes
import Testing

/// RFC 9110 section 10.2.3.
@Suite(.timeLimit(.minutes(5)))
struct RetryAfterTests {
    private static let now = StoredResponse.received
    private static let week: Int64 = 604_800
    private static let years: Int64 = 1_000_000_000

    @Test(
        arguments: [
            // Status, header lines; seconds until the host may be asked, `nil` if it asks for nothing.
            (429, ["Retry-After: 120"], 120),
            (503, ["Retry-After: 120"], 120),
            (429, ["Retry-After: 1"], 1),
            (429, ["Retry-After: 00060"], 60),
            (429, ["Retry-After: 604800"], week),
            (429, ["Retry-After: 604801"], week),
            (429, ["Retry-After: 2147483648"], week),
            (429, ["Retry-After: 99999999999999999999999"], week),
            (429, ["Retry-After: 0"], nil),
            (429, ["Retry-After: -5"], nil),
            (429, ["Retry-After: +5"], nil),
            (429, ["Retry-After: 1.5"], nil),
            (429, ["Retry-After: soon"], nil),
            (429, ["Retry-After: "], nil),
            (429, ["Retry-After: 120, 60"], nil),
            (429, ["Retry-After: 120", "Retry-After: 60"], 120),
            (429, [], nil),
            // As a date, by our clock or, better, by theirs.
            (503, ["Retry-After: \(StoredResponse.date(90))"], 90),
            (503, ["Retry-After: \(StoredResponse.date(0))"], nil),
            (503, ["Retry-After: \(StoredResponse.date(-90))"], nil),
            (503, ["Retry-After: \(StoredResponse.date(years))"], week),
            (503, ["Retry-After: Fri, 31 Dec 9999 23:59:59 GMT"], week),
            (503, ["Retry-After: Sunday, 06-Nov-94 08:50:37 GMT"], 60),
            (503, ["Retry-After: Sun Nov  6 08:50:37 1994"], 60),
            (503, ["Retry-After: Sun, 06 Nov 1994 08:50:37 CET"], nil),
            (503, ["Retry-After: \(StoredResponse.date(years + 90))", "Date: \(StoredResponse.date(years))"], 90),
            (503, ["Retry-After: \(StoredResponse.date(90 - years))", "Date: \(StoredResponse.date(-years))"], 90),
            (503, ["Retry-After: \(StoredResponse.date(90))", "Date: \(StoredResponse.date(100))"], nil),
            (503, ["Retry-After: \(StoredResponse.date(90))", "Date: today"], 90),
            (503, ["Retry-After: 90", "Date: \(StoredResponse.date(years))"], 90),
            // Of other answers it says something else.
            (200, ["Retry-After: 120"], nil),
            (301, ["Retry-After: 120"], nil),
            (404, ["Retry-After: 120"], nil),
            (500, ["Retry-After: 120"], nil),
            (502, ["Retry-After: 120"], nil),
        ] as [(Int, [String], Int64?)]
    )
    func readsTheEndOfThePause(_ status: Int, _ lines: [String], _ seconds: Int64?) {
        let time = RetryAfter.time(status: status, fields: HTTPFields(lines: lines), now: Self.now)

        #expect(time == seconds.map { Self.now.adding(seconds: $0) })
    }

    @Test(arguments: [Int64.min, 0, .max])
    func overflowsNothing(_ milliseconds: Int64) {
        let now = Timestamp(milliseconds: milliseconds)
        for value in ["99999999999", "Fri, 31 Dec 9999 23:59:59 GMT", "Sunday, 06-Nov-94 08:50:37 GMT"] {
            _ = RetryAfter.time(status: 503, fields: [.retryAfter: value], now: now)
        }
    }
}
