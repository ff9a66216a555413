import AvatarStore
import AvatarStoreTesting
import Metrics
import MetricsTestKit
import Testing

/// The metrics that a backend receives. A process has one installed backend for all tests, so its counts are checked as minimums.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct MetricsTests {
    private static let backend: TestMetrics = {
        let backend = TestMetrics()
        MetricsSystem.bootstrap(backend)
        return backend
    }()

    private func total(_ label: String, _ dimensions: [(String, String)] = []) throws -> Int64 {
        try Self.backend.expectCounter("avatar_store_" + label, dimensions).values.reduce(0, +)
    }

    @Test func storesHaveBackendsOfTheirOwn() async throws {
        let (first, second) = (TestMetrics(), TestMetrics())
        for (backend, count) in [(first, 1), (second, 3)] {
            try await StoreFixture.withStore({ $0.metrics = backend }) { fixture in
                let url = fixture.serve(SampleImage.png(seed: 1, byteCount: 900), at: "/a.png")
                for _ in 0..<count { _ = try await fixture.store.avatar(for: url) }
                fixture.origin.setResponse(.status(404), for: "/a.png")
                _ = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))
            }
        }

        for (backend, hits) in [(first, 0), (second, 2)] {
            let reads = try backend.expectCounter("avatar_store_reads_total", [("source", "store")]).values
            #expect(reads.filter { $0 > 0 }.count >= hits)
            let gone = try backend.expectCounter("avatar_store_fetches_total", [("outcome", "gone")]).values
            #expect(gone == [1])
            #expect(try backend.expectCounter("avatar_store_fetches_total", [("outcome", "image")]).values == [1])
        }
    }

    @Test func readsFetchesAndBytesAreCounted() async throws {
        _ = Self.backend
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(SampleImage.png(seed: 1, byteCount: 900), at: "/a.png", etag: "\"1\"")
            _ = try await fixture.store.avatar(for: url)
            _ = try await fixture.store.avatar(for: url)
            fixture.clock.advance(by: .seconds(90_000))
            _ = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .revalidate))
            fixture.origin.setResponse(.status(404), for: "/a.png")
            _ = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))
            _ = try await fixture.store.trim(to: 0)

            #expect(try total("reads_total", [("source", "origin")]) >= 1)
            #expect(try total("reads_total", [("source", "store")]) >= 1)
            #expect(try total("reads_total", [("source", "revalidated")]) >= 1)
            #expect(try total("misses_total") >= 1)
            #expect(try total("fetches_total", [("outcome", "image")]) >= 1)
            #expect(try total("fetches_total", [("outcome", "notModified")]) >= 1)
            #expect(try total("fetches_total", [("outcome", "gone")]) >= 1)
            #expect(try total("requests_total") >= 3)
            #expect(try total("received_bytes_total") >= 900)
            #expect(try total("evictions_total") >= 1)
            #expect(try total("evicted_bytes_total") >= 900)
            #expect(try Self.backend.expectTimer("avatar_store_fetch_seconds").values.count >= 3)
            #expect(try Self.backend.expectTimer("avatar_store_commit_seconds").values.count >= 2)
        }
    }
}
