import Foundation
import ProgramRunning
import Testing
import Workload

@Suite(.serialized)
struct MirroringTests {
    @Test("whoever reads the changes, and is killed at any moment, knows in the end what the store holds")
    func mirroring() async throws {
        let origin = try await VersionedOrigin.start()
        for number in 0..<(TestMode.isThorough ? 20 : 2) {
            let directory = FileManager.default.temporaryDirectory.path + "/avatars-mirror-\(UUID().uuidString)"
            defer { removeFolder(directory) }
            let seed = TestMode.seed + UInt64(number)
            let mirroring = Mirroring(directory, origin.url(""), seed: seed)
            try await mirroring.run(rounds: TestMode.isThorough ? 20 : 6)
            print("mirroring: \(await mirroring.kills) kills; seed \(seed)")
        }
        try await origin.stop()
    }
}
