import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct HostHealthTests {
    private let start = StoredResponse.received

    private func time(_ seconds: Int64) -> Timestamp { start.adding(seconds: seconds) }

    /// A host that failed `count` times, once a second; the last time at `count - 1`.
    private func failed(_ count: Int, _ kind: FailureKind = .timeout, jitter: Double = 1) -> HostHealth {
        var health = HostHealth()
        for second in 0..<count { fail(&health, kind, at: Int64(second), jitter: jitter) }
        return health
    }

    private func fail(
        _ health: inout HostHealth,
        _ kind: FailureKind?,
        requested: Int64? = nil,
        at second: Int64,
        retryAfter: Int64? = nil,
        jitter: Double = 1
    ) {
        health.record(
            kind,
            retryAfter: retryAfter.map(time),
            requested: time(requested ?? second),
            at: time(second),
            jitter: jitter
        )
    }

    @Test func sentenceOfTheLastFailureStaysUntilAResponse() {
        var health = HostHealth()
        health.record(.timeout, message: "a", requested: time(0), at: time(0), jitter: 1)
        health.record(.unreachable, message: "b", requested: time(1), at: time(1), jitter: 1)
        #expect(health.message == "b" && health.withoutOwnPause.message == "b")
        // No host is at fault, or no request was sent.
        health.record(.storage, message: "c", requested: time(2), at: time(2), jitter: 1)
        health.record(.forbiddenAddress, message: "d", requested: time(3), at: time(3), jitter: 1)
        #expect(health.message == "b")
        health.record(.gone, message: "e", requested: time(4), at: time(4), jitter: 1)
        #expect(health == HostHealth())
    }

    // MARK: Pausing

    @Test func fewFailuresAreTolerated() {
        #expect(HostHealth().admission(at: start) == .free)
        #expect(failed(4).admission(at: time(4)) == .free)
        #expect(failed(4).reason(at: time(4)) == nil)
    }

    @Test func failingHostIsPaused_thenProbedWithOneRequest() {
        let health = failed(5)

        #expect(health.admission(at: time(4)) == .nothing(until: time(64)))
        #expect(health.admission(at: time(63)) == .nothing(until: time(64)))
        #expect(health.reason(at: time(63)) == "failed 5 times in a row (timeout), and is paused")
        #expect(health.admission(at: time(64)) == .oneProbe)
        #expect(health.reason(at: time(64)) == "failed 5 times in a row (timeout), and gets one request as a test")
    }

    @Test(arguments: [
        (FailureKind.timeout, 5, true), (.unreachable, 5, true), (.serverError, 5, true), (.serverError, 4, false),
        (.rateLimited, 1, true),
        (.gone, 100, false), (.refused, 100, false), (.notImage, 100, false), (.truncated, 100, false),
        (.offline, 100, false), (.storage, 100, false), (.forbiddenAddress, 100, false), (.unsupportedURL, 100, false),
    ])
    func onlyHostFailuresCountAgainstAHost(_ kind: FailureKind, _ count: Int, _ isLeftAlone: Bool) {
        #expect(failed(count, kind).isFailing == isLeftAlone)
    }

    @Test(arguments: [FailureKind?.none, .gone, .refused, .notImage, .unexpectedStatus, .tooLarge])
    func responseClearsTheFailures(_ kind: FailureKind?) {
        var health = failed(4)
        fail(&health, kind, at: 4)
        fail(&health, .timeout, at: 5)

        #expect(health.failures == 1)
        #expect(health.admission(at: time(5)) == .free)
    }

    @Test(arguments: [FailureKind.offline, .storage, .forbiddenAddress, .unsupportedURL])
    func failureBeforeTheHostDoesNotCount(_ kind: FailureKind) {
        var health = failed(4)
        fail(&health, kind, at: 4)

        #expect(health == failed(4))
    }

    // MARK: On probation

    @Test func eachFailedProbeDoublesThePauseUpToSixHours() {
        var health = failed(5)
        var second: Int64 = 4
        var waits: [Int64] = []
        for _ in 0..<12 {
            guard case .nothing(let until) = health.admission(at: time(second)) else { break }
            waits.append(until.seconds(since: time(second)))
            second = until.seconds(since: start)
            #expect(health.admission(at: until) == .oneProbe)
            fail(&health, .timeout, at: second)
        }

        #expect(waits == [60, 120, 240, 480, 960, 1_920, 3_840, 7_680, 15_360, 21_600, 21_600, 21_600])
    }

    @Test func successfulProbeEndsThePause() {
        var health = failed(5)
        fail(&health, nil, at: 64)

        #expect(health == HostHealth())
        #expect(health.admission(at: time(64)) == .free)
    }

    /// Eight requests that time out together cause one pause.
    @Test func failuresOfEarlierRequestsDoNotCountAgain() {
        var health = failed(5)
        let until = health.restsUntil
        for _ in 0..<8 { fail(&health, .timeout, requested: 3, at: 30) }
        #expect(health.restsUntil == until)
        #expect(health.failures == 5)

        // A response to an earlier request proves that the host works again.
        fail(&health, nil, requested: 3, at: 31)
        #expect(health.admission(at: time(31)) == .free)
    }

    @Test func jitterSpreadsThePause() {
        #expect(failed(5, jitter: 0).restsUntil == time(4 + 30))
        #expect(failed(5, jitter: 0.5).restsUntil == time(4 + 45))
        #expect(failed(5, jitter: 1).restsUntil == time(4 + 60))
    }

    // MARK: Retry-After

    @Test func retryAfterIsKeptAfterOtherResponses() {
        var health = HostHealth()
        fail(&health, .rateLimited, at: 0, retryAfter: 600)
        fail(&health, nil, requested: 0, at: 1)

        #expect(health.admission(at: time(1)) == .nothing(until: time(600)))
        #expect(health.reason(at: time(1)) == "asked for a pause (Retry-After), and is paused")
        #expect(health.admission(at: time(600)) == .free)
    }

    @Test func single429PausesTheHost() {
        var health = HostHealth()
        fail(&health, .rateLimited, at: 0)

        #expect(health.admission(at: time(59)) == .nothing(until: time(60)))
        #expect(health.admission(at: time(60)) == .oneProbe)
        fail(&health, .rateLimited, at: 60)
        #expect(health.admission(at: time(61)) == .nothing(until: time(180)))
        #expect(health.reason(at: time(61)) == "asked for fewer requests, and is paused")
    }

    @Test func longerOfPauseAndRetryAfterCounts() {
        var health = failed(4, .serverError)
        fail(&health, .serverError, at: 4, retryAfter: 10)
        #expect(health.admission(at: time(4)) == .nothing(until: time(64)))

        fail(&health, .serverError, at: 64, retryAfter: 1_000)
        #expect(health.admission(at: time(64)) == .nothing(until: time(1_000)))
        #expect(health.admission(at: time(1_000)) == .oneProbe)
    }

    // MARK: Clocks

    @Test(arguments: [Int64(1), 15, 292].map { $0 * 31_556_952 })
    func pauseWrittenByAFastClockIsIgnored(_ jump: Int64) {
        var health = HostHealth()
        for second in 0..<5 { fail(&health, .timeout, at: jump + Int64(second), retryAfter: jump + 600) }

        #expect(health.admission(at: start) == .oneProbe)
        fail(&health, .timeout, at: 0)
        #expect(health.admission(at: start) == .nothing(until: time(120)))
    }

    @Test func extremesOverflowNothing() {
        for milliseconds in [Int64.min, 0, .max] {
            let now = Timestamp(milliseconds: milliseconds)
            var health = HostHealth(failures: .max, failure: nil, restsUntil: now, blockedUntil: now)
            health.record(.timeout, requested: now, at: now, jitter: .infinity)
            _ = (health.admission(at: now), health.reason(at: now))
            #expect(HostHealth(failures: -5, failure: nil, restsUntil: nil, blockedUntil: nil) == HostHealth())
        }
    }

    @Test func survivesARestart() {
        let health = failed(7)
        let read = HostHealth(
            failures: health.failures,
            failure: health.failure,
            restsUntil: health.restsUntil,
            blockedUntil: health.blockedUntil
        )

        #expect(read == health)
    }

    @Test func noResponseShortensRetryAfter() {
        var health = HostHealth()
        fail(&health, .serverError, at: 0, retryAfter: 3600)

        fail(&health, .serverError, at: 1, retryAfter: 3)
        #expect(health.blockedUntil == time(3600))

        fail(&health, .serverError, at: 2, retryAfter: 7200)
        #expect(health.blockedUntil == time(7200))
    }
}
