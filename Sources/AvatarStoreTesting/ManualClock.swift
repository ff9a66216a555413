public import AvatarStore
import Synchronization

/// A clock that stands still until it is told to move.
public final class ManualClock: WallClock {
    private let time: Mutex<Timestamp>

    /// A clock that shows `time`; default: 2026-01-01T00:00:00Z.
    public init(_ time: Timestamp = Timestamp(milliseconds: 1_767_225_600_000)) {
        self.time = Mutex(time)
    }

    /// The time it was moved to.
    public func now() -> Timestamp {
        time.withLock { $0 }
    }

    /// Moves the clock by `duration`, forwards or backwards.
    public func advance(by duration: Duration) {
        let milliseconds = duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
        time.withLock { $0.milliseconds += milliseconds }
    }
}
