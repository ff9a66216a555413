/// One line of a list of vCards as it stands there, without its end.
struct CardLine {
    /// Counted from 1.
    let number: Int
    /// The line's bytes, or the first of them if the line is too long.
    let bytes: [UInt8]
    /// Whether the line is longer than what is kept of a line.
    let isTooLong: Bool
    /// Whether a line end ends the line, and not the end of the list.
    let isEnded: Bool

    /// The beginning or the end of a card.
    enum Boundary {
        case begin, end
    }

    /// Which end of a card the line is; `nil` for any other line.
    var boundary: Boundary? {
        // Most lines are told apart by their first byte.
        switch bytes.first?.uppercased {
        case UInt8(ascii: "B") where isBoundary("BEGIN") || isCutBeginning: .begin
        case UInt8(ascii: "E") where isBoundary("END"): .end
        default: nil
        }
    }

    /// Whether the line goes on with the one before it, by the rule of all versions: it begins with a blank.
    var isFolded: Bool {
        bytes.first == .space || bytes.first == .tab
    }

    /// Whether the line is base64 and nothing else, as no property is: a property has a colon.
    var isBase64: Bool {
        !bytes.isEmpty && bytes.allSatisfy { Base64.uses($0) || $0.isBlank }
    }

    /// Whether nothing is in the line that anybody could miss. Programs of old end a file with control-Z.
    var isBlank: Bool {
        bytes.allSatisfy { $0.isBlank || $0 == 0x1A || $0 == 0 }
    }

    /// Whether the line is `word:VCARD`, in letters of any case and with blanks behind each word.
    private func isBoundary(_ word: StaticString) -> Bool {
        guard bytes.count < 64, let colon = bytes.firstIndex(of: .colon) else { return false }
        return bytes[..<colon].trimmed.spells(word) && bytes[(colon + 1)...].trimmed.spells("VCARD")
    }

    /// Whether the list ends within the first line of a card.
    private var isCutBeginning: Bool {
        !isEnded && bytes.count < 11 && "BEGIN:VCARD".utf8.starts(with: bytes.map(\.uppercased))
    }
}
