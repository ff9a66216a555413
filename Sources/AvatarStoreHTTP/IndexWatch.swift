import AvatarFoundation
import AvatarStore

/// Notices that the index of a store was moved, replaced or upgraded under the server. Reads would go on from the old file
/// for ever, because it is open. With each check it reads the setting that lets metadata out.
final class IndexWatch: Sendable {
    /// The time for which a check counts. A check costs about as much as a look-up.
    private static let lifetime = Duration.milliseconds(100)

    private let store: AvatarStore
    /// When the last check was made that found the index in its place, and the setting at that time.
    private let checked = Locked<(time: ContinuousClock.Instant, servesMetadata: Bool)?>(nil)

    init(_ store: AvatarStore) {
        self.store = store
    }

    /// Checks the index, unless that was done a moment ago.
    ///
    /// - Throws: `indexWasReplaced`, `indexWasUpgraded`; an error of the index.
    func requireCurrent() throws {
        let now = ContinuousClock.now
        if let last = checked.withLock({ $0?.time }), now - last < Self.lifetime { return }
        try store.requireCurrentIndex()
        let servesMetadata = try store.value(of: .servesMetadata) == 1
        checked.withLock { $0 = (now, servesMetadata) }
    }

    /// Whether `Setting.servesMetadata` was 1 at the last check.
    var servesMetadata: Bool { checked.withLock { $0?.servesMetadata ?? false } }
}
