/// Takes a list that must be UTF-8, and proves it before anyone sees the text.
struct UTF8Intake: ListIntake {
    private var hasBegun = false
    /// The beginning of a character that the end of a chunk cut in two.
    private var cutCharacter: [UInt8] = []

    var holdsPartOfCharacter: Bool { !cutCharacter.isEmpty }

    mutating func text(of bytes: ArraySlice<UInt8>) throws(ListIntakeFault) -> [UInt8] {
        var text = cutCharacter + bytes
        if !hasBegun { try passEncodingMark(of: &text) }
        hasBegun = true
        let whole = text.count - UTF8Check.cutCharacterCount(atEndOf: text)
        cutCharacter = Array(text[whole...])
        text.removeSubrange(whole...)
        if let lineFeeds = UTF8Check.lineFeedsBeforeFault(in: text) {
            throw ListIntakeFault(
                problem: "there are bytes that are not UTF-8; UTF-8 text was expected",
                lineFeedsBefore: lineFeeds
            )
        }
        return text
    }

    /// Drops the mark of UTF-8, and refuses what begins as UTF-16 or UTF-32 does.
    private func passEncodingMark(of text: inout [UInt8]) throws(ListIntakeFault) {
        let isWide = text.starts(with: [0xFF, 0xFE]) || text.starts(with: [0xFE, 0xFF]) || text.prefix(2).contains(0)
        guard !isWide else {
            throw ListIntakeFault(problem: "the list is UTF-16 or UTF-32, or no text at all; UTF-8 was expected")
        }
        if text.starts(with: UTF8Check.mark) { text.removeFirst(UTF8Check.mark.count) }
    }
}
