package import AvatarCore

/// Counts of the use of a shared tier.
package struct TierCounts: Hashable, Sendable {
    /// Images whose bytes came from the tier.
    package var taken = 0
    /// Stored images that a newer record of the tier confirmed.
    package var confirmed = 0
    /// Answers of origins that were put into the tier.
    package var put = 0

    /// Counts of nothing.
    package init() {}
}

/// How a store used its shared tier.
package struct TierUse: Sendable {
    /// The counts since the first use.
    package var counts: TierCounts
    /// Answers dropped because too many waited.
    package var dropped: Int
    /// Answers that wait.
    package var waiting: Int
    /// Erasures that wait.
    package var erasures: Int
    /// The last failure and its time; `nil` after a success.
    package var failure: (message: String, time: Timestamp)?
}
