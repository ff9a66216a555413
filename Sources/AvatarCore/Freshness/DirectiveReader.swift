internal import HTTPTypes

/// Reads the directives of a Cache-Control value one by one: `name`, `name=token` or `name="quoted string"`, between
/// commas (RFC 9111 section 5.2, RFC 9110 section 5.6).
///
/// Nothing stops it, but it says where the grammar was broken: by white space around `=`, by a quoted string without its
/// end, which ends with the value, or by something between an argument and the comma, which is skipped.
struct DirectiveReader: Sequence, IteratorProtocol {
    struct Directive {
        /// In lower case.
        let name: String
        /// `nil` if there is no `=`.
        let argument: String?
        let isQuoted: Bool
        /// Whether the grammar allows what follows the name.
        let isWellFormed: Bool

        /// The argument as a number of seconds; `nil` if it is none.
        var seconds: Int64? { isWellFormed ? argument.flatMap(DeltaSeconds.parse) : nil }

        /// `no-cache="…"` or `private="…"` with at least one field name. Without quotes, and with anything else in them,
        /// it counts as the plain directive, which asks more.
        var isQualified: Bool {
            (name == "no-cache" || name == "private") && isQuoted && isWellFormed && !fieldNames.isEmpty
                && fieldNames.allSatisfy { HTTPField.Name($0) != nil }
        }

        /// The argument as a list of field names, in lower case.
        var fieldNames: [String] {
            (argument ?? "").lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
        }
    }

    private var rest: Substring.UTF8View

    init(_ value: String) {
        rest = Substring(value).utf8
    }

    mutating func next() -> Directive? {
        rest = rest.drop { Self.isSpace($0) || $0 == UInt8(ascii: ",") }
        guard !rest.isEmpty else { return nil }
        let name = takeToken().lowercased()
        let hasSpaceBefore = skipSpaces()
        guard rest.first == UInt8(ascii: "=") else {
            let isWellFormed = !skipToComma()
            return Directive(name: name, argument: nil, isQuoted: false, isWellFormed: isWellFormed)
        }
        rest = rest.dropFirst()
        let hasSpaceAfter = skipSpaces()
        let isQuoted = rest.first == UInt8(ascii: "\"")
        let (argument, isComplete) = isQuoted ? takeQuotedString() : (takeToken(), true)
        _ = skipSpaces()
        let isWellFormed = !skipToComma() && isComplete && !hasSpaceBefore && !hasSpaceAfter
        return Directive(name: name, argument: argument, isQuoted: isQuoted, isWellFormed: isWellFormed)
    }

    // MARK: Parts

    /// Up to a comma, an equals sign or white space.
    private mutating func takeToken() -> String {
        let token = rest.prefix { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=") && !Self.isSpace($0) }
        rest = rest[token.endIndex...]
        return String(Substring(token))
    }

    /// `isComplete`: the closing quote was there.
    private mutating func takeQuotedString() -> (text: String, isComplete: Bool) {
        var bytes: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return (String(decoding: bytes, as: UTF8.self), true) }
            // A backslash makes the next character stand for itself.
            let isEscape = byte == UInt8(ascii: "\\")
            bytes.append(isEscape ? rest.popFirst() ?? byte : byte)
        }
        return (String(decoding: bytes, as: UTF8.self), false)
    }

    /// - Returns: whether there were any.
    private mutating func skipSpaces() -> Bool {
        let start = rest.startIndex
        rest = rest.drop(while: Self.isSpace)
        return rest.startIndex != start
    }

    /// - Returns: whether anything was skipped.
    private mutating func skipToComma() -> Bool {
        let start = rest.startIndex
        rest = rest.drop { $0 != UInt8(ascii: ",") }
        return rest.startIndex != start
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}
