import AvatarFoundation
import Testing

/// The timer that work and tasks share.
@Suite(.timeLimit(.minutes(5)))
struct DeadlinesTests {
    /// The alarm of the first is replaced by that of an earlier one, and set again for the later ones.
    @Test func allSleepersWake_andNoneBeforeItsTime() async throws {
        let begin = ContinuousClock.now
        try await withThrowingTaskGroup { group in
            for tenths in [2, 1, 3] {
                group.addTask {
                    let time = begin + .milliseconds(100 * tenths)
                    try await Deadlines.shared.sleep(until: time)
                    #expect(ContinuousClock.now >= time)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func aCancelledTaskWakesAtOnce() async throws {
        let (asleep, falling) = AsyncStream.makeStream(of: Void.self)
        let sleeper = Task {
            falling.yield()
            try await Deadlines.shared.sleep(for: .seconds(3600))
        }
        for await _ in asleep.prefix(1) {}
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
    }

    @Test func aCancelledTaskDoesNotFallAsleep() async throws {
        let sleeper = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await Deadlines.shared.sleep(for: .seconds(3600))
        }
        await #expect(throws: CancellationError.self) { try await sleeper.value }
    }
}
