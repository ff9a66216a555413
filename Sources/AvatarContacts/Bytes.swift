extension UInt8 {
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let quote = UInt8(ascii: "\"")
    static let backslash = UInt8(ascii: "\\")
    static let comma = UInt8(ascii: ",")
    static let colon = UInt8(ascii: ":")
    static let openingBracket = UInt8(ascii: "[")
    static let closingBracket = UInt8(ascii: "]")
    static let openingBrace = UInt8(ascii: "{")
    static let closingBrace = UInt8(ascii: "}")

    /// What JSON allows between its tokens (RFC 8259 section 2).
    var isBlank: Bool {
        self == UInt8(ascii: " ") || self == .lineFeed || self == .carriageReturn || self == UInt8(ascii: "\t")
    }

    /// A control character that no line of text holds: all of them but the tab.
    var isControl: Bool {
        (self < 0x20 && self != UInt8(ascii: "\t")) || self == 0x7F
    }

    /// How a message names the byte.
    var spelling: String {
        (0x21..<0x7F).contains(self) ? "`\(Character(Unicode.Scalar(self)))`" : "something else"
    }
}
