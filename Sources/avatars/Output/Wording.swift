import AvatarStore
import AvatarFoundation

/// Sizes, times, counts and names as the program prints them for people.
enum Wording {
    /// A number of bytes in decimal units, as in `822 B` or `12.4 MB`.
    static func size(_ bytes: Int) -> String { ByteSize.text(bytes) }

    /// A limit in the units in which it was set, as in `64 MiB` or `50 MB`.
    static func limit(_ bytes: Int) -> String { ByteSize.limit(bytes) }

    /// A number of bytes in the units of `limit(_:)`, for a line with both.
    static func size(_ bytes: Int, of limit: Int) -> String { ByteSize.text(bytes, of: limit) }

    /// The time from `now` to `date`, as in `3 min ago` or `in 5 h`.
    static func age(of date: Date, now: Date = Date()) -> String {
        let seconds = Int(now.timeIntervalSince(date).rounded())
        guard abs(seconds) >= 1 else { return "just now" }
        let span = span(seconds: abs(seconds))
        return seconds > 0 ? "\(span) ago" : "in \(span)"
    }

    /// A duration in its largest whole unit, as in `45 s`, `3 min`, `5 h` or `12 days`.
    static func span(seconds: Int) -> String {
        switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3600: "\(seconds / 60) min"
        case ..<86_400: "\(seconds / 3600) h"
        case ..<172_800: "1 day"
        default: "\(seconds / 86_400) days"
        }
    }

    /// A number with as many digits after the point, as in `3.4`.
    static func number(_ value: Double, digits: Int32) -> String {
        // The longest number has 309 digits before the point.
        var text = [CChar](repeating: 0, count: 350 + Int(digits))
        let count = withVaList([digits, value]) { vsnprintf(&text, text.count, "%.*f", $0) }
        return String(decoding: text.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// A number with its noun, whose plural ends in "s", as in `1 file` or `2 files`.
    static func count(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }

    /// `text` in lines of at most `columns` characters, broken between words. A longer word has a line of its own.
    static func wrapped(_ text: String, columns: Int) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let line = lines.last, line.count + 1 + word.count <= columns {
                lines[lines.count - 1] += " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }

    /// A name or id without user info, query and fragment if it is a URL. Lists may have URLs in places of names and ids.
    static func redacted(_ name: String) -> String {
        name.contains("://") ? AvatarKey.redact(name) : name
    }
}
