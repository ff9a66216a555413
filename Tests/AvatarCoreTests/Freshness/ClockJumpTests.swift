import AvatarCore
import HTTPTypes
import Testing

/// A clock that is wrong by years, and is put right: nothing stays fresh because of it, and nothing overflows.
@Suite(.timeLimit(.minutes(5)))
struct ClockJumpTests {
    private static let year: Int64 = 31_556_952
    private static let jumps: [Int64] = [1, 15, 30, 68, 292, 5_000].flatMap { [$0 * year, -$0 * year] }
    private let received = StoredResponse.received

    @Test(arguments: jumps)
    func imageOfAnotherTimeIsChecked(_ jump: Int64) {
        let freshness = FreshnessPolicy().assess(StoredResponse.with(["Cache-Control: max-age=86400"]))
        let now = received.adding(seconds: jump)

        #expect(!freshness.isFresh(at: now))
        #expect(freshness.currentAge(at: now) >= 0)
        #expect(freshness.allowsStale(at: now, because: .originError))
    }

    @Test(arguments: jumps)
    func recordOfAnotherTimeIsDue(_ jump: Int64) {
        let metadata = StoredResponse.with(["Cache-Control: max-age=86400"])
        let response = AssessedResponse(metadata, under: FreshnessPolicy())
        let record = ValidationRecord(response, fetched: received, jitter: 1)
        let now = received.adding(seconds: jump)

        #expect(!record.isFresh(at: now))
        #expect(record.isDue(at: now))
        #expect(record.isFresh(at: received.adding(seconds: 86_399)))
        #expect(!record.isDue(at: received.adding(seconds: 86_399)))
    }

    @Test(arguments: jumps)
    func backoffWrittenByAFastClockIsOver(_ jump: Int64) {
        var record = ValidationRecord()
        record.failure = .timeout
        record.checked = received
        record.nextCheck = received.adding(seconds: 600)

        #expect(record.isBackingOff(at: received.adding(seconds: 599)))
        #expect(!record.isBackingOff(at: received.adding(seconds: jump)))
    }

    /// A correction by minutes is normal.
    @Test func smallCorrectionsChangeNothing() {
        let metadata = StoredResponse.with(["Cache-Control: max-age=86400"])
        let response = AssessedResponse(metadata, under: FreshnessPolicy())
        let record = ValidationRecord(response, fetched: received, jitter: 0)

        #expect(record.isFresh(at: received.adding(seconds: -300)))
        #expect(!record.isFresh(at: received.adding(seconds: -301)))
        #expect(!record.isDue(at: received.adding(seconds: -300)))
    }

    @Test(arguments: jumps)
    func clockThatJumpsWithinARequestPutsNothingOff(_ jump: Int64) {
        var metadata = StoredResponse.with(["Cache-Control: max-age=86400"])
        metadata.requestTime = received.adding(seconds: jump)

        let freshness = FreshnessPolicy().assess(metadata)

        // An answer that took years is old; one that came before it was asked for took no time.
        #expect(freshness.initialAge == (jump < 0 ? min(-jump, 1 << 31) : 0))
        #expect(freshness.freshUntil <= received.adding(seconds: 86_400))
    }

    @Test(arguments: jumps)
    func originWithAnotherTimeIsReadByItsOwnClock(_ jump: Int64) {
        let theirs = StoredResponse.date(jump)
        let lines = ["Date: \(theirs)", "Expires: \(StoredResponse.date(jump + 600))"]
        let freshness = FreshnessPolicy().assess(StoredResponse.with(lines))

        #expect(freshness.freshUntil <= received.adding(seconds: 600))
        #expect(freshness.freshUntil >= received)
    }

    @Test(arguments: jumps)
    func fullFetchIsNotPutOff(_ jump: Int64) {
        #expect(FreshnessPolicy().requiresFullFetch(fetched: received, now: received.adding(seconds: jump)))
    }

    /// Every mix of extreme times: no trap, no negative age, and never fresh for longer than the origin said.
    @Test func extremeTimesOverflowNothing() {
        let times = [Int64.min, .min + 1, -1, 0, 1, 784_111_777_000, .max - 1, .max].map(Timestamp.init)
        let lines = ["Cache-Control: max-age=99999999999", "Age: 99999999999", "Expires: 0", "Last-Modified: x"]
        for request in times {
            for response in times {
                var metadata = StoredResponse.with(lines)
                (metadata.requestTime, metadata.responseTime) = (request, response)
                let record = ValidationRecord(AssessedResponse(metadata, under: .strict), fetched: request, jitter: 1)
                let freshness = FreshnessPolicy.strict.assess(ResponseMetadata(stored: record))
                for now in times {
                    #expect(freshness.currentAge(at: now) >= 0)
                    #expect(!freshness.isFresh(at: now))
                    _ = freshness.allowsStale(at: now, because: .originError)
                    _ = ConditionalRequest(
                        for: ResponseMetadata(stored: record),
                        fetched: record.fetched,
                        isReload: false,
                        policy: .strict,
                        now: now
                    )
                    _ = (record.isFresh(at: now), record.isDue(at: now), record.isBackingOff(at: now))
                }
            }
        }
    }
}
