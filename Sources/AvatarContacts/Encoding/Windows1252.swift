/// The charset of Windows in western Europe, as the WHATWG encoding standard has it: every byte is a character.
enum Windows1252 {
    /// The character that `byte` stands for.
    static func scalar(_ byte: UInt8) -> Unicode.Scalar {
        guard (0x80..<0xA0).contains(byte) else { return Unicode.Scalar(byte) }
        return special[Int(byte) - 0x80]
    }

    /// What the bytes from 0x80 to 0x9F stand for; five of them are control characters.
    private static let special = Array(
        "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8D}Ž\u{8F}\u{90}‘’“”•–—˜™š›œ\u{9D}žŸ".unicodeScalars
    )
}
