import AvatarStore
import AvatarStoreTesting
import Synchronization
import Testing
import Workload

/// The synchronizations that a store makes, without a failure.
@Suite(.timeLimit(.minutes(5)))
struct SynchronizationTests {
    /// Random programs seldom meet this: the file is new, another image is to share it, and that image replaces a durable one.
    @Test(arguments: PowerLossModel.allCases)
    func aSharedFileIsDurableBeforeAnImageIsReplacedByIt(model: PowerLossModel) async throws {
        let (replaced, shared) = (ImageKey.remote(1), ImageKey.remote(2))
        let origin = ScriptedOrigin()
        for seed in UInt64(1)...8 {
            let disk = SimulatedDisk()
            origin.want([1: 1])
            let first = try await disk.openStore { $0.originClient = origin }
            _ = try await first.avatar(for: replaced.key(at: ScriptedOrigin.url))
            try await first.close()
            // Versions 5 and 20 are the same logo.
            origin.want([1: 20, 2: 5])
            let store = try await disk.openStore { $0.originClient = origin }
            let reload = FetchOptions(policy: .reload)
            for image in [shared, replaced] {
                _ = try await store.avatar(for: image.key(at: ScriptedOrigin.url), options: reload)
            }

            let reopened = try await disk.losePower(model, seed: seed).openStore()

            let image = try reopened.storedAvatar(for: replaced.key(at: ScriptedOrigin.url))
            #expect(image?.bytes == Image(of: replaced, version: 20).bytes, "seed \(seed)")
            try await reopened.close()
        }
    }

    @Test func aStoreThatClosesSynchronizesAFileSystemOnce() async throws {
        let origin = ScriptedOrigin()
        origin.want([1: 1])
        let disk = SimulatedDisk()
        let store = try await disk.openStore { $0.originClient = origin }
        _ = try await store.avatar(for: ImageKey.remote(1).key(at: ScriptedOrigin.url))
        let calls = Atomic(0)
        disk.fail { call in
            if call.name == "syncfs" { calls.add(1, ordering: .relaxed) }
            return nil
        }

        try await store.close()

        #expect(calls.load(ordering: .relaxed) == 1)
    }
}
