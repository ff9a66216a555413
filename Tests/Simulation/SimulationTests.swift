import AvatarFoundation
import AvatarStoreTesting
import ProgramRunning
import Testing

/// The store on a disk that loses power at any call: 2,000 states, with `scripts/test --thorough` a million.
@Suite(.timeLimit(.minutes(120)))
struct SimulationTests {
    @Test("each state that a loss of power may leave keeps all promises")
    func simulation() async throws {
        let tally = Tally(from: TestMode.seed, wanted: TestMode.states)
        try await withThrowingTaskGroup { group in
            for lane in 1...4 {
                group.addTask(executorPreference: ThreadExecutor("simulation \(lane)")) {
                    while let seed = tally.next() {
                        do {
                            tally.add(try await Simulation(seed: seed).run())
                        } catch {
                            tally.stop()
                            print("simulation: seed \(seed) failed after \(tally.description): \(error)")
                            throw error
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        print("simulation: \(tally.description)")
        #expect(tally.next() == nil, "there are states left")
    }
}

/// Hands out seeds until enough states were checked.
private final class Tally: Sendable {
    private let first: UInt64
    private let wanted: Int
    private let counts = Locked((seeds: UInt64(0), states: 0, isStopped: false))

    init(from first: UInt64, wanted: Int) {
        (self.first, self.wanted) = (first, wanted)
    }

    /// The next seed; `nil` once there are enough states.
    func next() -> UInt64? {
        counts.withLock { counts in
            guard counts.states < wanted, !counts.isStopped else { return nil }
            counts.seeds += 1
            return first + counts.seeds - 1
        }
    }

    /// Hands out no seed any more.
    func stop() { counts.withLock { $0.isStopped = true } }

    func add(_ states: Int) { counts.withLock { $0.states += states } }

    var description: String { counts.withLock { "\($0.states) states of \($0.seeds) seeds from \(first)" } }
}
