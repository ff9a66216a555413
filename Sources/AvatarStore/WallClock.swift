public import AvatarCore
import Foundation

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
        Timestamp(Date())
    }
}
