import AvatarCore
import Testing

/// The effects of the settings.
@Suite(.timeLimit(.minutes(5)))
struct FreshnessPolicyTests {
    private let received = StoredResponse.received

    // MARK: Limits

    @Test(
        arguments: [
            // Minimum, maximum, header lines, seconds fresh, reason.
            (60, nil, ["Cache-Control: max-age=10"], 60, .minimum),
            (60, nil, ["Cache-Control: max-age=600"], 600, .maxAge),
            (60, nil, ["Cache-Control: max-age=600", "Age: 590"], 60, .minimum),
            (60, nil, ["Cache-Control: no-cache"], 60, .minimum),
            (60, nil, ["Cache-Control: no-store"], 60, .minimum),
            (0, 300, ["Cache-Control: max-age=600"], 300, .maximum),
            (0, 300, ["Cache-Control: max-age=100"], 100, .maxAge),
            (0, 300, ["Cache-Control: max-age=300"], 300, .maxAge),
            (0, 300, [], 300, .maximum),
            (0, 300, ["Cache-Control: max-age=600", "Age: 200"], 100, .maximum),
            (0, 0, ["Cache-Control: max-age=600"], 0, .maximum),
            (60, 300, ["Cache-Control: max-age=10"], 60, .minimum),
            (60, 60, ["Cache-Control: max-age=600"], 60, .maximum),
        ] as [(Int64, Int64?, [String], Int64, Freshness.Reason)]
    )
    func keepsFreshnessWithinTheConfiguredLimits(
        _ minimum: Int64,
        _ maximum: Int64?,
        _ lines: [String],
        _ seconds: Int64,
        _ reason: Freshness.Reason
    ) {
        var policy = FreshnessPolicy()
        policy.minimum = minimum
        policy.maximum = maximum

        let freshness = policy.assess(StoredResponse.with(lines))

        #expect(freshness.freshUntil == received.adding(seconds: seconds))
        #expect(freshness.reason == reason)
    }

    @Test func usesTheConfiguredDefaultAndHeuristic() {
        var policy = FreshnessPolicy()
        policy.defaultLifetime = 7
        policy.heuristicFraction = 0.5
        policy.heuristicMaximum = 1_000
        let modified = { StoredResponse.with(["Last-Modified: \(StoredResponse.date(-$0))"]) }

        #expect(policy.assess(StoredResponse.with([])).lifetime == 7)
        #expect(policy.assess(modified(100)).lifetime == 50)
        #expect(policy.assess(modified(10_000)).lifetime == 1_000)
    }

    // MARK: Strict mode

    @Test(
        arguments: [
            // Status, header lines, seconds fresh, may be kept, must be revalidated, reason.
            (200, ["Cache-Control: max-age=600"], 600, true, false, .maxAge),
            (200, ["Cache-Control: max-age=600, must-revalidate"], 600, true, true, .maxAge),
            (200, ["Cache-Control: max-age=600, private"], 600, true, false, .maxAge),
            (200, ["Cache-Control: max-age=600, s-maxage=1, proxy-revalidate"], 600, true, false, .maxAge),
            (200, ["Cache-Control: no-cache"], 0, true, true, .noCache),
            (200, ["Cache-Control: no-cache=\"x\", max-age=600"], 600, true, false, .maxAge),
            (200, ["Pragma: no-cache"], 0, true, true, .pragma),
            (200, ["Cache-Control: no-store, max-age=600"], 0, false, true, .noStore),
            (200, ["Cache-Control: no-store, must-understand, max-age=600"], 600, true, false, .maxAge),
            (206, ["Cache-Control: no-store, must-understand, max-age=600"], 0, false, true, .noStore),
            (206, ["Cache-Control: must-understand, max-age=600"], 600, false, false, .maxAge),
            (200, ["Cache-Control: max-age=600", "Vary: *"], 0, false, true, .varyAll),
            (200, ["Cache-Control: max-age=600", "Vary: Accept"], 600, true, false, .maxAge),
            (200, [], 0, true, false, .unspecified),
            (200, ["Last-Modified: \(StoredResponse.date(-36_000))"], 3_600, true, false, .heuristic),
            (302, ["Last-Modified: \(StoredResponse.date(-36_000))"], 0, false, false, .unspecified),
            (
                302, ["Last-Modified: \(StoredResponse.date(-36_000))", "Cache-Control: public"], 3_600, true, false,
                .heuristic
            ),
            (302, ["Cache-Control: private"], 0, true, false, .unspecified),
            (302, ["Cache-Control: max-age=600"], 600, true, false, .maxAge),
            (302, ["Expires: 0"], 0, true, false, .expires),
            // Section 5.3: a nearly valid date is invalid.
            (200, ["Expires: Sun, 6 Nov 1994 08:59:37 GMT"], 0, true, false, .expires),
            (200, ["Expires: Sun, 06 Nov 1994 08:59:37 GMT"], 600, true, false, .expires),
            (200, ["Expires: Sunday, 06-Nov-94 08:59:37 GMT"], 600, true, false, .expires),
            (200, ["Expires: Sun Nov  6 08:59:37 1994"], 600, true, false, .expires),
            // Section 4.2.1: the strictest directive counts.
            (200, ["Cache-Control: max-age=600, no-cache, must-revalidate"], 0, true, true, .noCache),
            (200, ["Cache-Control: no-cache, immutable, max-age=600"], 0, true, true, .noCache),
            (200, ["Cache-Control: max-age=600", "Vary: *", "Last-Modified: x"], 0, false, true, .varyAll),
            (203, ["Cache-Control: max-age=600"], 600, true, false, .maxAge),
            (200, ["Cache-Control: max-age=x", "Expires: Sun, 06 Nov 1994 08:59:37 GMT"], 0, true, false, .maxAge),
            // Section 4.2.2: heuristics only for the statuses that allow them.
            (404, ["Last-Modified: \(StoredResponse.date(-36_000))"], 3_600, true, false, .heuristic),
            (500, ["Last-Modified: \(StoredResponse.date(-36_000))"], 0, false, false, .unspecified),
        ] as [(Int, [String], Int64, Bool, Bool, Freshness.Reason)]
    )
    func followsTheLetterInStrictMode(
        _ status: Int,
        _ lines: [String],
        _ seconds: Int64,
        _ allowsStore: Bool,
        _ mustRevalidate: Bool,
        _ reason: Freshness.Reason
    ) {
        var policy = FreshnessPolicy()
        policy.mode = .strict
        policy.minimum = seconds + 1_000

        let freshness = policy.assess(StoredResponse.with(lines, status: status))

        #expect(freshness.freshUntil == received.adding(seconds: seconds))
        #expect(freshness.allowsStore == allowsStore)
        #expect(freshness.mustRevalidate == mustRevalidate)
        #expect(freshness.reason == reason)
    }

    @Test func respectsTheMaximumInStrictMode() {
        var policy = FreshnessPolicy()
        policy.mode = .strict
        policy.maximum = 60

        #expect(policy.assess(StoredResponse.with(["Cache-Control: max-age=600"])).lifetime == 60)
    }

    // MARK: Keeping

    @Test(arguments: [
        (CachingMode.offlineFirst, false, true), (.offlineFirst, true, false), (.strict, false, false),
    ])
    func keepsNoStoreOnlyWhereToldTo(_ mode: CachingMode, _ respectsNoStore: Bool, _ isKept: Bool) {
        var policy = FreshnessPolicy()
        policy.mode = mode
        policy.respectsNoStore = respectsNoStore

        #expect(policy.assess(StoredResponse.with(["Cache-Control: no-store"])).allowsStore == isKept)
        #expect(policy.assess(StoredResponse.with(["Cache-Control: no-cache"])).allowsStore)
    }

    // MARK: Serving stale (RFC 9111 section 4.2.4, RFC 5861)

    @Test(arguments: [
        // Header lines, seconds since they arrived; allowed when disconnected, after an error.
        (["Cache-Control: max-age=600"], 600, true, false),
        (["Cache-Control: max-age=600, stale-if-error=60"], 659, true, true),
        (["Cache-Control: max-age=600, stale-if-error=60"], 660, true, false),
        (["Cache-Control: max-age=600, stale-while-revalidate=60"], 659, true, false),
        (["Cache-Control: max-age=600, stale-if-error=60, must-revalidate"], 600, false, false),
        (["Cache-Control: no-cache, stale-if-error=60"], 0, false, false),
        (["Cache-Control: no-cache=\"set-cookie\", max-age=600, stale-if-error=60"], 600, true, true),
        (["Cache-Control: max-age=600, proxy-revalidate, s-maxage=1"], 600, true, false),
        (["Cache-Control: max-age=600, stale-if-error=60, stale-if-error=600"], 700, true, false),
        (["Cache-Control: max-age=600, stale-if-error=x"], 600, true, false),
        (["Cache-Control: max-age=600, stale-if-error=99999999999"], 1_000_000_000, true, true),
        (["Cache-Control: no-store, max-age=600, stale-if-error=60"], 0, false, false),
        (["Vary: *", "Cache-Control: max-age=600, stale-if-error=60"], 0, false, false),
        (["Pragma: no-cache"], 0, false, false),
        (["Cache-Control: max-age=600, stale-if-error=60", "Age: 600"], 59, true, true),
        (["Cache-Control: max-age=600, stale-if-error=60", "Age: 700"], 0, true, false),
    ])
    func servesStaleInStrictModeOnlyWhereAllowed(
        _ lines: [String],
        _ elapsed: Int64,
        _ disconnected: Bool,
        _ afterError: Bool
    ) {
        var policy = FreshnessPolicy()
        policy.mode = .strict
        let freshness = policy.assess(StoredResponse.with(lines))
        let now = received.adding(seconds: elapsed)

        #expect(!freshness.allowsStale(at: now, because: .answered))
        #expect(freshness.allowsStale(at: now, because: .disconnected) == disconnected)
        #expect(freshness.allowsStale(at: now, because: .originError) == afterError)
    }

    @Test(arguments: ["no-store", "no-cache", "max-age=0, must-revalidate"])
    func servesStaleFreelyWhenOfflineComesFirst(_ value: String) {
        let freshness = FreshnessPolicy().assess(StoredResponse.with(["Cache-Control: \(value)"]))
        let muchLater = received.adding(seconds: 1_000_000_000)

        #expect(freshness.allowsStale(at: muchLater, because: .originError))
        #expect(!freshness.mustRevalidate)
    }

    /// Section 4.3.3 and RFC 5861 section 4: an error is what would be a 500, 502, 503 or 504; any other response
    /// replaces the stored one.
    @Test(
        arguments: [
            (.offline, .disconnected), (.unreachable, .disconnected), (.timeout, .disconnected),
            (.storage, .disconnected),
            (.forbiddenAddress, .disconnected), (.unsupportedURL, .disconnected), (.serverError, .originError),
            (.truncated, .originError), (.gone, .answered), (.refused, .answered), (.rateLimited, .answered),
            (.unexpectedStatus, .answered), (.notImage, .answered), (.tooLarge, .answered),
            (.tooManyPixels, .answered),
            (.tooManyRedirects, .answered), (FailureKind(rawValue: "new"), .answered),
        ] as [(FailureKind, Freshness.StaleCause)]
    )
    func tellsFromTheFailureWhyStaleIsWanted(_ kind: FailureKind, _ cause: Freshness.StaleCause) {
        #expect(Freshness.StaleCause(kind) == cause)
    }

    // MARK: The next check

    @Test(arguments: [
        // Seconds fresh, jitter, milliseconds from the end of freshness to the next check.
        (0, 1.0, 0), (59, 1, 0), (60, 0, 0), (60, 0.5, 3_000), (60, 1, 6_000), (3_600, 1, 360_000),
        (86_400, 0.25, 2_160_000), (31_536_000, 1, 21_600_000), (3_600, -1, 0), (3_600, 2, 360_000),
    ])
    func spreadsTheNextCheck(_ seconds: Int64, _ jitter: Double, _ later: Int64) {
        let freshness = FreshnessPolicy().assess(StoredResponse.with(["Cache-Control: max-age=\(seconds)"]))

        #expect(freshness.nextCheck(jitter: jitter) == freshness.freshUntil.adding(milliseconds: later))
    }

    @Test func millionImagesOfOneNightDoNotComeDueInOneSecond() {
        let freshness = FreshnessPolicy().assess(StoredResponse.with([]))
        var random = SeededGenerator(seed: 7)
        var due: [Int64: Int] = [:]
        for _ in 0..<1_000_000 {
            let check = freshness.nextCheck(jitter: .random(in: 0...1, using: &random))
            due[check.milliseconds / 1000, default: 0] += 1
        }

        // A day fresh: spread over 8,640 seconds, 116 a second on average.
        #expect(due.count > 8_600)
        #expect(due.values.max() ?? 0 < 200)
    }

    // MARK: Full fetches

    @Test func asksForAFullFetchAfterTheMaximumAge() {
        let policy = FreshnessPolicy()
        let thirtyDays: Int64 = 30 * 86_400

        #expect(!policy.requiresFullFetch(fetched: received, now: received.adding(seconds: thirtyDays - 1)))
        #expect(policy.requiresFullFetch(fetched: received, now: received.adding(seconds: thirtyDays)))
        #expect(!policy.requiresFullFetch(fetched: received, now: received.adding(seconds: -1)))
    }
}
