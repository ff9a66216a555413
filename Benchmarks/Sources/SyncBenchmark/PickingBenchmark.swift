import AvatarProviders
import AvatarStore
import Foundation

/// Picking the first 256 due entries of a million, and of ten thousand.
///
/// Measured through the public API: from the call of `sync` until its first progress, which comes when the first page of
/// entries was read, classified and queued. No request is sent: the client waits until it is cancelled.
struct PickingBenchmark {
    let bench: Workbench

    func run(rounds: Int) async throws -> [Figure] {
        [
            try await figure("1000 hosts", rounds, isMostlyBlocked: false),
            try await figure("9 of 10 on a blocked host", rounds, isMostlyBlocked: true),
        ]
    }

    private func figure(_ name: String, _ rounds: Int, isMostlyBlocked: Bool) async throws -> Figure {
        let small = try await store(10_000, isMostlyBlocked)
        let large = try await store(1_000_000, isMostlyBlocked)
        // Not counted: the first rounds, which read from disk.
        for _ in 0..<3 {
            _ = try await milliseconds(small)
            _ = try await milliseconds(large)
        }
        var (few, many): ([Double], [Double]) = ([], [])
        for _ in 0..<rounds {
            few.append(try await milliseconds(small))
            many.append(try await milliseconds(large))
        }
        try await small.close()
        try await large.close()
        return Figure(
            name: "picking 256 of 1,000,000 due, \(name)",
            against: "the same of 10,000",
            ratio: median(many) / median(few),
            limit: .atMost(1.3),
            medians: ["ms": median(many), "ms of 10,000": median(few)]
        )
    }

    private func store(_ count: Int, _ isMostlyBlocked: Bool) async throws -> AvatarStore {
        let directory = "\(bench.directory)/picking-\(count)-\(isMostlyBlocked)"
        try await LargeIndex.make(LargeIndex.Shape(count: count, isMostlyBlocked: isMostlyBlocked), at: directory)
        var configuration = AvatarStore.Configuration(directory: directory)
        configuration.originClient = SilentClient()
        return try await AvatarStore.open(configuration)
    }

    private func milliseconds(_ store: AvatarStore) async throws -> Double {
        let (reports, continuation) = AsyncStream<ContinuousClock.Instant>.makeStream()
        let begun = ContinuousClock.now
        let sync = Task {
            defer { continuation.finish() }
            return try await store.sync { _ in continuation.yield(.now) }
        }
        var ended: ContinuousClock.Instant?
        for await time in reports where ended == nil {
            ended = time
            sync.cancel()
        }
        let report = try await sync.value
        guard let ended, report.failed == 0, report.skipped >= 256 else {
            throw BenchmarkError("The sync picked nothing: \(report)")
        }
        return (ended - begun) / .milliseconds(1)
    }
}

/// A client that never responds and ends a request when it is cancelled.
private struct SilentClient: OriginClient {
    func begin(
        _ request: OriginRequest,
        arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
    ) -> any BegunRequest {
        OriginTask(arrival) {
            try await Task.sleep(for: .seconds(3600))
            throw CancellationError()
        }
    }
}
