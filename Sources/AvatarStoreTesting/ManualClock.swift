import AvatarFoundation
public import AvatarStore

/// A clock that stands still until a test moves it.
public final class ManualClock: WallClock {
    private let time: Locked<Timestamp>

    /// Makes a clock that shows `time`. Default: 2026-01-01T00:00:00Z.
    public init(_ time: Timestamp = Timestamp(milliseconds: 1_767_225_600_000)) {
        self.time = Locked(time)
    }

    /// The current time of the clock.
    public func now() -> Timestamp {
        time.withLock { $0 }
    }

    /// Moves the clock by `duration`, in whole milliseconds; a negative duration moves it backwards.
    public func advance(by duration: Duration) {
        let milliseconds = duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
        time.withLock { $0.milliseconds += milliseconds }
    }
}
