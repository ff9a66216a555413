/// The number of cells that text takes on a terminal: two for wide characters such as `漢` and emoji.
///
/// `wcwidth` depends on the locale, which may be `C`.
enum TerminalWidth {
    /// The cells of `text`, which has no control characters.
    static func of(_ text: String) -> Int {
        text.reduce(0) { $0 + of($1) }
    }

    /// The first characters of `text` that take at most `limit` cells.
    static func prefix(of text: some Collection<Character>, fitting limit: Int) -> [Character] {
        var rest = limit
        return Array(
            text.prefix { character in
                rest -= of(character)
                return rest >= 0
            }
        )
    }

    private static func of(_ character: Character) -> Int {
        if character.isASCII { return 1 }
        let scalars = character.unicodeScalars
        // A variation selector turns a sign such as `❤` into an emoji.
        if scalars.contains(where: { $0.value == 0xFE0F || $0.properties.isEmojiPresentation }) { return 2 }
        return scalars.map(of).max() ?? 0
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: 0
        default: wide.contains { $0.contains(scalar.value) } ? 2 : 1
        }
    }

    /// The blocks of wide characters (East Asian Width `W` and `F`, Unicode Standard Annex 11).
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0xA4CF,
        0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60,
        0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD,
    ]
}
