import AvatarStore
import AvatarStoreTesting
import Testing

/// Runs `body` with a store that is opened twice. A lease belongs to an opening, so the two behave like two processes.
func withTwoStores(
    _ configure: (inout AvatarStore.Configuration) -> Void = { _ in },
    _ body: (StoreFixture, AvatarStore) async throws -> Void
) async throws {
    try await StoreFixture.withStore(configure) { fixture in
        let other = try await fixture.openAgain(configure)
        try await body(fixture, other)
        try await other.close()
        try fixture.expectConsistent()
    }
}

extension StoreFixture {
    /// Waits until the origin has received `count` requests.
    func requestArrives(_ count: Int = 1) async throws {
        while origin.requestCount < count {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}

extension FetchOptions {
    /// Options of a caller that waits only a moment for another process.
    static func impatient(_ policy: Policy = .cacheFirst) -> FetchOptions {
        var options = FetchOptions(policy: policy)
        options.timeout = .seconds(1)
        return options
    }
}
