import AvatarCore
import Testing

/// Headers in, decision out: RFC 9111 section 4.2 with the default settings.
///
/// Each row: the rule, the header lines, the lifetime, the age on arrival, and what decided.
@Suite(.timeLimit(.minutes(5)))
struct LifetimeTests {
    struct Row: CustomTestStringConvertible {
        let rule: String
        let lines: [String]
        let lifetime: Int64
        var age: Int64 = 0
        var delay: Int64 = 0
        let reason: Freshness.Reason

        var testDescription: String { "\(rule): \(lines.joined(separator: " | "))" }
    }

    private static let now = StoredResponse.date(0)

    static let explicit = [
        Row(rule: "4.2.1 max-age", lines: ["Cache-Control: max-age=600"], lifetime: 600, reason: .maxAge),
        Row(rule: "4.2.1 max-age", lines: ["Cache-Control: max-age=0"], lifetime: 0, reason: .maxAge),
        Row(rule: "5.2 case", lines: ["cache-control: Max-Age=600"], lifetime: 600, reason: .maxAge),
        Row(rule: "5.2 quoted", lines: ["Cache-Control: max-age=\"600\""], lifetime: 600, reason: .maxAge),
        Row(
            rule: "5.2 two lines",
            lines: ["Cache-Control: public", "Cache-Control: max-age=600"],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(rule: "1.2.2 overflow", lines: ["Cache-Control: max-age=9999999999"], lifetime: 1 << 31, reason: .maxAge),
        Row(rule: "4.2.1 invalid", lines: ["Cache-Control: max-age=abc"], lifetime: 0, reason: .maxAge),
        Row(rule: "4.2.1 invalid", lines: ["Cache-Control: max-age=-5"], lifetime: 0, reason: .maxAge),
        Row(rule: "4.2.1 invalid", lines: ["Cache-Control: max-age=1.5"], lifetime: 0, reason: .maxAge),
        Row(rule: "4.2.1 first", lines: ["Cache-Control: max-age=5, max-age=600"], lifetime: 5, reason: .maxAge),
        Row(
            rule: "4.2.1 invalid before Expires",
            lines: ["Cache-Control: max-age=", "Expires: \(StoredResponse.date(600))"],
            lifetime: 0,
            reason: .maxAge
        ),
        Row(
            rule: "5.3 max-age over Expires",
            lines: ["Cache-Control: max-age=5", "Expires: \(StoredResponse.date(600))"],
            lifetime: 5,
            reason: .maxAge
        ),
        Row(
            rule: "5.3 max-age over expired",
            lines: ["Cache-Control: max-age=600", "Expires: 0"],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(
            rule: "5.2.2.10 s-maxage is for shared caches",
            lines: ["Cache-Control: s-maxage=5, max-age=600"],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(
            rule: "5.2.2.10 s-maxage alone",
            lines: ["Cache-Control: s-maxage=5"],
            lifetime: 86_400,
            reason: .defaultLifetime
        ),
        Row(
            rule: "5.2.2.7 private is for shared caches",
            lines: ["Cache-Control: private, max-age=600"],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(
            rule: "8246 immutable adds nothing",
            lines: ["Cache-Control: max-age=600, immutable"],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(
            rule: "5.2.2.2 must-revalidate while fresh",
            lines: ["Cache-Control: max-age=600, must-revalidate"],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(
            rule: "5.2.3 unknown",
            lines: ["Cache-Control: max-age=600, foo=\"max-age=1\""],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(
            rule: "4.2.1 Expires",
            lines: ["Expires: \(StoredResponse.date(600))", "Date: \(now)"],
            lifetime: 600,
            reason: .expires
        ),
        Row(
            rule: "4.2.1 Expires, no Date",
            lines: ["Expires: \(StoredResponse.date(600))"],
            lifetime: 600,
            reason: .expires
        ),
        Row(
            rule: "4.2.1 Expires by the origin's clock",
            lines: ["Expires: \(StoredResponse.date(4_200))", "Date: \(StoredResponse.date(3_600))"],
            lifetime: 600,
            reason: .expires
        ),
        Row(
            rule: "4.2.1 Expires, bad Date",
            lines: ["Expires: \(StoredResponse.date(600))", "Date: today"],
            lifetime: 600,
            reason: .expires
        ),
        Row(
            rule: "5.3 past",
            lines: ["Expires: \(StoredResponse.date(-1))", "Date: \(now)"],
            lifetime: 0,
            reason: .expires
        ),
        Row(rule: "5.3 equal to Date", lines: ["Expires: \(now)", "Date: \(now)"], lifetime: 0, reason: .expires),
        Row(rule: "5.3 zero", lines: ["Expires: 0"], lifetime: 0, reason: .expires),
        Row(rule: "5.3 invalid", lines: ["Expires: tomorrow"], lifetime: 0, reason: .expires),
        Row(rule: "5.3 empty", lines: ["Expires: "], lifetime: 0, reason: .expires),
        Row(rule: "4.2 zone", lines: ["Expires: Sun, 06 Nov 2044 08:49:37 CET"], lifetime: 0, reason: .expires),
        Row(rule: "5.3 near miss", lines: ["Expires: Sun, 6 Nov 1994 08:59:37 GMT"], lifetime: 600, reason: .expires),
        Row(rule: "5.3 time zone", lines: ["Expires: Sun, 06 Nov 2044 08:49:37 UTC"], lifetime: 0, reason: .expires),
        Row(rule: "5.3 two in one", lines: ["Expires: \(now), \(now)"], lifetime: 0, reason: .expires),
        Row(rule: "5.3 negative", lines: ["Expires: -1"], lifetime: 0, reason: .expires),
        Row(
            rule: "1.2.2 beyond 2^31",
            lines: ["Expires: Fri, 31 Dec 9999 23:59:59 GMT"],
            lifetime: 1 << 31,
            reason: .expires
        ),
        Row(
            rule: "4.2.1 Date years ahead",
            lines: ["Expires: \(StoredResponse.date(1_000_000_600))", "Date: \(StoredResponse.date(1_000_000_000))"],
            lifetime: 600,
            reason: .expires
        ),
        Row(
            rule: "4.2.1 first Date",
            lines: [
                "Expires: \(StoredResponse.date(600))", "Date: \(StoredResponse.date(300))",
                "Date: \(StoredResponse.date(0))",
            ],
            lifetime: 300,
            reason: .expires
        ),
        Row(rule: "5.3 RFC 850", lines: ["Expires: Sunday, 06-Nov-94 08:59:37 GMT"], lifetime: 600, reason: .expires),
        Row(rule: "5.3 asctime", lines: ["Expires: Sun Nov  6 08:59:37 1994"], lifetime: 600, reason: .expires),
        Row(
            rule: "4.2.1 first Expires",
            lines: ["Expires: \(StoredResponse.date(600))", "Expires: \(StoredResponse.date(900))"],
            lifetime: 600,
            reason: .expires
        ),
    ]

    static let restrictive = [
        Row(rule: "5.2.2.4 no-cache", lines: ["Cache-Control: no-cache"], lifetime: 0, reason: .noCache),
        Row(rule: "4.2.1 conflict", lines: ["Cache-Control: max-age=600, no-cache"], lifetime: 0, reason: .noCache),
        Row(
            rule: "5.2.2.4 for some fields",
            lines: ["Cache-Control: max-age=600, no-cache=\"set-cookie\""],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(
            rule: "5.2.2.7 private for some fields",
            lines: ["Cache-Control: max-age=600, private=\"set-cookie\""],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(
            rule: "7.3 Set-Cookie inhibits nothing",
            lines: ["Cache-Control: max-age=600", "Set-Cookie: a=b"],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(rule: "7.3 Set-Cookie alone", lines: ["Set-Cookie: a=b"], lifetime: 86_400, reason: .defaultLifetime),
        Row(
            rule: "5861 adds no freshness",
            lines: ["Cache-Control: max-age=600, stale-while-revalidate=900, stale-if-error=900"],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(
            rule: "5.5 Warning is obsolete",
            lines: ["Cache-Control: max-age=600", "Warning: 110 - \"stale\""],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(
            rule: "5.2 two lines in conflict",
            lines: ["Cache-Control: max-age=600", "Cache-Control: no-cache"],
            lifetime: 0,
            reason: .noCache
        ),
        Row(rule: "5.2.2.4 unquoted", lines: ["Cache-Control: max-age=600, no-cache=x"], lifetime: 0, reason: .noCache),
        Row(rule: "5.2.2.5 no-store", lines: ["Cache-Control: no-store"], lifetime: 0, reason: .noStore),
        Row(rule: "5.2.2.5 no-store", lines: ["Cache-Control: max-age=600, no-store"], lifetime: 0, reason: .noStore),
        Row(rule: "5.2.2.5 both", lines: ["Cache-Control: no-cache, no-store"], lifetime: 0, reason: .noStore),
        Row(
            rule: "5.2.2.3 must-understand",
            lines: ["Cache-Control: must-understand, no-store, max-age=600"],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(rule: "4.1 Vary", lines: ["Cache-Control: max-age=600", "Vary: *"], lifetime: 0, reason: .varyAll),
        Row(rule: "4.1 Vary", lines: ["Cache-Control: max-age=600", "Vary: Accept, *"], lifetime: 0, reason: .varyAll),
        Row(rule: "4.1 Vary", lines: ["Cache-Control: max-age=600", "Vary: Accept"], lifetime: 600, reason: .maxAge),
        Row(rule: "5.4 Pragma", lines: ["Pragma: no-cache"], lifetime: 0, reason: .pragma),
        Row(
            rule: "5.4 Pragma over Expires",
            lines: ["Pragma: No-Cache", "Expires: \(StoredResponse.date(600))"],
            lifetime: 0,
            reason: .pragma
        ),
        Row(
            rule: "5.4 Cache-Control over Pragma",
            lines: ["Pragma: no-cache", "Cache-Control: max-age=600"],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(rule: "5.4 among others", lines: ["Pragma: x, no-cache"], lifetime: 0, reason: .pragma),
        Row(rule: "5.4 second line", lines: ["Pragma: x", "Pragma: no-cache"], lifetime: 0, reason: .pragma),
        Row(
            rule: "5.4 empty Cache-Control over Pragma",
            lines: ["Pragma: no-cache", "Cache-Control: public"],
            lifetime: 86_400,
            reason: .defaultLifetime
        ),
        Row(rule: "5.4 other", lines: ["Pragma: x"], lifetime: 86_400, reason: .defaultLifetime),
    ]

    static let unspecified = [
        Row(rule: "nothing said", lines: [], lifetime: 86_400, reason: .defaultLifetime),
        Row(rule: "nothing said", lines: ["Cache-Control: public"], lifetime: 86_400, reason: .defaultLifetime),
        Row(rule: "nothing said", lines: ["ETag: \"a\""], lifetime: 86_400, reason: .defaultLifetime),
        Row(
            rule: "4.2.2 heuristic",
            lines: ["Last-Modified: \(StoredResponse.date(-36_000))"],
            lifetime: 3_600,
            reason: .heuristic
        ),
        Row(
            rule: "4.2.2 by the origin's clock",
            lines: ["Last-Modified: \(StoredResponse.date(0))", "Date: \(StoredResponse.date(36_000))"],
            lifetime: 3_600,
            reason: .heuristic
        ),
        Row(
            rule: "4.2.2 capped",
            lines: ["Last-Modified: Sat, 06 Nov 1993 08:49:37 GMT"],
            lifetime: 604_800,
            reason: .heuristic
        ),
        Row(rule: "4.2.2 modified just now", lines: ["Last-Modified: \(now)"], lifetime: 0, reason: .heuristic),
        Row(
            rule: "4.2.2 modified in the future",
            lines: ["Last-Modified: \(StoredResponse.date(60))"],
            lifetime: 86_400,
            reason: .defaultLifetime
        ),
        Row(rule: "4.2.2 no date", lines: ["Last-Modified: long ago"], lifetime: 86_400, reason: .defaultLifetime),
        Row(
            rule: "4.2.2 not where a time is named",
            lines: ["Last-Modified: \(StoredResponse.date(-36_000))", "Expires: x"],
            lifetime: 0,
            reason: .expires
        ),
        Row(
            rule: "4.2.2 not where a time is named",
            lines: ["Last-Modified: \(StoredResponse.date(-36_000))", "Cache-Control: max-age=5"],
            lifetime: 5,
            reason: .maxAge
        ),
    ]

    static let aged = [
        Row(
            rule: "4.2.3 Age",
            lines: ["Cache-Control: max-age=600", "Age: 100"],
            lifetime: 600,
            age: 100,
            reason: .maxAge
        ),
        Row(
            rule: "4.2.3 delay",
            lines: ["Cache-Control: max-age=600", "Age: 100"],
            lifetime: 600,
            age: 107,
            delay: 7,
            reason: .maxAge
        ),
        Row(
            rule: "4.2.3 delay",
            lines: ["Cache-Control: max-age=600"],
            lifetime: 600,
            age: 7,
            delay: 7,
            reason: .maxAge
        ),
        Row(
            rule: "4.2.3 apparent age",
            lines: ["Cache-Control: max-age=600", "Date: \(StoredResponse.date(-200))"],
            lifetime: 600,
            age: 200,
            reason: .maxAge
        ),
        Row(
            rule: "4.2.3 the larger",
            lines: ["Cache-Control: max-age=600", "Date: \(StoredResponse.date(-200))", "Age: 300"],
            lifetime: 600,
            age: 300,
            reason: .maxAge
        ),
        Row(
            rule: "4.2.3 the larger",
            lines: ["Cache-Control: max-age=600", "Date: \(StoredResponse.date(-200))", "Age: 100"],
            lifetime: 600,
            age: 200,
            reason: .maxAge
        ),
        Row(
            rule: "4.2.3 Date in the future",
            lines: ["Cache-Control: max-age=600", "Date: \(StoredResponse.date(200))"],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(
            rule: "4.2.3 clock set back meanwhile",
            lines: ["Cache-Control: max-age=600"],
            lifetime: 600,
            delay: -7,
            reason: .maxAge
        ),
        Row(rule: "5.1 invalid", lines: ["Cache-Control: max-age=600", "Age: -5"], lifetime: 600, reason: .maxAge),
        Row(rule: "5.1 invalid", lines: ["Cache-Control: max-age=600", "Age: old"], lifetime: 600, reason: .maxAge),
        Row(rule: "5.1 fraction", lines: ["Cache-Control: max-age=600", "Age: 5.0"], lifetime: 600, reason: .maxAge),
        Row(rule: "5.1 empty", lines: ["Cache-Control: max-age=600", "Age: "], lifetime: 600, reason: .maxAge),
        Row(
            rule: "5.1 two numbers",
            lines: ["Cache-Control: max-age=600", "Age: 1 0"],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(
            rule: "5.1 list, the first invalid",
            lines: ["Cache-Control: max-age=600", "Age: x, 200"],
            lifetime: 600,
            reason: .maxAge
        ),
        Row(
            rule: "5.1 spaces",
            lines: ["Cache-Control: max-age=600", "Age: \t100 , 200"],
            lifetime: 600,
            age: 100,
            reason: .maxAge
        ),
        Row(
            rule: "4.2.3 no Date",
            lines: ["Cache-Control: max-age=600", "Age: 100", "Date: never"],
            lifetime: 600,
            age: 100,
            reason: .maxAge
        ),
        Row(
            rule: "1.2.2 all together beyond 2^31",
            lines: ["Cache-Control: max-age=600", "Age: 2147483648"],
            lifetime: 600,
            age: 1 << 31,
            delay: 1_000,
            reason: .maxAge
        ),
        Row(
            rule: "5.1 list",
            lines: ["Cache-Control: max-age=600", "Age: 100, 200"],
            lifetime: 600,
            age: 100,
            reason: .maxAge
        ),
        Row(
            rule: "5.1 two lines",
            lines: ["Cache-Control: max-age=600", "Age: 100", "Age: 200"],
            lifetime: 600,
            age: 100,
            reason: .maxAge
        ),
        Row(
            rule: "4.2 stale on arrival",
            lines: ["Cache-Control: max-age=600", "Age: 700"],
            lifetime: 600,
            age: 700,
            reason: .maxAge
        ),
        Row(
            rule: "1.2.2 overflow",
            lines: ["Cache-Control: max-age=600", "Age: 99999999999"],
            lifetime: 600,
            age: 1 << 31,
            reason: .maxAge
        ),
        Row(
            rule: "4.2.3 Expires",
            lines: ["Expires: \(StoredResponse.date(400))", "Date: \(StoredResponse.date(-200))"],
            lifetime: 600,
            age: 200,
            reason: .expires
        ),
    ]

    @Test(arguments: explicit + restrictive + unspecified + aged)
    func followsTheHeaders(_ row: Row) {
        let freshness = FreshnessPolicy().assess(StoredResponse.with(row.lines, delay: row.delay))

        #expect(freshness.lifetime == row.lifetime)
        #expect(freshness.initialAge == row.age)
        #expect(freshness.freshUntil == StoredResponse.received.adding(seconds: max(0, row.lifetime - row.age)))
        #expect(freshness.reason == row.reason)
        #expect(freshness.allowsStore)
        #expect(!freshness.mustRevalidate)
    }

    @Test func isStaleFromTheEndOfItsLifetimeOn() {
        let freshness = FreshnessPolicy().assess(StoredResponse.with(["Cache-Control: max-age=600", "Age: 100"]))
        let end = StoredResponse.received.adding(seconds: 500)

        #expect(freshness.isFresh(at: Timestamp(milliseconds: end.milliseconds - 1)))
        #expect(!freshness.isFresh(at: end))
        #expect(freshness.currentAge(at: end) == 600)
    }
}
