import AvatarStoreTesting
import Observation

/// Lets others go on. Ends when the time of the test is over.
func turn() async throws {
    try Task.checkCancellation()
    await Task.yield()
}

extension StoreFixture {
    /// Waits until the origin was asked `count` times.
    func requestArrives(_ count: Int = 1) async throws {
        while origin.requestCount < count { try await turn() }
    }

    /// Waits until no connection to the origin is open.
    func connectionsClose() async throws {
        while origin.openConnections > 0 { try await turn() }
    }
}

/// Waits until `condition`, which looks at observable things, holds; it is called after each change of one of them.
@MainActor func become(_ condition: () -> Bool) async {
    while !Task.isCancelled {
        let (change, continuation) = AsyncStream.makeStream(of: Void.self)
        if withObservationTracking(condition, onChange: { continuation.finish() }) { return }
        for await _ in change {}
    }
}
