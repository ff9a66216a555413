import AvatarStore
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing
import Workload

/// Long random sequences of all operations, against a model that knows the files after each.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ModelTests {
    private static let operationCount = TestMode.isThorough ? 6000 : 400

    @Test("one process: after each operation the files agree with the model")
    func oneProcess() async throws {
        let seed = TestMode.seed
        try await withDirectory { directory, origin in
            var performer = try await Performer(directory: directory, origin: origin)
            var random = RandomOperations(seed: seed)
            var comparison = Comparison(directory)
            for number in 1...Self.operationCount {
                let operation = number == 1 ? .setBudget(random.budget()) : random.next()
                let command = Command(number: number, tick: number, operation)
                let outcome = try await performer.perform(command)
                try require(try comparison.check(command, by: 0, came: outcome), seed)
                if number % 200 == 0 {
                    try await performer.store.close()
                    try require(try comparison.checkClosed(by: 0), seed)
                    performer = try await Performer(directory: directory, origin: origin)
                }
            }
            try await performer.store.close()
        }
    }

    @Test("two processes in turns: each sees the changes and uses of the other")
    func twoProcessesInTurns() async throws {
        let seed = TestMode.seed
        try await withDirectory { directory, origin in
            try await TurnTaking(directory, origin, seed: seed).run(operations: Self.operationCount)
        }
    }

    @Test("two processes at once: their results fit some order of the operations, and the budget holds")
    func twoProcessesAtOnce() async throws {
        let seed = TestMode.seed
        for number in 0..<(TestMode.isThorough ? 20 : 2) {
            try await withDirectory { directory, origin in
                let seed = seed + UInt64(number)
                try await Rivalry(directory, origin, seed: seed).run(operations: 150, kills: number % 2 == 1)
            }
        }
    }

    private func withDirectory(_ body: (_ directory: String, _ origin: String) async throws -> Void) async throws {
        let directory = NSTemporaryDirectory() + "avatar-model-" + UUID().uuidString
        defer { removeFolder(directory) }
        let origin = try await VersionedOrigin.start()
        try await body(directory, origin.url(""))
        try await origin.stop()
    }
}

/// Ends a test with a finding, because later steps would only repeat it.
func require(_ findings: [Finding], _ seed: UInt64, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let text = findings.map(\.description).joined(separator: "\n  ")
    try #require(findings.isEmpty, "AVATARS_SEED=\(seed):\n  \(text)", sourceLocation: sourceLocation)
}
