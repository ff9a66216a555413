/// The letters that stand for a person without a picture.
public struct Initials: Hashable, Sendable {
    /// One or two characters as people see them; empty if the name has no letter and no digit.
    public let text: String
    /// Whether they are written from right to left.
    public let isRightToLeft: Bool

    /// The initials of `name`: the first character of the first word and that of the last one, in upper case where the
    /// script has cases.
    ///
    /// A character is a grapheme cluster: marks and joined letters stay with what they belong to. Names in Chinese,
    /// Japanese and Korean are written without a space or with the family name in front, and stand for themselves by their
    /// first character.
    public init(of name: String) {
        let firsts = name.split(whereSeparator: \.isWhitespace).compactMap { word in
            word.first { $0.isLetter || $0.isNumber }
        }
        guard let first = firsts.first else {
            text = ""
            isRightToLeft = false
            return
        }
        isRightToLeft = first.isRightToLeft
        let last = firsts.count > 1 && !first.isIdeographic ? firsts.last : nil
        let letters = [first, last].compactMap { $0?.asInitial }
        // Letters that join their neighbours would become one word.
        text = letters.joined(separator: isRightToLeft ? Self.nonJoiner : "")
    }

    private static let nonJoiner = "\u{200C}"
}

extension Character {
    /// In upper case, if that is one character: "ß" would become two.
    fileprivate var asInitial: String {
        let upper = uppercased()
        return upper.count == 1 ? upper : String(self)
    }

    /// Whether the character is of a script that is written from right to left: the blocks of Hebrew, Arabic, Syriac,
    /// Thaana, N'Ko and their neighbours, and those in the supplementary planes (Unicode Standard Annex #9, table 4).
    fileprivate var isRightToLeft: Bool {
        guard let value = unicodeScalars.first?.value else { return false }
        return (0x0590...0x08FF).contains(value) || (0xFB1D...0xFDFF).contains(value)
            || (0xFE70...0xFEFF).contains(value) || (0x10800...0x10FFF).contains(value)
            || (0x1E800...0x1EFFF).contains(value)
    }

    /// Whether the character is one of Chinese, Japanese or Korean writing.
    fileprivate var isIdeographic: Bool {
        guard let scalar = unicodeScalars.first else { return false }
        return scalar.properties.isIdeographic || (0x3040...0x30FF).contains(scalar.value)
            || (0xAC00...0xD7A3).contains(scalar.value) || (0x1100...0x11FF).contains(scalar.value)
    }
}
