import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RetryPolicyTests {
    @Test(arguments: [
        // Kind, failures in a row; the longest wait in seconds. The shortest is half of it.
        (FailureKind.timeout, 0, 120), (.timeout, 1, 120), (.timeout, 2, 240), (.timeout, 5, 1_920),
        (.timeout, 10, 61_440), (.timeout, 11, 86_400), (.timeout, 60, 86_400), (.timeout, .max, 86_400),
        (.timeout, -5, 120), (.unreachable, 1, 120), (.unreachable, 60, 86_400),
        (.serverError, 1, 600), (.serverError, 3, 2_400), (.serverError, 60, 86_400),
        (.rateLimited, 1, 600), (.rateLimited, 60, 86_400),
        (.truncated, 1, 120), (.truncated, 60, 604_800),
        (.notImage, 1, 3_600), (.notImage, 2, 7_200), (.notImage, 60, 604_800),
        (.unexpectedStatus, 1, 3_600), (.tooManyRedirects, 1, 3_600),
        (.gone, 1, 86_400), (.gone, 2, 172_800), (.gone, 3, 345_600), (.gone, 4, 604_800), (.gone, 1_000, 604_800),
        (.refused, 1, 86_400), (.tooLarge, 1, 86_400), (.tooManyPixels, 1, 86_400), (.forbiddenAddress, 1, 86_400),
        (.unsupportedURL, 60, 604_800), (FailureKind(rawValue: "new"), 1, 120),
    ])
    func waitDoublesUpToTheLongest(_ kind: FailureKind, _ count: Int, _ longest: Int64) {
        let policy = RetryPolicy()

        #expect(policy.wait(after: kind, count: count, jitter: 1) == longest)
        #expect(policy.wait(after: kind, count: count, jitter: 0) == longest / 2)
        #expect(policy.wait(after: kind, count: count, jitter: 7) == longest)
        #expect(policy.wait(after: kind, count: count, jitter: -7) == longest / 2)
        #expect(longest <= RetryPolicy.longestWait)
    }

    @Test(
        arguments: [
            // The failure before and how often, seconds since, whether its wait was over; the new one; how often now.
            (nil, 0, 0, true, .timeout, 1),
            (.timeout, 1, 600, true, .timeout, 2),
            (.timeout, 1, 600, true, .serverError, 2),
            (.timeout, 5, 600, true, .gone, 1),
            (.gone, 5, 600, true, .timeout, 1),
            // A forced attempt does not lengthen the wait.
            (.timeout, 3, 60, false, .timeout, 3),
            (.timeout, 3, 60, false, .notImage, 3),
            (.timeout, 3, -31_556_952, false, .timeout, 4),
            (.timeout, .max, 600, true, .timeout, .max),
            // "Gone" has half a day to be a mistake.
            (.gone, 1, 43_199, false, .gone, 1),
            // Read again and again meanwhile: the planned check counts.
            (.gone, 1, 43_199, true, .gone, 2),
            (.gone, 1, 43_200, true, .gone, 2),
            (.gone, 1, 43_200, false, .gone, 2),
            (.gone, 1, -60, false, .gone, 1),
        ] as [(FailureKind?, Int, Int64, Bool, FailureKind, Int)]
    )
    func countsFailuresInARow(
        _ before: FailureKind?,
        _ count: Int,
        _ elapsed: Int64,
        _ isWaitOver: Bool,
        _ kind: FailureKind,
        _ expected: Int
    ) {
        let now = StoredResponse.received
        let past = before.map {
            PastFailure(
                kind: $0,
                count: count,
                checked: now.adding(seconds: -elapsed),
                nextCheck: now.adding(seconds: isWaitOver ? 0 : 1)
            )
        }

        #expect(RetryPolicy.count(of: kind, at: now, after: past) == expected)
    }

    @Test func withoutAPlanEachFailureCounts() {
        let past = PastFailure(kind: .timeout, count: 3, checked: StoredResponse.received)

        #expect(RetryPolicy.count(of: .timeout, at: StoredResponse.received, after: past) == 4)
    }

    @Test(
        arguments: [
            (200, nil), (203, nil), (250, nil), (299, nil), (304, nil), (404, .gone), (410, .gone), (401, .refused),
            (403, .refused),
            (429, .rateLimited), (500, .serverError), (502, .serverError), (503, .serverError), (599, .serverError),
            (201, .unexpectedStatus), (202, .unexpectedStatus), (204, .unexpectedStatus), (205, .unexpectedStatus),
            (206, .unexpectedStatus), (226, .unexpectedStatus), (300, .unexpectedStatus), (302, .unexpectedStatus),
            (400, .unexpectedStatus), (402, .unexpectedStatus), (407, .unexpectedStatus), (408, .unexpectedStatus),
            (412, .unexpectedStatus), (416, .unexpectedStatus), (421, .unexpectedStatus), (451, .unexpectedStatus),
            (600, .unexpectedStatus), (999, .unexpectedStatus), (0, .unexpectedStatus),
        ] as [(Int, FailureKind?)]
    )
    func tellsFailuresFromTheStatus(_ status: Int, _ kind: FailureKind?) {
        #expect(FailureKind(status: status) == kind)
    }

    @Test(
        arguments: [
            (.gone, .image), (.refused, .image), (.notImage, .image), (.tooLarge, .image), (.tooManyPixels, .image),
            (.truncated, .image), (.unexpectedStatus, .image), (.tooManyRedirects, .image), (.forbiddenAddress, .image),
            (.unsupportedURL, .image), (.timeout, .host), (.unreachable, .host), (.serverError, .host),
            (.rateLimited, .host),
            (.offline, .neither), (.storage, .neither), (.tooManyOpenFiles, .neither), (.badRecord, .neither),
        ] as [(FailureKind, FailureKind.Blame)]
    )
    func countsAgainstTheOneWhoseFaultItIs(_ kind: FailureKind, _ blame: FailureKind.Blame) {
        #expect(kind.blame == blame)
        #expect(RetryPolicy.isKept(kind) == (blame != .neither))
    }
}
