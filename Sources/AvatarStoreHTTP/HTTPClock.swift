import AvatarCore
import AvatarFoundation

/// The value of the Date field (RFC 9110 section 6.6.1), made once per second.
enum HTTPClock {
    private struct Made {
        var second: Int64 = -1
        var text = ""
    }

    private static let made = Locked(Made())

    /// The present time.
    static var date: String {
        let second = Int64(Date().timeIntervalSince1970)
        return made.withLock { made in
            if made.second != second {
                made = Made(second: second, text: HTTPDate.format(Timestamp(milliseconds: second * 1000)))
            }
            return made.text
        }
    }
}
