import Observation

/// Waits until `condition` is true. It reads observable properties, and is evaluated after each change of one of them.
@MainActor func become(_ condition: () -> Bool) async {
    while !Task.isCancelled {
        let (change, continuation) = AsyncStream.makeStream(of: Void.self)
        if withObservationTracking(condition, onChange: { continuation.finish() }) { return }
        for await _ in change {}
    }
}
