/// The failure that is kept with an entry.
package struct PastFailure: Sendable {
    let kind: FailureKind
    let count: Int
    let checked: Timestamp
    let nextCheck: Timestamp?

    /// - Parameter nextCheck: when the entry was to be asked for again, if that is known.
    package init(kind: FailureKind, count: Int, checked: Timestamp, nextCheck: Timestamp? = nil) {
        self.kind = kind
        self.count = count
        self.checked = checked
        self.nextCheck = nextCheck
    }

    /// The failure that `record` tells of; `nil` after a success.
    package init?(_ record: ValidationRecord) {
        guard let kind = record.failure, let checked = record.checked else { return nil }
        self.init(kind: kind, count: record.failureCount, checked: checked, nextCheck: record.nextCheck)
    }
}
