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
