import AvatarCore
import HTTPTypes
import Testing

/// Every kind of failure, for an entry in every state: what is kept, and when it is checked next.
@Suite(.timeLimit(.minutes(5)))
struct FailedCheckTests {
    enum Before: CaseIterable, Sendable {
        case neverFailed
        /// The last two checks timed out.
        case failing

        var failure: PastFailure? {
            switch self {
            case .neverFailed: nil
            case .failing:
                PastFailure(
                    kind: .timeout,
                    count: 2,
                    checked: now.adding(seconds: -300),
                    nextCheck: now.adding(seconds: -60)
                )
            }
        }
    }

    private static let now = StoredResponse.received

    @Test(
        arguments: [
            // Kind; the party to blame; seconds to the next check after a first failure, and after two timeouts before.
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
    func failurePutsOffTheNextCheck(
        _ row: (kind: FailureKind, blame: FailureKind.Blame, first: Int64, third: Int64),
        _ before: Before
    ) throws {
        let check = try #require(FailedCheck(row.kind, at: Self.now, after: before.failure, jitter: 1))

        #expect(check.count == (before == .failing && row.kind != .gone ? 3 : 1))
        #expect(check.nextCheck == Self.now.adding(seconds: before == .failing ? row.third : row.first))
        #expect(!check.isRemovalConfirmed)
        #expect(row.kind.blame == row.blame)
    }

    @Test(arguments: [FailureKind.offline, .storage, .tooManyOpenFiles, .badRecord], Before.allCases)
    func networkAndDiskFailuresAreNotRecorded(_ kind: FailureKind, _ before: Before) {
        #expect(FailedCheck(kind, at: Self.now, after: before.failure, jitter: 1) == nil)
        #expect(kind.blame == .neither)
    }

    @Test(
        arguments: [
            // Kind, seconds that the host asked for; seconds to the next check.
            (.rateLimited, 7_200, 7_200),
            (.rateLimited, 60, 600),
            (.rateLimited, 0, 600),
            (.rateLimited, -60, 600),
            (.serverError, 604_800, 604_800),
            (.serverError, 1_000_000_000, 604_800),
            (.serverError, .max, 604_800),
        ] as [(FailureKind, Int64, Int64)]
    )
    func retryAfterPostponesTheNextCheck(_ kind: FailureKind, _ wish: Int64, _ next: Int64) {
        let retryAfter = Self.now.adding(seconds: wish)

        let check = FailedCheck(kind, at: Self.now, after: nil, retryAfter: retryAfter, jitter: 1)

        #expect(check?.nextCheck == Self.now.adding(seconds: next))
    }

    /// The record after a response has no trace of failures.
    @Test func answerEndsEveryFailure() {
        let response = AssessedResponse(Self.metadata, under: FreshnessPolicy())
        let record = ValidationRecord(response, fetched: nil, jitter: 1)

        #expect(record.isFresh(at: Self.now))
        #expect(record.failure == nil && record.failureCount == 0)
        #expect(record.checked == Self.now)
        #expect(record.freshUntil == Self.now.adding(seconds: 3_600))
        #expect(record.nextCheck == Self.now.adding(seconds: 3_960))
    }

    // MARK: Removal at the origin

    @Test(
        arguments: [
            // Required confirmations; hours between two checks; the check that confirms the removal.
            (0, 24, nil), (1, 24, 1), (2, 24, 2), (3, 24, 3), (3, 12, 3), (2, 0, nil),
            // Reads in between do not count.
            (2, 11, 3), (2, 1, nil), (2, 4, 4),
        ] as [(Int, Int64, Int?)]
    )
    func removalIsConfirmedByItsRepetitionOverAPeriod(_ wanted: Int, _ hours: Int64, _ confirmedAt: Int?) throws {
        var past: PastFailure?
        var confirmed: Int?
        for number in 1...6 where confirmed == nil {
            let now = Self.now.adding(seconds: Int64(number) * hours * 3_600)
            let check = try #require(
                FailedCheck(.gone, at: now, after: past, goneConfirmations: wanted, jitter: 0)
            )
            past = PastFailure(kind: .gone, count: check.count, checked: now, nextCheck: check.nextCheck)
            if check.isRemovalConfirmed { confirmed = number }
        }

        #expect(confirmed == confirmedAt)
    }

    @Test func otherFailureRestartsTheGoneCount() {
        var past: PastFailure?
        for (day, kind) in [FailureKind.gone, .timeout, .gone, .offline].enumerated() {
            let now = Self.now.adding(seconds: Int64(day) * 86_400)
            guard let check = FailedCheck(kind, at: now, after: past, goneConfirmations: 2, jitter: 0) else { continue }
            past = PastFailure(kind: kind, count: check.count, checked: now, nextCheck: check.nextCheck)
            #expect(!check.isRemovalConfirmed)
            #expect(check.count == 1)
        }
    }

    // MARK: Helpers

    private static let metadata = ResponseMetadata(
        status: 200,
        fields: [.cacheControl: "max-age=3600", .eTag: "\"a\"", .lastModified: "x"],
        requestTime: now,
        responseTime: now
    )
}
