public import AvatarCore

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What time it is: the seam at which tests move time by hand.
public protocol WallClock: Sendable {
    /// The current time.
    func now() -> Timestamp
}

/// The clock of the operating system.
public struct SystemClock: WallClock {
    /// The clock.
    public init() {}

    /// The operating system's time.
    public func now() -> Timestamp {
        var time = timespec()
        // Every system has this clock.
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
