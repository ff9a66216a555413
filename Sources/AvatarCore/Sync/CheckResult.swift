/// What is kept of a check, and what follows from it. The bytes that are stored are changed by an image only.
package struct CheckResult: Hashable, Sendable {
    /// What the index keeps with the entry from now on; `nil`: what it kept before, or nothing.
    package var record: ValidationRecord?
    /// Whose fault a failure is; `nobody` where there is none.
    package var blame = FailureKind.Blame.nobody
    /// No request goes to the host before this time: it said so.
    package var hostBlockedUntil: Timestamp?
    /// The origin has said "gone" as often as the store wants to hear it: the file may go.
    package var isRemovalConfirmed = false
    /// Whether the rest of a sync would fare no better.
    package var endsSync = false

    /// Nothing changed.
    package init() {}
}
