/// What is shown of an entry, as in the column `state` of `avatar_overview`.
package enum OverviewState: String, Hashable, Sendable, CaseIterable {
    /// It need not be checked.
    case fresh
    /// It is to be checked, or has no file yet.
    case stale
    /// The last check failed.
    case failing
    /// The origin said, at the last check, that there is no such image.
    case gone
    /// Its file made room for others.
    case evicted
    /// Its file was not where it belongs.
    case missing
    /// It has no origin.
    case own

    /// The state at `now` of an entry that has an origin.
    package init(_ record: ValidationRecord, absence: Absence?, at now: Timestamp) {
        switch (record.failure, absence) {
        case (.gone, _): self = .gone
        case (_, .evicted): self = .evicted
        case (_, .missing): self = .missing
        case (.some, nil): self = .failing
        case (nil, nil): self = record.isFresh(at: now) ? .fresh : .stale
        }
    }
}
