import AvatarCore
import AvatarFiles

/// The task of one image.
extension SyncRun {
    /// Asks the origin for `target`, unless another process does so: that one is waited for, and nobody else by that.
    static func fetch(
        _ target: FetchTarget,
        _ flight: Int,
        _ store: AvatarStore,
        _ fetcher: Fetcher,
        isConstrained: Bool
    ) async -> Event {
        do {
            let lease = try await store.lease(of: target.key, within: fetcher.timeout)
            var target = target
            if let outcome = try store.catchUp(&target) { return .caughtUp(target, flight: flight, outcome) }
            try target.consider(lowDataURL: target.lowDataURL, isConstrained: isConstrained)
            let result = try await store.slots.withSlot(target.host, for: target.key, .background) {
                try await fetcher.fetch(target)
            }
            return .fetched(target, flight: flight, lease, result)
        } catch {
            return .gaveUp(target, flight: flight, error)
        }
    }
}
