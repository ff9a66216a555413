import Testing

@testable import AvatarCore

@Suite(.timeLimit(.minutes(5)))
struct HostPaceTests {
    /// A limit of 100 requests a second.
    enum Limit: String, CaseIterable {
        case bucket, bucketOf5, bucketOf20, bucketOf100, window, laterWindow

        var limiter: any SimulatedLimiter {
            switch self {
            case .bucket: TokenBucket(rate: 100)
            case .bucketOf5: TokenBucket(rate: 100, capacity: 5)
            case .bucketOf20: TokenBucket(rate: 100, capacity: 20)
            case .bucketOf100: TokenBucket(rate: 100, capacity: 100)
            case .window: FixedWindow(100, every: 1)
            case .laterWindow: FixedWindow(100, every: 1, offset: 0.9)
            }
        }
    }

    private func run(
        _ images: Int,
        _ limiter: any SimulatedLimiter,
        retryAfter: Duration? = .seconds(1),
        roundTrip: Double = 0.01
    ) -> PacedRun {
        var run = PacedRun(images, behind: limiter, retryAfter: retryAfter, roundTrip: roundTrip)
        run.run()
        return run
    }

    // MARK: Waits

    /// The wait after the refusal that gives an image up counts only as far as it has passed.
    @Test func waitThatLiesAheadIsNotCounted() {
        var pace = HostPace()
        let slowdowns = pace.begin(at: .zero)
        pace.answered(turn(slowdowns, refusals: 0), at: .zero)
        var waits: [Int] = []
        var now = Duration.zero
        for refusals in 0..<5 {
            let slowdowns = pace.begin(at: now)
            _ = pace.refused(
                turn(slowdowns, refusals: refusals),
                retryAfter: nil,
                longest: .seconds(60),
                active: 1,
                at: now
            )
            #expect(milliseconds(pace.waited(at: now)) == waits.reduce(0, +))
            waits.append(milliseconds(pace.waited - pace.waited(at: now)))
            if refusals < 4 { now = max(now, pace.earliest) }
        }

        #expect(waits == [100, 200, 400, 800, 1600])
        #expect(milliseconds(pace.waited(at: now)) == 1500)
        #expect(milliseconds(pace.waited(at: now + .seconds(60))) == 3100)
    }

    private func milliseconds(_ duration: Duration) -> Int { Int((duration / .milliseconds(1)).rounded()) }

    private func turn(_ slowdowns: Int, refusals: Int) -> HostTurn {
        var turn = HostTurn()
        (turn.slowdowns, turn.refusals) = (slowdowns, refusals)
        return turn
    }

    // MARK: Convergence

    /// 2,000 images take 20 s at least. A wait of a second after each refusal would take 80 s and more.
    @Test(arguments: Limit.allCases, [0.002, 0.01, 0.02])
    func findsTheLimit(_ limit: Limit, roundTrip: Double) {
        let run = run(2000, limit.limiter, roundTrip: roundTrip)

        #expect(run.failed == 0 && run.arrivals.count == 2000)
        #expect(run.seconds < 30)
        #expect(run.refused < 60)
    }

    @Test(arguments: [0.0, 20], [0.002, 0.01, 0.02, 0.06])
    func findsTheLimitOfNginx_whichNamesNoTime(burst: Double, roundTrip: Double) {
        let run = run(2000, NginxLimit(rate: 100, burst: burst), retryAfter: nil, roundTrip: roundTrip)

        #expect(run.failed == 0 && run.arrivals.count == 2000)
        #expect(run.seconds < 27)
        #expect(run.refused < 60)
    }

    @Test(arguments: [(1.0, 30), (10, 200), (500, 8000)])
    func findsLowAndHighLimits(rate: Double, images: Int) {
        let run = run(images, TokenBucket(rate: rate))

        #expect(run.failed == 0)
        #expect(run.seconds < 2.2 * Double(images) / rate)
    }

    @Test func waitsForTheNextWindow_howeverFarItIs() {
        let run = run(180, FixedWindow(60, every: 60, offset: 10), retryAfter: .seconds(60))

        #expect(run.failed == 0)
        #expect(run.seconds < 240)
    }

    @Test func findsTheLowerOfTwoLimits() {
        let limits = BothLimits(FixedWindow(1000, every: 10), TokenBucket(rate: 200, capacity: 10))
        let run = run(3000, limits)

        #expect(run.failed == 0)
        #expect(run.seconds < 36)
    }

    // MARK: Changes

    @Test func recoversOnceTheLimitIsLifted() {
        let run = run(5000, ChangedLimit(TokenBucket(rate: 10), until: 20, then: NoLimit()))

        #expect(run.failed == 0)
        #expect(run.seconds < 60)
        #expect(run.arrivals.filter { $0 < 20 }.count > 100)
    }

    @Test func adaptsToALowerLimit() {
        let run = run(700, ChangedLimit(TokenBucket(rate: 100), until: 5, then: TokenBucket(rate: 10)))
        let rest = Double(700 - run.arrivals.filter { $0 < 5 }.count)

        #expect(run.failed == 0)
        #expect(run.seconds < 5 + 1.8 * rest / 10)
    }

    // MARK: Limits of the patience

    @Test func hostWithoutLimitsIsNotSpaced() {
        let run = run(2000, NoLimit())

        #expect(!run.pace.isSpaced && run.pace.limit == 16)
        #expect(run.pace.waited == .zero && run.refused == 0)
    }

    /// Retry-After promises an answer, so it is believed a few times.
    @Test func hostThatOnlyRefusesIsGivenUp() {
        let run = run(100, FixedWindow(0, every: 1))

        #expect(run.failed == 100)
        #expect(run.seconds > 30 && run.seconds < 180)
        #expect(run.refused < 20)
    }

    @Test func refusalWithoutRetryAfterIsAFailure_untilTheHostAnswers() {
        var pace = HostPace()
        var turn = HostTurn()
        turn.slowdowns = pace.begin(at: .zero)
        #expect(refuse(&pace, turn, retryAfter: nil, at: .zero) == .failHost)

        pace.answered(turn, at: .milliseconds(10))
        #expect(refuse(&pace, turn, retryAfter: nil, at: .milliseconds(20)) == .askAgain)
    }

    @Test func waitThatIsTooLongIsAFailure() {
        var pace = HostPace()
        var turn = HostTurn()
        turn.slowdowns = pace.begin(at: .zero)
        #expect(refuse(&pace, turn, retryAfter: .seconds(61), at: .zero) == .failHost)
        #expect(!pace.isSpaced)

        #expect(refuse(&pace, turn, retryAfter: .seconds(20), longest: .seconds(10), at: .zero) == .failHost)
        #expect(refuse(&pace, turn, retryAfter: .seconds(60), at: .zero) == .askAgain)
        #expect(pace.earliest == .seconds(60) && pace.waited == .seconds(60))
    }

    /// Eight requests that are refused together slow the host down once. The longest wait counts.
    @Test func refusalsOfOneMomentCountOnce() {
        var pace = HostPace()
        var turn = HostTurn()
        for _ in 0..<8 { turn.slowdowns = pace.begin(at: .zero) }
        for _ in 0..<7 { #expect(refuse(&pace, turn, retryAfter: .seconds(1), at: .zero) == .askAgain) }
        let rate = pace.rate
        #expect(refuse(&pace, turn, retryAfter: .seconds(2), at: .zero) == .askAgain)

        #expect(pace.rate == rate && pace.limit == 3)
        #expect(pace.refusalCount == 8)
        #expect(pace.earliest == .seconds(2) && pace.waited == .seconds(2))
    }

    /// A server may answer 503 for some images only. After three of them, a 503 counts as their own fault.
    @Test func imagesThatAreRefusedForeverDoNotSlowTheHostDown() {
        var pace = HostPace()
        var (now, failed) = (Duration.zero, 0)
        for _ in 0..<6 {
            var bad = HostTurn()
            var reaction = HostPace.Reaction.askAgain
            while reaction == .askAgain {
                now = max(now, pace.earliest) + .milliseconds(10)
                var good = HostTurn()
                good.slowdowns = pace.begin(at: now)
                pace.answered(good, at: now)
                now = max(now, pace.earliest)
                bad.slowdowns = pace.begin(at: now)
                reaction = refuse(&pace, bad, retryAfter: nil, at: now)
                bad.refusals += 1
            }
            if reaction == .failImage { failed += 1 }
        }

        #expect(failed == 3)
        #expect(!pace.isSpaced)
    }

    @Test func extremesOverflowNothing() {
        for milliseconds in [Int64.min, 0, .max] {
            var pace = HostPace()
            var turn = HostTurn()
            let time = Duration.milliseconds(milliseconds)
            turn.slowdowns = pace.begin(at: time)
            pace.answered(turn, at: time)
            for wait in [nil, Duration.zero, time] { _ = refuse(&pace, turn, retryAfter: wait, at: time) }
            _ = (pace.begin(at: .zero), pace.earliest, pace.waited)
        }
    }

    private func refuse(
        _ pace: inout HostPace,
        _ turn: HostTurn,
        retryAfter: Duration?,
        longest: Duration = HostPace.longestWait,
        at now: Duration
    ) -> HostPace.Reaction {
        pace.refused(turn, retryAfter: retryAfter, longest: longest, active: 8, at: now)
    }
}
