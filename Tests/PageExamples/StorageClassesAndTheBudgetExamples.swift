import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StorageClassesAndTheBudgetExamples {
    @Test func classesAndBudget() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let ada = fixture.serve(SampleImage.png(seed: 1, byteCount: 4_000), at: "/ada.png")
            let silhouette = SampleImage.png(seed: 2, byteCount: 3_000)
            _ = try await store.avatar(for: ada)

            let kept = FetchOptions(storage: .documents)
            let image = try await store.avatar(for: ada, options: kept)
            print(image.storageClass == .documents)

            #expect(image.storageClass == .documents)

            let fallback = try await store.save(silhouette, named: "fallback")
            let wasMoved = try await store.move(fallback, to: .caches)

            #expect(wasMoved)
            #expect(Array(fixture.files(in: .documents).values) == [4_000])
            #expect(Array(fixture.files(in: .caches).values) == [3_000])

            try await store.set(.budget, to: 64 << 20)

            #expect(try store.statistics().budgetBytes == 64 << 20)
            #expect(try store.statistics().lowWatermarkBytes == (64 << 20) * 9 / 10)

            let eviction = try await store.trim(to: 32 << 20, dryRun: true)
            print("\(eviction.files) files with \(eviction.bytes) bytes would be evicted")

            #expect(eviction.files == 0 && eviction.bytes == 0)
            #expect(try await store.trim(to: 2_999, dryRun: true).files == 1)
        }
    }
}
