import AvatarCore

/// Dates in header fields. The input is the text of a date.
enum DateSubject {
    private static let now = Timestamp(milliseconds: 1_790_000_000_000)

    static func check(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        let time = HTTPDate.parse(text, now: now)
        if let exact = HTTPDate.parse(text, now: now, exactly: true) {
            require(exact == time, "the exact reading of a date is another one")
        }
        require(
            HTTPDate.parse(text.uppercased(), now: now) == time || !text.utf8.allSatisfy { $0 < 128 },
            "case counts"
        )
        guard let time else { return }
        let formatted = HTTPDate.format(time)
        require(formatted.utf8.count == 29, "a date of another form")
        require(HTTPDate.parse(formatted, now: now) == time, "a date that is not read as it was written")
        require(HTTPDate.parse(formatted.lowercased(), now: now) == time, "two readers of one form disagree")
    }
}
