import AvatarCore
import Testing

struct RetryPolicyTests {
    @Test(arguments: [
        (FailureKind.timeout, 1, 120), (.timeout, 2, 240), (.timeout, 5, 1920), (.unreachable, 1, 120),
        (.serverError, 1, 600), (.rateLimited, 3, 2400), (.gone, 1, 86_400), (.notImage, 2, 172_800),
        (.timeout, 60, 604_800), (.gone, 1000, 604_800), (.timeout, 0, 120),
    ])
    func waitDoublesUpToTheLongest(_ kind: FailureKind, _ count: Int, _ longest: Int64) {
        let policy = RetryPolicy()

        #expect(policy.wait(after: kind, count: count, jitter: 1) == longest)
        #expect(policy.wait(after: kind, count: count, jitter: 0) == longest / 2)
    }

    @Test func beingOfflineOrOutOfDiskIsNoFaultOfTheURL() {
        #expect(!RetryPolicy.isKept(.offline))
        #expect(!RetryPolicy.isKept(.storage))
        #expect(RetryPolicy.isKept(.gone))
    }
}
