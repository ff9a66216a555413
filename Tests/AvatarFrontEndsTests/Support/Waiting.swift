import AvatarStoreTesting
import Observation

extension StoreFixture {
    /// Waits until the origin was asked `count` times.
    func requestArrives(_ count: Int = 1) async throws {
        while origin.requestCount < count {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Waits until no connection to the origin is open.
    func connectionsClose() async throws {
        while origin.openConnections > 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}

/// Waits until `condition`, which looks at observable things, holds; it is called after each change of one of them.
@MainActor func become(_ condition: () -> Bool) async {
    while true {
        let (change, continuation) = AsyncStream.makeStream(of: Void.self)
        if withObservationTracking(condition, onChange: { continuation.finish() }) { return }
        for await _ in change {}
    }
}
