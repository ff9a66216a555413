internal import AvatarCore

extension UInt8 {
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let quote = UInt8(ascii: "\"")
    static let backslash = UInt8(ascii: "\\")
    static let comma = UInt8(ascii: ",")
    static let colon = UInt8(ascii: ":")
    static let semicolon = UInt8(ascii: ";")
    static let equals = UInt8(ascii: "=")
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")
    static let openingBracket = UInt8(ascii: "[")
    static let closingBracket = UInt8(ascii: "]")
    static let openingBrace = UInt8(ascii: "{")
    static let closingBrace = UInt8(ascii: "}")

    /// What JSON allows between its tokens (RFC 8259 section 2).
    var isBlank: Bool {
        self == .space || self == .lineFeed || self == .carriageReturn || self == .tab
    }

    /// A letter of ASCII in upper case; any other byte as it is.
    var uppercased: UInt8 {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) ? self - 0x20 : self
    }

    /// What the byte is worth as a hexadecimal digit; `nil` if it is none.
    var hexadecimalValue: UInt8? { Hexadecimal.value(of: self) }

    /// A control character that no line of text holds: all of them but the tab.
    var isControl: Bool {
        (self < 0x20 && self != .tab) || self == 0x7F
    }

    /// How a message names the byte.
    var spelling: String {
        (0x21..<0x7F).contains(self) ? "`\(Character(Unicode.Scalar(self)))`" : "something else"
    }
}

extension Collection<UInt8> {
    /// Whether the bytes are `word`, which is in upper case, in letters of any case.
    func spells(_ word: StaticString) -> Bool {
        word.withUTF8Buffer { word in
            count == word.count && zip(self, word).allSatisfy { $0.uppercased == $1 }
        }
    }
}

extension BidirectionalCollection<UInt8> {
    /// What is left without the blanks at both ends.
    var trimmed: SubSequence {
        guard let last = lastIndex(where: { !$0.isBlank }) else { return self[endIndex..<endIndex] }
        return self[...last].drop(while: \.isBlank)
    }
}
