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

extension FetchOptions {
    /// Options of a caller that waits only a moment, by default a second, for another process.
    static func impatient(_ policy: Policy = .cacheFirst, after timeout: Duration = .seconds(1)) -> FetchOptions {
        var options = FetchOptions(policy: policy)
        options.timeout = timeout
        return options
    }
}
