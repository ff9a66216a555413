#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// A source of the current time. Tests pass one that they move by hand.
public protocol WallClock: Sendable {
    /// The current time, in milliseconds since 1970.
    func now() -> Timestamp
}

/// The clock of the operating system.
package struct SystemClock: WallClock {
    /// Creates the clock.
    package init() {}

    /// The operating system's time. It may be set back.
    package func now() -> Timestamp {
        var time = timespec()
        // The result is not checked: every system has this clock.
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
