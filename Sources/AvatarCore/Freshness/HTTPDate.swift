/// Dates in header fields (RFC 9110 section 5.6.7), read and written without Foundation formatters or locales.
package enum HTTPDate {
    /// Reads a date in any of the three forms:
    /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
    ///
    /// Case does not matter. A zone other than GMT makes the date invalid (RFC 9111 section 4.2). The day of the week
    /// must be a valid name, but is not compared with the date.
    ///
    /// - Parameters:
    ///   - text: the value of the field.
    ///   - now: the current time, which decides the century of a year with two digits: a date more than 50 years ahead
    ///     becomes the most recent year in the past with the same last digits.
    ///   - exactly: whether to reject near misses, such as a day with one digit, extra spaces, or a full year in the
    ///     second form. Default: `false`.
    /// - Returns: the time; `nil` if `text` is not a date.
    package static func parse(_ text: String, now: Timestamp, exactly: Bool = false) -> Timestamp? {
        if let time = preferredForm(text) { return time }
        guard !exactly || hasExactForm(text) else { return nil }
        let words = text.lowercased().split(whereSeparator: { $0 == " " || $0 == "\t" })
        switch words.count {
        case 6: return fixdate(words)
        case 4: return obsoleteDate(words, now: now)
        case 5: return asctimeDate(words)
        default: return nil
        }
    }

    /// Writes `time` in the preferred form, `Sun, 06 Nov 1994 08:49:37 GMT`, rounded down to the second.
    ///
    /// The form has four digits for the year. A time before the year 0 or after 9999 becomes the nearest one in range.
    package static func format(_ time: Timestamp) -> String {
        let seconds = min(max(time, earliest), latest).milliseconds.dividedRoundingDown(by: 1000)
        let days = seconds.dividedRoundingDown(by: 86_400)
        let date = CivilDate(daysSinceEpoch: days)
        let second = seconds - days * 86_400
        // 1970-01-01 was a Thursday.
        let weekday = Int((days + 4) - (days + 4).dividedRoundingDown(by: 7) * 7)
        return String(unsafeUninitializedCapacity: "Sun, 06 Nov 1994 08:49:37 GMT".utf8.count) { text in
            var place = 0
            func add(_ bytes: some Sequence<UInt8>) {
                for byte in bytes {
                    text.initializeElement(at: place, to: byte)
                    place += 1
                }
            }
            func add(_ number: Int64, _ separator: StaticString) {
                add([UInt8(number / 10 % 10), UInt8(number % 10)].lazy.map { UInt8(ascii: "0") + $0 })
                add(separator.utf8Bytes)
            }
            add(weekdayNames[weekday].utf8Bytes)
            add(date.day, " ")
            add(monthNames[Int(date.month) - 1].utf8Bytes)
            add(date.year / 100, "")
            add(date.year % 100, " ")
            add(second / 3600, ":")
            add(second / 60 % 60, ":")
            add(second % 60, " GMT")
            return place
        }
    }

    // MARK: The three forms

    /// Reads the exact preferred form, which nearly all origins send, without allocating; `nil` for any other text.
    private static func preferredForm(_ text: String) -> Timestamp? {
        var text = text
        return text.withUTF8 { bytes in
            guard bytes.count == 29 else { return nil }
            func says(_ word: StaticString, at place: Int) -> Bool {
                bytes[place..<place + word.utf8CodeUnitCount].elementsEqual(
                    UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
                )
            }
            func number(at place: Int, digits: Int) -> Int64? {
                var value: Int64 = 0
                for byte in bytes[place..<place + digits] {
                    guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                    value = value * 10 + Int64(byte - UInt8(ascii: "0"))
                }
                return value
            }
            guard shortWeekdays.contains(where: { says($0, at: 0) }), says(", ", at: 3), says(" ", at: 7),
                let month = shortMonths.firstIndex(where: { says($0, at: 8) }), says(" ", at: 11), says(" ", at: 16),
                says(":", at: 19), says(":", at: 22), says(" GMT", at: 25), let day = number(at: 5, digits: 2),
                let year = number(at: 12, digits: 4), let hour = number(at: 17, digits: 2), hour < 24,
                let minute = number(at: 20, digits: 2), minute < 60, let second = number(at: 23, digits: 2),
                second <= 60, let date = CivilDate(year: year, month: Int64(month) + 1, day: day)
            else { return nil }
            // A clock without leap seconds reads one as the first second of the next minute.
            let seconds = date.daysSinceEpoch * 86_400 + hour * 3600 + minute * 60 + second
            return Timestamp(milliseconds: seconds * 1000)
        }
    }

    private static let shortWeekdays: [StaticString] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let shortMonths: [StaticString] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func fixdate(_ words: [Substring]) -> Timestamp? {
        guard words[0].last == ",", isWeekday(words[0].dropLast()), words[5] == "gmt",
            let year = number(words[3], digits: 4...4)
        else { return nil }
        return time(year: year, month: words[2], day: words[1], clock: words[4])
    }

    /// Reads the form of RFC 850. Some origins write all four digits of the year.
    private static func obsoleteDate(_ words: [Substring], now: Timestamp) -> Timestamp? {
        let parts = words[1].split(separator: "-", omittingEmptySubsequences: false)
        guard words[0].last == ",", isWeekday(words[0].dropLast()), words[3] == "gmt", parts.count == 3 else {
            return nil
        }
        if let year = number(parts[2], digits: 4...4) {
            return time(year: year, month: parts[1], day: parts[0], clock: words[2])
        }
        guard let shortYear = number(parts[2], digits: 2...2) else { return nil }
        // A clock outside the years 0 to 9999 cannot decide the century.
        let now = min(max(now, earliest), latest)
        let century = CivilDate(daysSinceEpoch: now.milliseconds.dividedRoundingDown(by: 86_400_000)).year / 100 * 100
        let candidates = [century + 100, century, century - 100].compactMap {
            time(year: $0 + shortYear, month: parts[1], day: parts[0], clock: words[2])
        }
        return candidates.first { $0 <= fiftyYears(after: now) }
    }

    private static func asctimeDate(_ words: [Substring]) -> Timestamp? {
        guard isWeekday(words[0]), let year = number(words[4], digits: 4...4) else { return nil }
        return time(year: year, month: words[1], day: words[2], clock: words[3])
    }

    // MARK: Parts

    /// 0000-01-01T00:00:00Z and 9999-12-31T23:59:59Z.
    private static let earliest = Timestamp(milliseconds: -62_167_219_200_000)
    private static let latest = Timestamp(milliseconds: 253_402_300_799_000)

    private static let weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    /// Whether letters, digits and separators stand where the grammar requires them.
    private static func hasExactForm(_ text: String) -> Bool {
        let shape = text.lowercased().utf8.map { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt8(ascii: "a")
            default: byte
            }
        }
        let weekday = shape.prefix { $0 == UInt8(ascii: "a") }.count
        return switch String(decoding: shape.dropFirst(weekday), as: UTF8.self) {
        case ", 00 aaa 0000 00:00:00 aaa", " aaa 00 00:00:00 0000", " aaa  0 00:00:00 0000": weekday == 3
        case ", 00-aaa-00 00:00:00 aaa": weekday > 3
        default: false
        }
    }

    private static func isWeekday(_ word: Substring) -> Bool {
        weekdays.contains { $0 == word || $0.prefix(3) == word }
    }

    private static func time(year: Int64, month: Substring, day: Substring, clock: Substring) -> Timestamp? {
        guard let month = months.firstIndex(of: String(month)), let day = number(day, digits: 1...2),
            let date = CivilDate(year: year, month: Int64(month) + 1, day: day), let second = secondOfDay(clock)
        else { return nil }
        return Timestamp(milliseconds: (date.daysSinceEpoch * 86_400 + second) * 1000)
    }

    private static func secondOfDay(_ clock: Substring) -> Int64? {
        let parts = clock.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let hour = number(parts[0], digits: 2...2),
            let minute = number(parts[1], digits: 2...2),
            let second = number(parts[2], digits: 2...2), hour < 24, minute < 60, second <= 60
        else { return nil }
        // A clock without leap seconds reads one as the first second of the next minute.
        return hour * 3600 + minute * 60 + second
    }

    private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int64? {
        digits.contains(text.utf8.count) ? DeltaSeconds.parse(text) : nil
    }

    private static func fiftyYears(after now: Timestamp) -> Timestamp {
        now.adding(seconds: 50 * 31_556_952)
    }

    /// The names as `format(_:)` writes them, with what stands before and behind.
    private static let weekdayNames: [StaticString] = ["Sun, ", "Mon, ", "Tue, ", "Wed, ", "Thu, ", "Fri, ", "Sat, "]
    private static let monthNames: [StaticString] = [
        "Jan ", "Feb ", "Mar ", "Apr ", "May ", "Jun ", "Jul ", "Aug ", "Sep ", "Oct ", "Nov ", "Dec ",
    ]
}

extension StaticString {
    /// The bytes of its text.
    fileprivate var utf8Bytes: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
    }
}
