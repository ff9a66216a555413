/// When an image that could not be had is asked for again.
///
/// Each kind of failure has its own first wait; each further failure in a row doubles it, up to the longest wait. A
/// random part spreads entries that failed together.
package struct RetryPolicy: Sendable {
    /// No image waits for longer between two attempts, in seconds: a week.
    package static let longestWait: Int64 = 7 * 86_400

    package init() {}

    /// How long to wait after the failure number `count` in a row, in seconds.
    ///
    /// - Parameter jitter: 0 to 1; the wait is between half and the whole of what the doubling gives.
    package func wait(after kind: FailureKind, count: Int, jitter: Double) -> Int64 {
        let doublings = min(max(count, 1) - 1, 20)
        let (first, longest) = bounds(of: kind)
        let full = min(first << Int64(doublings), longest)
        return full / 2 + Int64(Double(full / 2) * min(max(jitter, 0), 1))
    }

    /// How many failures in a row this one makes.
    ///
    /// One that comes before its time, as somebody insisted, is the same failure once more and lengthens no wait.
    /// "Gone" is counted for itself, and only when it is seen again after half a day: the origin's own word, again and
    /// again, may remove an image, an afternoon of mistakes may not.
    package static func count(of kind: FailureKind, at checked: Timestamp, after past: PastFailure?) -> Int {
        guard let past, (past.kind == .gone) == (kind == .gone) else { return 1 }
        let isRepeated =
            if kind == .gone {
                // Being read again and again puts off no count: it comes with the check that was planned.
                checked.seconds(since: past.checked) < goneGraceSeconds && (past.nextCheck.map { checked < $0 } ?? true)
            } else {
                past.nextCheck.map { checked < $0 && !past.checked.isAhead(of: checked) } ?? false
            }
        return isRepeated || past.count == .max ? past.count : past.count + 1
    }

    private static let goneGraceSeconds: Int64 = 43_200

    /// Whether a failure says something of the URL, and is kept with the entry. Being offline or out of disk does not.
    package static func isKept(_ kind: FailureKind) -> Bool {
        kind.blame != .nobody
    }

    /// The first wait and the longest one, in seconds.
    private func bounds(of kind: FailureKind) -> (first: Int64, longest: Int64) {
        switch kind {
        case .gone, .refused, .tooLarge, .tooManyPixels, .forbiddenAddress, .unsupportedURL:
            // A person has to change something at the origin.
            (86_400, Self.longestWait)
        case .notImage, .unexpectedStatus, .tooManyRedirects:
            // Likely the same, but a captive portal looks so too, for all hosts at once, and is soon over.
            (3_600, Self.longestWait)
        case .rateLimited, .serverError:
            // How the host fares is not the image's fault: when it is back, its images are not days behind.
            (600, 86_400)
        case .timeout, .unreachable:
            (120, 86_400)
        default:
            (120, Self.longestWait)
        }
    }
}
