internal import AvatarCore
internal import AvatarFoundation

/// The fields of a JSON object that needs no general decoder, which takes several times as long.
///
/// Such an object has strings without escapes, arrays of them, whole numbers and `null`. Most records of most lists are so.
/// `JSONDecoder` reads the same fields from it.
struct PlainFields: ContactFields {
    /// A value of a field that is read.
    private enum Value {
        case single(JSONValue?)
        case texts([String])
    }

    /// Whether the object has names that are not spelled as in `ContactField`.
    private(set) var hasUnusualNames = false
    private var values: [(field: ContactField, value: Value)] = []

    /// Reads the object in `json`; `nil` if it is not a plain one.
    init?(_ json: ArraySlice<UInt8>) {
        guard json.withUnsafeBufferPointer({ read($0) }) else { return nil }
    }

    func name(of field: ContactField) -> String { field.rawValue }

    func has(_ field: ContactField) -> Bool { value(of: field) != nil }

    func value(_ field: ContactField) -> JSONValue? {
        switch value(of: field) {
        case .single(let value)?: value
        case .texts?: .array
        case nil: nil
        }
    }

    func addresses(_ field: ContactField) -> [String] {
        switch value(of: field) {
        case .single(.string(let text)?)?: [text]
        case .texts(let texts)?: texts
        case .single?, nil: []
        }
    }

    private func value(of field: ContactField) -> Value? {
        values.first { $0.field == field }?.value
    }

    // MARK: Reading

    /// Reads the members. Returns `false` at the first thing that is not plain.
    private mutating func read(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var text = PlainText(bytes)
        guard text.pass(.openingBrace) else { return false }
        values.reserveCapacity(4)
        repeat {
            guard let name = text.string(), text.pass(.colon) else { return false }
            let field = ContactField(spelled: name)
            guard let value = Self.value(in: &text) else { return false }
            guard let field else {
                guard name.allSatisfy({ $0 < 0x80 }) else { return false }
                hasUnusualNames = true
                continue
            }
            // Of a name that occurs twice, the general decoder chooses the value.
            guard !has(field) else { return false }
            values.append((field, value))
        } while text.pass(.comma)
        return text.pass(.closingBrace) && text.isAtEnd
    }

    private static func value(in text: inout PlainText) -> Value? {
        switch text.visible {
        case .quote?: text.string().flatMap(String.init(validatingPlain:)).map { .single(.string($0)) }
        case .openingBracket?: texts(in: &text).map(Value.texts)
        case UInt8(ascii: "n")?: text.pass("null") ? .single(nil) : nil
        default: text.wholeNumber().map { .single(.number($0)) }
        }
    }

    /// Reads an array of at least one string.
    private static func texts(in text: inout PlainText) -> [String]? {
        guard text.pass(.openingBracket) else { return nil }
        var texts: [String] = []
        repeat {
            guard let string = text.string().flatMap(String.init(validatingPlain:)) else { return nil }
            texts.append(string)
        } while text.pass(.comma)
        return text.pass(.closingBracket) ? texts : nil
    }
}

extension ContactField {
    private static let spellings = allCases.map { (field: $0, name: Array($0.rawValue.utf8)) }

    /// The field with exactly this name.
    init?(spelled name: UnsafeBufferPointer<UInt8>) {
        let known = Self.spellings.first { $0.name.count == name.count && $0.name.elementsEqual(name) }
        guard let known else { return nil }
        self = known.field
    }
}

extension String {
    /// The text, unless it is not UTF-8.
    fileprivate init?(validatingPlain bytes: UnsafeBufferPointer<UInt8>) {
        self.init(validating: bytes, as: UTF8.self)
    }
}

/// A position in JSON text, and the plain tokens there.
private struct PlainText {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var index = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// The next byte that is not white space.
    var visible: UInt8? {
        mutating get {
            while index < bytes.count, bytes[index].isBlank { index += 1 }
            return index < bytes.count ? bytes[index] : nil
        }
    }

    var isAtEnd: Bool { mutating get { visible == nil } }

    /// Moves past `byte` if it is next apart from white space.
    mutating func pass(_ byte: UInt8) -> Bool {
        guard visible == byte else { return false }
        index += 1
        return true
    }

    /// Moves past `word` if it is next.
    mutating func pass(_ word: StaticString) -> Bool {
        let matches = word.withUTF8Buffer { bytes[index...].starts(with: $0) }
        if matches { index += word.utf8CodeUnitCount }
        return matches
    }

    /// The bytes of the string that is next, unless it has escapes or control characters.
    mutating func string() -> UnsafeBufferPointer<UInt8>? {
        guard pass(.quote) else { return nil }
        let start = index
        while index < bytes.count, bytes[index] != .quote {
            guard bytes[index] != .backslash, bytes[index] >= 0x20 else { return nil }
            index += 1
        }
        guard index < bytes.count else { return nil }
        defer { index += 1 }
        return UnsafeBufferPointer(rebasing: bytes[start..<index])
    }

    /// The number that is next, if it is a whole one without a sign, an exponent and superfluous zeros.
    mutating func wholeNumber() -> Decimal? {
        let digits = bytes[index...].prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        // A longer one may not fit an integer.
        guard (1...18).contains(digits.count), digits.first != UInt8(ascii: "0") || digits.count == 1 else {
            return nil
        }
        index += digits.count
        return Decimal(digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) })
    }
}
