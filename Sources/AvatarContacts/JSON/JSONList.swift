internal import AvatarCore

/// Cuts a JSON list into the elements of its array: the array at the top level, or under `contacts` in an object.
///
/// Elements are skipped by brackets and strings, not parsed. An element that is not JSON is therefore only an unreadable
/// record: as long as its brackets and strings balance, the next element is found.
///
/// ```
/// [ record , record ]
/// { "other" : value , "contacts" : [ record , record ] , "other" : value }
/// ```
struct JSONSplitter: RecordSplitter {
    private var cursor: ListCursor
    /// The most bytes of a record.
    private let limit: Int
    private let reading: JSONReading
    private var scanner = JSONScanner()
    private var place = Place.beforeList
    /// Whether the array is under `contacts` in an object, which also has to be closed.
    private var isInObject = false

    /// The position of the cursor in the structure of the list.
    private enum Place {
        case beforeList, afterOpeningBracket, afterComma, afterArray, afterList
    }

    /// Creates a splitter for the list at `cursor`, which must be at its beginning.
    init(cursor: ListCursor, limit: Int, columns: [ContactList.Column: [String]]) {
        (self.cursor, self.limit) = (cursor, limit)
        reading = JSONReading(columns: columns)
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

    /// Moves into the array, at the top level or under `contacts`.
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
            throw cursor.fault("the list is empty; expected a JSON array or object")
        }
        place = .afterOpeningBracket
    }

    /// Reads an element and the comma or bracket behind it.
    ///
    /// - Throws: `unreadableList` if the brackets of the element do not match, or the list ends within it.
    private mutating func element() throws(AvatarStoreError) -> RawRecord {
        let first = try cursor.visible(or: "a record")
        let line = cursor.line
        let held = try scanner.passValue(cursor: &cursor, keeping: limit)
        let delimiter = try cursor.visible(or: "`]`")
        guard delimiter != .closingBrace else {
            throw cursor.unexpected(delimiter, insteadOf: "`,` or `]`")
        }
        cursor.advance()
        place = delimiter == .comma ? .afterComma : .afterArray
        guard !held.bytes.isEmpty else {
            return .unreadable(line: line, reason: "expected a record, found \(first.spelling)")
        }
        if held.isTooLong { return .tooLarge(line: line, limit: limit) }
        return .whole(JSONRecord(json: held.bytes[...], line: line, reading: reading))
    }

    /// Reads the rest of the list behind the array: the other members of the object, and white space.
    private mutating func leaveList() throws(AvatarStoreError) {
        if isInObject { try leaveObject() }
        if let byte = try cursor.visible() {
            throw cursor.unexpected(byte, insteadOf: "the end of the list")
        }
        place = .afterList
    }

    // MARK: The object around the array

    /// Skips the members before `contacts`, and moves into its array.
    private mutating func enterContacts() throws(AvatarStoreError) {
        var isFirst = true
        while try cursor.visible(or: "`}`") != .closingBrace {
            if !isFirst { try cursor.expect(.comma) }
            isFirst = false
            if try memberIsContacts() {
                guard try cursor.visible(or: "`[`") == .openingBracket else {
                    throw cursor.fault("`contacts` must be an array")
                }
                return cursor.advance()
            }
            try skipValue()
        }
        throw cursor.fault(
            "the object must hold the array under `contacts` (for one object per line, use the format ndjson)"
        )
    }

    /// Skips the members behind `contacts`, and closes the object.
    private mutating func leaveObject() throws(AvatarStoreError) {
        while try cursor.visible(or: "`}`") != .closingBrace {
            try cursor.expect(.comma)
            guard try !memberIsContacts() else { throw cursor.fault("`contacts` must not occur twice in the object") }
            try skipValue()
        }
        cursor.advance()
    }

    /// Reads the name of a member and the colon behind it. Returns whether the name is `contacts`.
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

    /// Skips the value of a member other than `contacts`.
    private mutating func skipValue() throws(AvatarStoreError) {
        let first = try cursor.visible(or: "a value")
        let held = try scanner.passValue(cursor: &cursor, keeping: 1)
        guard !held.bytes.isEmpty else { throw cursor.unexpected(first, insteadOf: "a value") }
    }
}

/// Finds the end of a JSON value by its brackets and strings alone.
///
/// The scanner needs memory for the open brackets only, up to the nesting limit, however long the value is.
struct JSONScanner {
    /// The limit for the nesting of a record, its own braces included. Foundation decodes no deeper.
    static let maximumNesting = 512

    /// The closing brackets still expected, innermost last. Levels over the limit are only counted in `depth`.
    private var expected: [UInt8] = []
    /// The number of open brackets.
    private var depth = 0
    /// The greatest `depth` so far.
    private var deepest = 0
    private var isInString = false
    /// Whether a backslash in a string escapes the next byte.
    private var isEscaped = false
    /// The line in which the latest string began.
    private var stringLine = 0

    /// Moves `cursor` past a value, to the comma or bracket behind it.
    ///
    /// - Parameters:
    ///   - cursor: The position of the value.
    ///   - limit: The number of bytes of the value to keep.
    /// - Returns: The value, or its first bytes; empty if there is no value.
    /// - Throws: `unreadableList` if a closing bracket does not match, or the list ends within the value.
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

    /// Whether `json` nests deeper than `maximumNesting`.
    static func nestsTooDeep(_ json: ArraySlice<UInt8>) -> Bool {
        var scanner = JSONScanner()
        for byte in json where scanner.ends(before: byte, line: 0) { break }
        return scanner.deepest > maximumNesting
    }

    /// The closing bracket that is expected next, as messages quote it; `nil` if no bracket is open.
    private var missing: String? {
        depth == 0 ? nil : expected.last?.spelling
    }

    /// Scans the next byte. Returns `true` if the value ends before it, or the byte cannot continue the value.
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

    /// Notes an opening bracket, which `closing` has to close.
    private mutating func opens(_ closing: UInt8) {
        depth += 1
        deepest = max(deepest, depth)
        if depth <= Self.maximumNesting { expected.append(closing) }
    }

    /// Closes the innermost open bracket. Returns `false` if `byte` does not match it, or if no bracket is open.
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

/// The tokens and the syntax errors of JSON lists.
extension ListCursor {
    /// Skips white space and returns the byte behind it without moving past it; `nil` at the end of the list.
    fileprivate mutating func visible() throws(AvatarStoreError) -> UInt8? {
        while let byte = try peek() {
            guard byte.isBlank else { return byte }
            advance()
        }
        return nil
    }

    /// Skips white space and returns the byte behind it without moving past it.
    ///
    /// - Throws: `unreadableList` at the end of the list, with a message that `expected` is missing.
    fileprivate mutating func visible(or expected: String) throws(AvatarStoreError) -> UInt8 {
        guard let byte = try visible() else { throw cutShort(before: expected) }
        return byte
    }

    /// Moves past `byte`, which must be next apart from white space.
    ///
    /// - Throws: `unreadableList` if another byte is next, or the list ends.
    fileprivate mutating func expect(_ byte: UInt8) throws(AvatarStoreError) {
        let found = try visible(or: byte.spelling)
        guard found == byte else { throw unexpected(found, insteadOf: byte.spelling) }
        advance()
    }

    /// Makes the error that the next byte, `found`, is not valid here.
    fileprivate func unexpected(_ found: UInt8, insteadOf expected: String) -> AvatarStoreError {
        fault("expected \(expected), found \(found.spelling)")
    }

    /// Makes the error that the list ends where `expected` is missing.
    fileprivate func cutShort(before expected: String) -> AvatarStoreError {
        fault("the list is cut short: expected \(expected), found the end")
    }

    /// Makes the error that the list ends inside the string that begins in `line`.
    fileprivate func cutShort(inStringOf line: Int) -> AvatarStoreError {
        fault("the list is cut short: it ends inside the string that begins in line \(line)")
    }
}
