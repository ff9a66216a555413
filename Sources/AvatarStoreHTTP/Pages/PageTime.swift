import AvatarCore

/// Times as the pages show them.
struct PageTime {
    /// The time at which the page is made.
    let now: Timestamp
    /// Whether times near `now` are shown as a span, which holds only while the page is new.
    let isRelative: Bool

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    /// Times further away than these seconds are shown with their date.
    private static let longestSpan: Int64 = 30 * 86_400

    /// `time` as an element that states it for programs too.
    func html(_ time: Timestamp) -> String {
        let date = Self.date(time)
        let span = isRelative ? span(to: time) : nil
        let title = span == nil ? "" : " title=\"\(date)\""
        return "<time datetime=\"\(time.iso8601)\"\(title)>\(span ?? date)</time>"
    }

    /// `time` in UTC, such as `24 Nov 2026, 07:39 UTC`.
    static func date(_ time: Timestamp) -> String {
        let text = time.iso8601
        let parts = text.split(separator: "T")
        let day = parts[0].split(separator: "-")
        guard day.count == 3, let month = Int(day[1]), months.indices.contains(month - 1), let number = Int(day[2])
        else {
            // A year before 0 has another form.
            return text
        }
        return "\(number) \(months[month - 1]) \(day[0]), \(parts[1].prefix(5)) UTC"
    }

    /// The time from now to `time`, such as `3 min ago` or `in 5 h`; `nil` if it is long.
    private func span(to time: Timestamp) -> String? {
        let seconds = now.seconds(since: time)
        guard seconds > -Self.longestSpan, seconds < Self.longestSpan else { return nil }
        let amount = seconds.magnitude
        let text: String
        switch amount {
        case ..<1: return "just now"
        case ..<120: text = "\(amount) s"
        case ..<7200: text = "\(amount / 60) min"
        case ..<172_800: text = "\(amount / 3600) h"
        default: text = "\(amount / 86_400) days"
        }
        return seconds > 0 ? "\(text) ago" : "in \(text)"
    }
}
