import AvatarStoreTesting
import ProgramRunning
import Testing

/// The proof of the simulation: each synchronization of the store that is left out breaks a promise, and is found.
///
/// `scripts/mutations` does the same with steps of the writer in another order.
@Suite(.timeLimit(.minutes(10)))
struct MutationTests {
    /// The synchronizations of one kind, which the disk reports done and does not do.
    struct Omission: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let isLeftOut: @Sendable (SimulatedDisk.Call) -> Bool

        init(_ description: String, _ isLeftOut: @escaping @Sendable (SimulatedDisk.Call) -> Bool) {
            (testDescription, self.isLeftOut) = (description, isLeftOut)
        }

        static let all = [
            Omission("of a document's bytes") { $0.path.hasPrefix("documents-") },
            Omission("of a document's folder") { $0.path.count == 2 },
            Omission("of the root of the documents") { $0.path == "/store/documents" },
            Omission("of the file systems (syncfs)") { $0.name == "syncfs" },
            Omission("of the index's log") { $0.path.hasSuffix("index.sqlite-wal") },
            Omission("of the index") { $0.path.hasSuffix("index.sqlite") },
            Omission("of the index's folder") { $0.path == "/store" },
            Omission("of the folders above the roots") { $0.path.hasSuffix("/..") },
        ]
    }

    @Test("a synchronization that is left out is found", arguments: Omission.all)
    func omissionIsFound(omission: Omission) async throws {
        let most = TestMode.isThorough ? 20_000 : 1500
        try await withTaskExecutorPreference(ThreadExecutor("mutation")) { try await find(omission, within: most) }
    }

    private func find(_ omission: Omission, within most: Int) async throws {
        var states = 0
        var seed: UInt64 = 1
        while states < most {
            var simulation = Simulation(seed: seed)
            simulation.mutation = { call in
                ["fsync", "syncfs"].contains(call.name) && omission.isLeftOut(call) ? .lies : nil
            }
            do {
                states += try await simulation.run()
            } catch let broken as BrokenPromise {
                let found = "found by state \(states + broken.soundStates + 1), seed \(seed)"
                print(
                    "left out: synchronization \(omission.testDescription): \(found): \(broken.violations.first ?? "")"
                )
                #expect(!broken.violations.isEmpty)
                return
            }
            seed += 1
        }
        Issue.record(
            "the synchronization \(omission.testDescription) was left out, and \(states) states kept all promises"
        )
    }
}
