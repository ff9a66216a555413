#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A point in time as the index stores it: whole milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since the Unix epoch, negative before it.
    public var milliseconds: Int64

    /// A point in time `milliseconds` after the Unix epoch.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// `date` rounded down to a millisecond, and clamped to the range of 64 bits.
    public init(_ date: Date) {
        let value = (date.timeIntervalSince1970 * 1000).rounded(.down)
        milliseconds = Int64(exactly: value) ?? (value < 0 ? .min : .max)
    }

    /// The same point in time as a Foundation date.
    public var date: Date {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    /// Whether `left` is earlier than `right`.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// This time plus `milliseconds`. A sum beyond 64 bits becomes the largest or smallest value.
    package func adding(milliseconds added: Int64) -> Timestamp {
        let (sum, overflow) = milliseconds.addingReportingOverflow(added)
        return Timestamp(milliseconds: overflow ? (added < 0 ? .min : .max) : sum)
    }

    /// This time plus `seconds`, clamped as in `adding(milliseconds:)`.
    package func adding(seconds: Int64) -> Timestamp {
        let (product, tooLarge) = seconds.multipliedReportingOverflow(by: 1000)
        return tooLarge ? Timestamp(milliseconds: seconds < 0 ? .min : .max) : adding(milliseconds: product)
    }

    /// The time from `earlier` to this time, negative if `earlier` is the later one, clamped to the range of 64 bits in
    /// milliseconds.
    package func duration(since earlier: Timestamp) -> Duration {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        return .milliseconds(overflow ? (milliseconds < 0 ? .min : .max) : difference)
    }

    /// Whole seconds from `earlier` to this time, rounded towards zero; negative if `earlier` is the later one.
    package func seconds(since earlier: Timestamp) -> Int64 {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        return overflow ? (milliseconds < 0 ? .min : .max) : difference / 1000
    }
}

extension Timestamp {
    /// The most seconds that a stored time may be in the future before the store distrusts it: 300.
    ///
    /// Small corrections of the clock are normal on a machine that synchronises its time.
    package static let clockTolerance: Int64 = 300

    /// Whether a clock that ran ahead wrote this time: it is later than `now` by more than `clockTolerance`.
    ///
    /// The age of such a time is unknown. Without this check, an image stored while the clock was years ahead would
    /// stay fresh for years after the clock was corrected.
    package func isAhead(of now: Timestamp) -> Bool {
        seconds(since: now) > Self.clockTolerance
    }
}
