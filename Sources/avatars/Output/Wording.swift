import AvatarStore
import Foundation

/// How sizes and times are written for people.
enum Wording {
    /// `822 B`, `12.4 MB`: decimal units, as disks and networks are sold.
    static func size(_ bytes: Int) -> String { ByteSize.text(bytes) }

    /// `3 min ago`, `in 5 h`.
    static func age(of date: Date, now: Date = Date()) -> String {
        let seconds = Int(now.timeIntervalSince(date).rounded())
        guard abs(seconds) >= 1 else { return "just now" }
        let span = span(seconds: abs(seconds))
        return seconds > 0 ? "\(span) ago" : "in \(span)"
    }

    /// The local time of day, `21:03`; with its date, `2026-11-24 21:03`, unless that is today's.
    static func clock(_ date: Date, now: Date = Date(), in calendar: Calendar = .current) -> String {
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute], from: date)
        let time = String(format: "%02d:%02d", parts.hour ?? 0, parts.minute ?? 0)
        if calendar.isDate(date, inSameDayAs: now) { return time }
        return String(format: "%04d-%02d-%02d ", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0) + time
    }

    /// `45 s`, `3 min`, `5 h`, `12 days`.
    static func span(seconds: Int) -> String {
        switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3600: "\(seconds / 60) min"
        case ..<86_400: "\(seconds / 3600) h"
        case ..<172_800: "1 day"
        default: "\(seconds / 86_400) days"
        }
    }

    /// The age of a time in the spelling of the index; the text itself if it is none.
    static func age(ofISO8601 text: String?, now: Date = Date()) -> String {
        guard let text else { return "–" }
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        // Only an index that was changed by hand holds another spelling, which is then shown as it is.
        guard let date = try? style.parse(text) else { return text }
        return age(of: date, now: now)
    }

    /// `1 file`, `2 files`.
    static func count(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }

    /// `text` in lines of at most `columns` characters, broken between words.
    static func wrapped(_ text: String, columns: Int) -> String {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let line = lines.last, line.count + 1 + word.count <= columns {
                lines[lines.count - 1] += " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines.joined(separator: "\n")
    }

    /// `text` without characters that would leave its line, change its direction or command a terminal; names may hold
    /// anything.
    static func oneLine(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
                    case _ where scalar.properties.isBidiControl: "\u{FFFD}"
                    default: scalar
                    }
                }
            )
        )
    }
}
