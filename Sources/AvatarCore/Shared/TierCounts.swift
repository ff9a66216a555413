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
