import AvatarMaintenance
import AvatarStore
import Foundation
import ProgramRunning
import Testing
import Workload

@Suite(.serialized, .timeLimit(.minutes(5)))
struct RenditionKills {
    @Test("a process killed while making renditions leaves no wrong or orphaned rendition, and keeps the budget")
    func renditionKills() async throws {
        let directory = FileManager.default.temporaryDirectory.path + "/avatars-renditions-\(UUID().uuidString)"
        defer { removeFolder(directory) }
        var random = RandomOperations(seed: TestMode.seed)
        var (looks, made) = (0, 0)
        try await RenditionLoad(directory).store.close()
        let rounds = TestMode.isThorough ? 500 : 25
        for round in 0..<rounds {
            let point = Kill(&random)
            let killPoint: KillPoint? = if case .at(let point) = point { point } else { nil }
            let worker = try Worker(renditionsIn: directory, seed: TestMode.seed + UInt64(round), killPoint: killPoint)
            let delay = Duration.milliseconds(random.number(below: 150))
            // Some kills come while the worker opens the store. For the others its work counts, however busy the machine is.
            var end = ContinuousClock.now + (random.chance(20) ? delay : .seconds(20))
            while ContinuousClock.now < end, !worker.isSilent {
                for case .open in worker.lines(waiting: 1) { end = min(end, .now + delay) }
                guard let walk = FolderWalk(agreed: directory + "/caches") else { continue }
                looks += 1
                #expect(walk.bytes <= RenditionLoad.budget, "round \(round)")
            }
            worker.kill()
            try worker.waitForEnd()

            // Opening the store finishes the work of the killed process.
            let load = try await RenditionLoad(directory)
            made = max(made, try load.store.statistics().renditions)
            #expect(try await load.wrongRenditions() == [], "round \(round), killed \(point)")
            #expect(try load.store.statistics().pendingBytes == 0, "round \(round)")
            try await load.store.close()
            let report = try await AvatarStore.verify(AvatarStore.Configuration(directory: directory))
            #expect(report.faults.isEmpty, "round \(round), killed \(point): \(report.faults)")
            #expect(report.pending == 0)
        }
        #expect(made > 3 && looks > rounds)
        print("renditions: \(rounds) kills, \(looks) looks, at most \(made) renditions; seed \(TestMode.seed)")
    }
}
