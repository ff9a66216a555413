import AvatarFoundation
import AvatarStore
import AvatarStoreTesting
import Testing
import Workload

/// A synchronization of the file systems fails. The system then takes for written what it could not write, and the next one succeeds.
@Suite(.timeLimit(.minutes(5)))
struct FailedSynchronizationTests {
    @Test(arguments: PowerLossModel.allCases)
    func filesAreWrittenAgainBeforeTheyCountAsDurable(model: PowerLossModel) async throws {
        let slots = 1...8
        let origin = ScriptedOrigin()
        origin.want(Dictionary(uniqueKeysWithValues: slots.map { ($0, 1) }))
        for seed in UInt64(1)...8 {
            let disk = SimulatedDisk()
            let store = try await disk.openStore { $0.originClient = origin }
            for slot in slots {
                _ = try await store.avatar(for: ImageKey.remote(slot).key(at: ScriptedOrigin.url))
            }
            disk.fail { $0.name == "syncfs" ? .fails(EIO) : nil }
            await #expect(throws: AvatarStoreError.self) { try await store.close() }
            disk.fail(nil)

            // Another process of this boot closes the store, as far as it can see with all files durable.
            try await disk.openStore().close()

            let after = disk.losePower(model, seed: seed)
            let reopened = try await after.openStore()
            for slot in slots {
                let image = try reopened.storedAvatar(for: ImageKey.remote(slot).key(at: ScriptedOrigin.url))
                #expect(image?.bytes == Picture(of: .remote(slot), version: 1).bytes, "seed \(seed)")
            }
            try await reopened.close()
        }
    }
}
