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
}
