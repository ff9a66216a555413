internal import AvatarCore

/// The ASCII characters that contact lists are made of, by name.
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

    /// Whether the byte is white space between JSON tokens (RFC 8259 section 2): space, line feed, carriage return or tab.
    var isBlank: Bool {
        self == .space || self == .lineFeed || self == .carriageReturn || self == .tab
    }

    /// The byte in upper case if it is an ASCII letter; otherwise the byte itself.
    var uppercased: UInt8 {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) ? self - 0x20 : self
    }

    /// The value of the byte as a hexadecimal digit, 0 to 15; `nil` if it is not one.
    var hexadecimalValue: UInt8? { Hexadecimal.value(of: self) }

    /// Whether the byte is an ASCII control character other than the tab. None belongs in a line of text.
    var isControl: Bool {
        (self < 0x20 && self != .tab) || self == 0x7F
    }

    /// The byte as messages quote it: `` `{` `` if it is visible ASCII, otherwise its value as in `byte 0x1B`.
    var spelling: String {
        (0x21..<0x7F).contains(self)
            ? "`\(Character(Unicode.Scalar(self)))`" : "byte 0x\(Hexadecimal.text([self]).uppercased())"
    }
}

extension Collection<UInt8> {
    /// Whether the bytes equal `word`, ignoring the case of ASCII letters.
    ///
    /// - Parameter word: The word in upper case.
    func spells(_ word: StaticString) -> Bool {
        word.withUTF8Buffer { word in
            count == word.count && zip(self, word).allSatisfy { $0.uppercased == $1 }
        }
    }
}

extension BidirectionalCollection<UInt8> {
    /// The bytes without white space (`isBlank`) at either end.
    var trimmed: SubSequence {
        guard let last = lastIndex(where: { !$0.isBlank }) else { return self[endIndex..<endIndex] }
        return self[...last].drop(while: \.isBlank)
    }
}
