import AvatarCore
import HTTPTypes
import Testing

/// Every outcome of a check, for an entry in every state: what is shown, what is kept, and when it is checked next.
struct CheckPolicyTests {
    enum Before: CaseIterable, Sendable {
        case absent
        case fresh
        case stale
        /// Stale, and the last two checks timed out.
        case failing

        var record: ValidationRecord? {
            switch self {
            case .absent: nil
            case .fresh: Self.answered(100)
            case .stale: Self.answered(7_200)
            case .failing: Self.timedOut
            }
        }

        private static var timedOut: ValidationRecord {
            var record = answered(7_200)
            record.failure = .timeout
            record.failureCount = 2
            record.checked = now.adding(seconds: -300)
            record.nextCheck = now.adding(seconds: -60)
            return record
        }

        private static func answered(_ age: Int64) -> ValidationRecord {
            ValidationRecord(
                metadata(at: now.adding(seconds: -age)),
                fetched: now.adding(seconds: -10_000),
                policy: FreshnessPolicy(),
                jitter: 0
            )
        }
    }

    private static let now = StoredResponse.received
    private let policy = CheckPolicy(freshness: FreshnessPolicy())

    // MARK: Failures

    @Test(
        arguments: [
            // Kind; whose fault; seconds to the next check after a first failure, and after two timeouts before.
            (.gone, .image, 86_400, 86_400),
            (.refused, .image, 86_400, 345_600),
            (.rateLimited, .host, 600, 2_400),
            (.serverError, .host, 600, 2_400),
            (.unexpectedStatus, .image, 3_600, 14_400),
            (.notImage, .image, 3_600, 14_400),
            (.tooLarge, .image, 86_400, 345_600),
            (.tooManyPixels, .image, 86_400, 345_600),
            (.truncated, .image, 120, 480),
            (.timeout, .host, 120, 480),
            (.unreachable, .host, 120, 480),
            (.tooManyRedirects, .image, 3_600, 14_400),
            (.forbiddenAddress, .image, 86_400, 345_600),
            (.unsupportedURL, .image, 86_400, 345_600),
        ] as [(FailureKind, FailureKind.Blame, Int64, Int64)],
        Before.allCases
    )
    func failureChangesWhenTheEntryIsCheckedAndNothingElse(
        _ row: (kind: FailureKind, blame: FailureKind.Blame, first: Int64, third: Int64),
        _ before: Before
    ) throws {
        let result = policy.result(
            of: .failed(row.kind, retryAfter: nil),
            after: before.record,
            at: Self.now,
            jitter: 1
        )
        let record = try #require(result.record)

        #expect(OverviewState(record, absence: nil, at: Self.now) == (row.kind == .gone ? .gone : .failing))
        #expect(record.failure == row.kind)
        #expect(record.failureCount == (before == .failing && row.kind != .gone ? 3 : 1))
        #expect(record.checked == Self.now)
        #expect(record.nextCheck == Self.now.adding(seconds: before == .failing ? row.third : row.first))
        #expect(record.isBackingOff(at: Self.now))
        #expect(result.blame == row.blame)
        #expect(result.hostBlockedUntil == nil)
        #expect(!result.isRemovalConfirmed)
        #expect(!result.endsSync)
        #expect(Self.said(record) == Self.said(before.record ?? ValidationRecord()))
    }

    @Test(arguments: [FailureKind.offline, .storage, .badRecord], Before.allCases)
    func whatIsNobodysFaultIsNotKept(_ kind: FailureKind, _ before: Before) {
        let result = policy.result(of: .failed(kind, retryAfter: nil), after: before.record, at: Self.now, jitter: 1)

        #expect(result.record == nil)
        #expect(result.blame == .nobody)
        #expect(result.endsSync == (kind == .offline))
    }

    @Test(
        arguments: [
            // Kind, seconds that the host asked for; seconds to the next check, seconds that the host is left alone.
            (.rateLimited, 7_200, 7_200, 7_200),
            (.rateLimited, 60, 600, 60),
            (.rateLimited, 0, 600, nil),
            (.rateLimited, -60, 600, nil),
            (.serverError, 604_800, 604_800, 604_800),
            (.serverError, 1_000_000_000, 604_800, 604_800),
            (.serverError, .max, 604_800, 604_800),
        ] as [(FailureKind, Int64, Int64, Int64?)],
        Before.allCases.filter { $0 != .failing }
    )
    func hostThatSaysWhenIsAskedThen(
        _ row: (kind: FailureKind, wish: Int64, next: Int64, block: Int64?),
        _ before: Before
    ) {
        let wish = Self.now.adding(seconds: row.wish)
        let result = policy.result(
            of: .failed(row.kind, retryAfter: wish),
            after: before.record,
            at: Self.now,
            jitter: 1
        )

        #expect(result.record?.nextCheck == Self.now.adding(seconds: row.next))
        #expect(result.hostBlockedUntil == row.block.map { Self.now.adding(seconds: $0) })
    }

    // MARK: Answers

    @Test(arguments: Before.allCases)
    func answerEndsEveryFailure(_ before: Before) throws {
        let image = policy.result(
            of: .image(Self.metadata(at: Self.now)),
            after: before.record,
            at: Self.now,
            jitter: 1
        )
        let same = policy.result(
            of: .notModified(Self.metadata(at: Self.now)),
            after: before.record,
            at: Self.now,
            jitter: 0
        )

        for (result, fetched, next) in [(image, Self.now, 3_960), (same, before.record?.fetched, 3_600)] {
            let record = try #require(result.record)
            #expect(OverviewState(record, absence: nil, at: Self.now) == .fresh)
            #expect(record.failure == nil)
            #expect(record.failureCount == 0)
            #expect(record.checked == Self.now)
            #expect(record.fetched == fetched)
            #expect(record.freshUntil == Self.now.adding(seconds: 3_600))
            #expect(record.nextCheck == Self.now.adding(seconds: Int64(next)))
            #expect(result.blame == .nobody)
        }
    }

    @Test(arguments: Before.allCases)
    func whatIsGoodEnoughIsLeftAsItIs(_ before: Before) {
        #expect(policy.result(of: .kept, after: before.record, at: Self.now, jitter: 1) == CheckResult())
    }

    // MARK: Removal at the origin

    @Test(
        arguments: [
            // So many words are wanted; hours between two checks; after which one the removal is confirmed.
            (0, 24, nil), (1, 24, 1), (2, 24, 2), (3, 24, 3), (3, 12, 3), (2, 11, nil), (2, 0, nil),
        ] as [(Int, Int64, Int?)]
    )
    func removalIsConfirmedByItsRepetitionOverAPeriod(_ wanted: Int, _ hours: Int64, _ confirmedAt: Int?) throws {
        let policy = CheckPolicy(freshness: FreshnessPolicy(), goneConfirmations: wanted)
        var record = Before.fresh.record
        var confirmed: Int?
        for number in 1...6 where confirmed == nil {
            let now = Self.now.adding(seconds: Int64(number) * hours * 3_600)
            let result = policy.result(of: .failed(.gone, retryAfter: nil), after: record, at: now, jitter: 0)
            record = result.record
            if result.isRemovalConfirmed { confirmed = number }
        }

        #expect(confirmed == confirmedAt)
    }

    @Test func somethingElseInBetweenBeginsTheCountAnew() {
        let policy = CheckPolicy(freshness: FreshnessPolicy(), goneConfirmations: 2)
        var record: ValidationRecord?
        for (day, kind) in [FailureKind.gone, .timeout, .gone, .offline].enumerated() {
            let now = Self.now.adding(seconds: Int64(day) * 86_400)
            let result = policy.result(of: .failed(kind, retryAfter: nil), after: record, at: now, jitter: 0)
            record = result.record ?? record
            #expect(!result.isRemovalConfirmed)
        }
        #expect(record?.failure == .gone)
        #expect(record?.failureCount == 1)
    }

    // MARK: States

    @Test(
        arguments: [
            // The failure, why the file is not there, whether it is fresh; what is shown, as in `avatar_overview`.
            (nil, nil, true, .fresh), (nil, nil, false, .stale), (.timeout, nil, true, .failing),
            (.timeout, nil, false, .failing), (.gone, nil, true, .gone), (.gone, .evicted, true, .gone),
            (.timeout, .evicted, true, .evicted), (nil, .evicted, true, .evicted), (nil, .missing, true, .missing),
            (.timeout, .missing, false, .missing),
        ] as [(FailureKind?, Absence?, Bool, OverviewState)]
    )
    func showsOneState(_ failure: FailureKind?, _ absence: Absence?, _ isFresh: Bool, _ state: OverviewState) {
        var record = (isFresh ? Before.fresh : .stale).record ?? ValidationRecord()
        record.failure = failure

        #expect(OverviewState(record, absence: absence, at: Self.now) == state)
    }

    // MARK: Helpers

    private static func metadata(at time: Timestamp) -> ResponseMetadata {
        ResponseMetadata(
            status: 200,
            fields: [.cacheControl: "max-age=3600", .eTag: "\"a\"", .lastModified: "x"],
            requestTime: time,
            responseTime: time
        )
    }

    /// What the origin said of the image.
    private static func said(_ record: ValidationRecord) -> ValidationRecord {
        var record = record
        record.failure = nil
        record.failureCount = 0
        record.checked = nil
        record.nextCheck = nil
        return record
    }
}
