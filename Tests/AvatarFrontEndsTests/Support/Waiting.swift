import AvatarStoreTesting
import Observation

/// Lets other tasks run. Throws when the time limit of the test is exceeded.
func turn() async throws {
    try Task.checkCancellation()
    await Task.yield()
}

extension StoreFixture {
    /// Waits until the origin has received `count` requests.
    func requestArrives(_ count: Int = 1) async throws {
        while origin.requestCount < count { try await turn() }
    }

    /// Waits until no connection to the origin is open.
    func connectionsClose() async throws {
        while origin.openConnections > 0 { try await turn() }
    }
}

/// Waits until `condition` is true. It reads observable properties, and is evaluated after each change of one of them.
@MainActor func become(_ condition: () -> Bool) async {
    while !Task.isCancelled {
        let (change, continuation) = AsyncStream.makeStream(of: Void.self)
        if withObservationTracking(condition, onChange: { continuation.finish() }) { return }
        for await _ in change {}
    }
}
