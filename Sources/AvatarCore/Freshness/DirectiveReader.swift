/// Reads the directives of a Cache-Control value one by one: `name`, `name=token` or `name="quoted string"`, between
/// commas (RFC 9111 section 5.2, RFC 9110 section 5.6).
///
/// Nothing stops it: white space around `=` is passed over, a quoted string without its end ends with the value, and
/// whatever follows an argument is skipped up to the comma.
struct DirectiveReader: Sequence, IteratorProtocol {
    struct Directive {
        /// In lower case.
        let name: String
        /// `nil` if there is no `=`.
        let argument: String?
        let isQuoted: Bool

        /// The argument as a number of seconds; `nil` if it is none.
        var seconds: Int64? { argument.flatMap(DeltaSeconds.parse) }

        /// `no-cache="…"` with at least one field name. Without quotes it counts as plain `no-cache`, which asks more.
        var isQualifiedNoCache: Bool { name == "no-cache" && isQuoted && !fieldNames.isEmpty }

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
        skipSpaces()
        guard rest.first == UInt8(ascii: "=") else {
            skipToComma()
            return Directive(name: name, argument: nil, isQuoted: false)
        }
        rest = rest.dropFirst()
        skipSpaces()
        let isQuoted = rest.first == UInt8(ascii: "\"")
        let argument = isQuoted ? takeQuotedString() : takeToken()
        skipToComma()
        return Directive(name: name, argument: argument, isQuoted: isQuoted)
    }

    // MARK: Parts

    /// Up to a comma, an equals sign or white space.
    private mutating func takeToken() -> String {
        let token = rest.prefix { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=") && !Self.isSpace($0) }
        rest = rest[token.endIndex...]
        return String(Substring(token))
    }

    private mutating func takeQuotedString() -> String {
        var bytes: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            // A backslash makes the next character stand for itself.
            guard byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() else {
                bytes.append(byte)
                continue
            }
            bytes.append(escaped)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func skipSpaces() {
        rest = rest.drop(while: Self.isSpace)
    }

    private mutating func skipToComma() {
        rest = rest.drop { $0 != UInt8(ascii: ",") }
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}
