import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct EvictionPlanTests {
    /// Offers files of the given sizes, the least recently used first, until the plan has enough.
    private func offer(_ sizes: [Int], to plan: EvictionPlan) -> EvictionPlan {
        var plan = plan
        for (number, size) in sizes.enumerated() {
            guard plan.offer(fileID: Int64(number), sizeBytes: size) else { break }
        }
        return plan
    }

    @Test func evictsNothingWhileTheBytesFit() {
        let plan = EvictionPlan(bytes: 60, incoming: 40, limit: 100, lowWatermark: 90)

        #expect(!plan.needsEviction)
    }

    @Test func evictionStopsAtTheLowWatermark() {
        let plan = offer([10, 10, 10], to: EvictionPlan(bytes: 100, incoming: 1, limit: 100, lowWatermark: 90))

        #expect(plan.needsEviction)
        #expect(plan.victims == [0])
        #expect(plan.isComplete && plan.fits)
    }

    @Test func largeNewBytesPullTheTargetBelowTheLowWatermark() {
        let plan = offer(
            Array(repeating: 10, count: 10),
            to: EvictionPlan(bytes: 100, incoming: 35, limit: 100, lowWatermark: 90)
        )

        #expect(plan.target == 65)
        #expect(plan.victims == [0, 1, 2, 3])
    }

    @Test func exhaustedPlanTellsWhetherTheNewBytesFit() {
        let low = EvictionPlan(bytes: 100, incoming: 5, limit: 100, lowWatermark: 50)

        #expect(offer([5], to: low).fits)
        #expect(!offer([5], to: low).isComplete)
        #expect(!offer([4], to: low).fits)
    }

    @Test func trimGoesDownToItsTarget() {
        let plan = offer([3, 3, 3], to: EvictionPlan(bytes: 9, trimmingTo: 4))

        #expect(plan.victims == [0, 1])
        #expect(plan.freed == 6)
    }

    /// Promise: `target − largest victim < bytes ≤ target`.
    @Test(arguments: 0..<200)
    func evictsNoMoreThanNeeded(_ seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        let sizes = (0..<40).map { _ in Int.random(in: 1...50, using: &generator) }
        let bytes = sizes.reduce(0, +)
        let limit = Int.random(in: bytes / 2...bytes, using: &generator)
        let incoming = Int.random(in: 1...limit / 2, using: &generator)
        let start = EvictionPlan(bytes: bytes, incoming: incoming, limit: limit, lowWatermark: limit * 9 / 10)

        let plan = offer(sizes, to: start)

        let left = bytes - plan.freed
        let largest = plan.victims.map { sizes[Int($0)] }.max() ?? 0
        #expect(left <= plan.target)
        #expect(plan.victims.isEmpty || plan.target - largest < left)
        #expect(left + incoming <= limit)
    }
}
