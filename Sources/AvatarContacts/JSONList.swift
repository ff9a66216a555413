internal import AvatarCore

/// Cuts a JSON list into the elements of its array: the top-level one, or the one under `contacts` in an object.
///
/// Elements are passed over, not parsed: one that is no JSON is a record that cannot be read, and as long as its
/// brackets and strings balance, the next one is found.
struct JSONSplitter: RecordSplitter {
    private var cursor: ListCursor
    private var scanner = JSONScanner()
    private var place = Place.beforeList
    /// Whether the array stands under `contacts` in an object.
    private var isInObject = false

    private enum Place {
        case beforeList, afterOpeningBracket, afterComma, afterArray, afterList
    }

    /// Cuts what lies behind `cursor`.
    init(cursor: ListCursor) {
        self.cursor = cursor
    }

    mutating func next() throws(AvatarStoreError) -> RawRecord? {
        if place == .beforeList { try enterList() }
        if place == .afterOpeningBracket, try cursor.visible(or: "`]`") == .closingBracket {
            cursor.advance()
            place = .afterArray
        }
        if place == .afterArray { try leaveList() }
        return place == .afterList ? nil : try element()
    }

    // MARK: The array

    private mutating func enterList() throws(AvatarStoreError) {
        switch try cursor.visible() {
        case .openingBracket?:
            cursor.advance()
        case .openingBrace?:
            cursor.advance()
            isInObject = true
            try enterContacts()
        case let other?:
            throw cursor.unexpected(other, insteadOf: "a JSON array or object")
        case nil:
            throw cursor.fault("the list is empty; a JSON array or object was expected")
        }
        place = .afterOpeningBracket
    }

    /// Reads an element and the comma or bracket behind it.
    private mutating func element() throws(AvatarStoreError) -> RawRecord {
        let first = try cursor.visible(or: "a record")
        let line = cursor.line
        let held = try scanner.passValue(cursor: &cursor, keeping: RawRecord.maximumBytes)
        let delimiter = try cursor.visible(or: "`]`")
        guard delimiter != .closingBrace else {
            throw cursor.unexpected(delimiter, insteadOf: "`,` or `]`")
        }
        cursor.advance()
        place = delimiter == .comma ? .afterComma : .afterArray
        guard !held.bytes.isEmpty else {
            return .unreadable(line: line, reason: "a record was expected, found \(first.spelling)")
        }
        return held.isTooLong ? .tooLarge(line: line) : .json(held.bytes[...], line: line)
    }

    /// Reads what follows the array, up to the end of the list.
    private mutating func leaveList() throws(AvatarStoreError) {
        if isInObject { try leaveObject() }
        if let byte = try cursor.visible() {
            throw cursor.unexpected(byte, insteadOf: "the end of the list")
        }
        place = .afterList
    }

    // MARK: The object around the array

    /// Skips members up to `contacts`, and enters its array.
    private mutating func enterContacts() throws(AvatarStoreError) {
        var isFirst = true
        while try cursor.visible(or: "`}`") != .closingBrace {
            if !isFirst { try cursor.expect(.comma) }
            isFirst = false
            if try memberIsContacts() {
                guard try cursor.visible(or: "`[`") == .openingBracket else {
                    throw cursor.fault("`contacts` is not an array")
                }
                return cursor.advance()
            }
            try skipValue()
        }
        throw cursor.fault("the object has no `contacts` (one object a line is the format ndjson)")
    }

    /// Skips the members behind `contacts`.
    private mutating func leaveObject() throws(AvatarStoreError) {
        while try cursor.visible(or: "`}`") != .closingBrace {
            try cursor.expect(.comma)
            guard try !memberIsContacts() else { throw cursor.fault("the object has `contacts` twice") }
            try skipValue()
        }
        cursor.advance()
    }

    /// Reads a member's name and the colon behind it.
    private mutating func memberIsContacts() throws(AvatarStoreError) -> Bool {
        let wanted = "contacts".utf8
        try cursor.expect(.quote)
        let line = cursor.line
        var name = HeldBytes(limit: wanted.count)
        var isEscaped = false
        let isClosed = try cursor.pass(keeping: &name) { byte, _ in
            let ends = byte == .quote && !isEscaped
            isEscaped = byte == .backslash && !isEscaped
            return ends
        }
        guard isClosed else { throw cursor.cutShort(inStringOf: line) }
        cursor.advance()
        try cursor.expect(.colon)
        return !name.isTooLong && name.bytes.elementsEqual(wanted)
    }

    private mutating func skipValue() throws(AvatarStoreError) {
        let first = try cursor.visible(or: "a value")
        let held = try scanner.passValue(cursor: &cursor, keeping: 1)
        guard !held.bytes.isEmpty else { throw cursor.unexpected(first, insteadOf: "a value") }
    }
}

/// Finds the end of a JSON value by its brackets and strings alone.
struct JSONScanner {
    /// How deep a record may nest, its own braces counted: as deep as Foundation reads.
    static let maximumNesting = 512

    /// The brackets that would close those open now, up to the limit; deeper ones are counted, not told apart.
    private var expected: [UInt8] = []
    private var depth = 0
    /// The deepest nesting that was met.
    private var deepest = 0
    private var isInString = false
    private var isEscaped = false
    /// The line in which the latest string began.
    private var stringLine = 0

    /// Moves `cursor` past a value, to the comma or bracket behind it, and keeps up to `limit` bytes of it.
    ///
    /// - Throws: If a bracket does not fit the one it closes, or the list ends within the value.
    fileprivate mutating func passValue(
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

extension ListCursor {
    /// The next byte that is not blank, which stays the next one; `nil` at the end.
    fileprivate mutating func visible() throws(AvatarStoreError) -> UInt8? {
        while let byte = try peek() {
            guard byte.isBlank else { return byte }
            advance()
        }
        return nil
    }

    /// The next byte that is not blank, which stays the next one; at the end, an error that `expected` is missing.
    fileprivate mutating func visible(or expected: String) throws(AvatarStoreError) -> UInt8 {
        guard let byte = try visible() else { throw cutShort(before: expected) }
        return byte
    }

    /// Moves past `byte`, which must come next.
    fileprivate mutating func expect(_ byte: UInt8) throws(AvatarStoreError) {
        let found = try visible(or: byte.spelling)
        guard found == byte else { throw unexpected(found, insteadOf: byte.spelling) }
        advance()
    }

    /// The error that the next byte, `found`, breaks the list.
    fileprivate func unexpected(_ found: UInt8, insteadOf expected: String) -> AvatarStoreError {
        fault("\(expected) was expected, found \(found.spelling)")
    }

    /// The error that the list ends where `expected` should have come.
    fileprivate func cutShort(before expected: String) -> AvatarStoreError {
        fault("the list is cut short: \(expected) was expected, found the end")
    }

    /// The error that the list ends within a string.
    fileprivate func cutShort(inStringOf line: Int) -> AvatarStoreError {
        fault("the list is cut short: it ends in a string that begins in line \(line)")
    }
}
