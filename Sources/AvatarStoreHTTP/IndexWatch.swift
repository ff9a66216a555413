import AvatarStore
import Synchronization

/// Notices that the index of a store was moved, replaced or upgraded under the server. Reads would go on from the old file
/// for ever, because it is open.
final class IndexWatch: Sendable {
    /// The time for which a check counts. A check costs about as much as a look-up.
    private static let lifetime = Duration.milliseconds(100)

    private let store: AvatarStore
    /// When the last check was made that found the index in its place.
    private let checked = Mutex<ContinuousClock.Instant?>(nil)

    init(_ store: AvatarStore) {
        self.store = store
    }

    /// Checks the index, unless that was done a moment ago.
    ///
    /// - Throws: `indexWasReplaced`, `indexWasUpgraded`; an error of the index.
    func requireCurrent() throws {
        let now = ContinuousClock.now
        if let last = checked.withLock({ $0 }), now - last < Self.lifetime { return }
        try store.requireCurrentIndex()
        checked.withLock { $0 = now }
    }
}
