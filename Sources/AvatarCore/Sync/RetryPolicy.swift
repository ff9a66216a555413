/// When an image that could not be had is asked for again.
///
/// Each kind of failure has its own first wait; each further failure in a row doubles it, up to the longest wait. A
/// random part spreads entries that failed together.
package struct RetryPolicy: Sendable {
    /// The longest wait between two attempts, in seconds.
    package var longestWait: Int64 = 7 * 86_400

    package init() {}

    /// How long to wait after the failure number `count` in a row, in seconds.
    ///
    /// - Parameter jitter: 0 to 1; the wait is between half and the whole of what the doubling gives.
    package func wait(after kind: FailureKind, count: Int, jitter: Double) -> Int64 {
        let doublings = min(max(count, 1) - 1, 20)
        let full = min(firstWait(after: kind) << Int64(doublings), longestWait)
        return full / 2 + Int64(Double(full / 2) * min(max(jitter, 0), 1))
    }

    /// How many failures in a row this one makes.
    ///
    /// "Gone" is counted for itself, and only when it is seen again after half a day: the origin's own word, again and
    /// again, may remove an image, an afternoon of mistakes may not.
    package static func count(of kind: FailureKind, at checked: Timestamp, after past: PastFailure?) -> Int {
        guard let past, (past.kind == .gone) == (kind == .gone) else { return 1 }
        if kind == .gone && checked.seconds(since: past.checked) < goneGraceSeconds { return past.count }
        return past.count + 1
    }

    private static let goneGraceSeconds: Int64 = 43_200

    /// Whether a failure says something of the URL, and is kept with the entry. Being offline or out of disk does not.
    package static func isKept(_ kind: FailureKind) -> Bool {
        kind != .offline && kind != .storage
    }

    private func firstWait(after kind: FailureKind) -> Int64 {
        switch kind {
        case .gone, .refused, .notImage, .tooLarge, .tooManyPixels, .forbiddenAddress, .unsupportedURL:
            // A person has to change something at the origin.
            86_400
        case .rateLimited, .serverError:
            600
        default:
            120
        }
    }
}

/// The failure that is kept with an entry.
package struct PastFailure: Sendable {
    let kind: FailureKind
    let count: Int
    let checked: Timestamp

    package init(kind: FailureKind, count: Int, checked: Timestamp) {
        self.kind = kind
        self.count = count
        self.checked = checked
    }
}
