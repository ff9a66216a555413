extension Timestamp {
    /// The time that `text` states in the form `2025-03-09T14:05:07.250Z`; `nil` for any other form.
    ///
    /// This is the form in which the view `avatar_overview` has its times.
    package init?(iso8601 text: String) {
        let milliseconds = text.utf8.withContiguousStorageIfAvailable(Self.milliseconds)
        guard let milliseconds = milliseconds ?? Self.milliseconds(Array(text.utf8)) else { return nil }
        self.init(milliseconds: milliseconds)
    }

    /// The time in UTC with milliseconds, as in `2025-03-09T14:05:07.250Z`.
    package var iso8601: String {
        let day = milliseconds.dividedRoundingDown(by: 86_400_000)
        let date = CivilDate(daysSinceEpoch: day)
        let rest = milliseconds - day * 86_400_000
        var text = ""
        text.reserveCapacity(24)
        func add(_ number: Int64, digits: Int, end: Unicode.Scalar) {
            let word = String(number)
            for _ in 0..<max(0, digits - word.utf8.count) { text.unicodeScalars.append("0") }
            text += word
            text.unicodeScalars.append(end)
        }
        add(date.year, digits: 4, end: "-")
        add(date.month, digits: 2, end: "-")
        add(date.day, digits: 2, end: "T")
        add(rest / 3_600_000, digits: 2, end: ":")
        add(rest / 60_000 % 60, digits: 2, end: ":")
        add(rest / 1000 % 60, digits: 2, end: ".")
        add(rest % 1000, digits: 3, end: "Z")
        return text
    }

    /// Milliseconds since the Unix epoch; `nil` for another form.
    private static func milliseconds(_ text: some RandomAccessCollection<UInt8>) -> Int64? {
        guard text.count == 24 else { return nil }
        func byte(_ place: Int) -> UInt8 { text[text.index(text.startIndex, offsetBy: place)] }
        func number(_ places: Range<Int>) -> Int64? {
            var value: Int64 = 0
            for place in places {
                let digit = byte(place)
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
                value = value * 10 + Int64(digit - UInt8(ascii: "0"))
            }
            return value
        }
        for (place, mark) in marks where byte(place) != mark { return nil }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
            let millisecond = number(20..<23), hour < 24, minute < 60, second < 60,
            let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        let seconds = date.daysSinceEpoch * 86_400 + hour * 3600 + minute * 60 + second
        return seconds * 1000 + millisecond
    }

    /// The bytes between the numbers, with their places.
    private static let marks: [(Int, UInt8)] = [
        (4, UInt8(ascii: "-")), (7, UInt8(ascii: "-")), (10, UInt8(ascii: "T")), (13, UInt8(ascii: ":")),
        (16, UInt8(ascii: ":")), (19, UInt8(ascii: ".")), (23, UInt8(ascii: "Z")),
    ]
}
