public import Foundation

/// A point in time as the index keeps it: whole milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since the Unix epoch.
    public var milliseconds: Int64

    /// A point in time `milliseconds` after the Unix epoch.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The millisecond that holds `date`, clamped to what fits 64 bits.
    public init(_ date: Date) {
        let value = (date.timeIntervalSince1970 * 1000).rounded(.down)
        milliseconds = Int64(exactly: value) ?? (value < 0 ? .min : .max)
    }

    /// The same point in time for Foundation.
    public var date: Date {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    /// Earlier before later.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// `milliseconds` later; sums beyond 64 bits stay at the largest or smallest value.
    package func adding(milliseconds added: Int64) -> Timestamp {
        let (sum, overflow) = milliseconds.addingReportingOverflow(added)
        return Timestamp(milliseconds: overflow ? (added < 0 ? .min : .max) : sum)
    }

    /// `seconds` later, as `adding(milliseconds:)`.
    package func adding(seconds: Int64) -> Timestamp {
        let (product, tooLarge) = seconds.multipliedReportingOverflow(by: 1000)
        return tooLarge ? Timestamp(milliseconds: seconds < 0 ? .min : .max) : adding(milliseconds: product)
    }

    /// Whole seconds from `earlier` to this point, rounded towards zero; negative if `earlier` is later.
    package func seconds(since earlier: Timestamp) -> Int64 {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        return overflow ? (milliseconds < 0 ? .min : .max) : difference / 1000
    }
}

extension Timestamp {
    /// How far a clock may be put back, in seconds, before what it said is no longer believed.
    ///
    /// Small corrections are everyday business of a clock that is kept right.
    package static let clockTolerance: Int64 = 300

    /// Whether this was written by a clock that ran ahead, as it is later than `now`.
    ///
    /// Nothing can be said of how long ago that was. Without asking, an image that was stored on a day when the clock
    /// was years ahead would be fresh for all these years after the clock was put right.
    package func isAhead(of now: Timestamp) -> Bool {
        seconds(since: now) > Self.clockTolerance
    }
}
