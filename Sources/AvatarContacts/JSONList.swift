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
