import Foundation
import ProgramRunning
import Testing
import Workload

@Suite(.serialized, .timeLimit(.minutes(5)))
struct MirroringTests {
    @Test("a mirror of the changes that is killed at any moment ends up with the content of the store")
    func mirroring() async throws {
        let origin = try await VersionedOrigin.start()
        for number in 0..<(TestMode.isThorough ? 20 : 2) {
            let directory = FileManager.default.temporaryDirectory.path + "/avatars-mirror-\(UUID().uuidString)"
            defer { removeFolder(directory) }
            let seed = TestMode.seed + UInt64(number)
            let mirroring = Mirroring(directory, origin.url(""), seed: seed)
            let rounds = TestMode.isThorough ? 20 : 6
            try await mirroring.run(rounds: rounds)
            let kills = await mirroring.kills
            #expect(kills >= rounds, "seed \(seed)")
            print("mirroring: \(kills) kills; seed \(seed)")
        }
        try await origin.stop()
    }

    @Test("two processes in turns: links and change events agree with a model")
    func contactsInTurns() async throws {
        let origin = try await VersionedOrigin.start()
        for number in 0..<(TestMode.isThorough ? 10 : 1) {
            let directory = FileManager.default.temporaryDirectory.path + "/avatars-contacts-\(UUID().uuidString)"
            defer { removeFolder(directory) }
            let turns = ContactTurns(directory, origin.url(""), seed: TestMode.seed + UInt64(number))
            try await turns.run(operations: TestMode.isThorough ? 1000 : 150)
        }
        try await origin.stop()
    }
}
