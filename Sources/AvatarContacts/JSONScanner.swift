internal import AvatarCore

/// Finds the end of a JSON value by its brackets and strings alone.
struct JSONScanner {
    /// How deep a record may nest, its own braces counted: as deep as Foundation reads.
    static let maximumNesting = 512

    /// The brackets that would close those open now, up to the limit; deeper ones are counted, not told apart.
    private var expected: [UInt8] = []
    private var depth = 0
    /// The deepest nesting that was met.
    private(set) var deepest = 0
    private var isInString = false
    private var isEscaped = false
    /// The line in which the latest string began.
    private var stringLine = 0

    /// Moves `cursor` past a value, to the comma or bracket behind it, and keeps up to `limit` bytes of it.
    ///
    /// - Throws: If a bracket does not fit the one it closes, or the list ends within the value.
    mutating func passValue(
        cursor: inout ListCursor,
        keeping limit: Int
    ) throws(AvatarStoreError) -> HeldBytes {
        var held = HeldBytes(limit: limit)
        let isWhole = try cursor.pass(keeping: &held) { byte, line in ends(before: byte, line: line) }
        guard isWhole else {
            throw isInString ? cursor.cutShort(inStringOf: stringLine) : cursor.cutShort(before: missing ?? "`]`")
        }
        if let missing, let found = try cursor.peek() {
            throw cursor.unexpected(found, insteadOf: missing)
        }
        return held
    }

    /// Whether `json` nests deeper than a record may.
    static func nestsTooDeep(_ json: ArraySlice<UInt8>) -> Bool {
        var scanner = JSONScanner()
        for byte in json where scanner.ends(before: byte, line: 0) { break }
        return scanner.deepest > maximumNesting
    }

    /// The bracket that must come first, as messages spell it; `nil` where the value is whole.
    private var missing: String? {
        depth == 0 ? nil : expected.last?.spelling
    }

    /// Takes the next byte of the value; true if the value ends before it, or cannot go on with it.
    private mutating func ends(before byte: UInt8, line: Int) -> Bool {
        if isInString {
            let closes = byte == .quote && !isEscaped
            isEscaped = byte == .backslash && !isEscaped
            isInString = !closes
            return false
        }
        switch byte {
        case .quote:
            isInString = true
            stringLine = line
        case .openingBracket: opens(.closingBracket)
        case .openingBrace: opens(.closingBrace)
        case .closingBracket, .closingBrace: return !closes(byte)
        case .comma: return depth == 0
        default: break
        }
        return false
    }

    private mutating func opens(_ closing: UInt8) {
        depth += 1
        deepest = max(deepest, depth)
        if depth <= Self.maximumNesting { expected.append(closing) }
    }

    /// Whether `byte` closes the innermost open bracket.
    private mutating func closes(_ byte: UInt8) -> Bool {
        guard depth > 0 else { return false }
        if depth <= Self.maximumNesting {
            guard expected.last == byte else { return false }
            expected.removeLast()
        }
        depth -= 1
        return true
    }
}
