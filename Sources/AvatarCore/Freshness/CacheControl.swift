package import HTTPTypes

/// The Cache-Control directives of a response (RFC 9111 section 5.2.2, RFC 5861, RFC 8246).
///
/// Names are read in any case, arguments with or without quotes, and unknown directives are ignored (sections 5.2 and
/// 5.2.3). Of two directives with the same name, the first counts. An argument that is not a number of seconds, or
/// breaks the grammar, makes a lifetime 0 and a permission void (section 4.2.1). Numbers above 2^31 count as 2^31
/// (section 1.2.2). A directive that takes no argument counts even with one.
package struct CacheControl: Hashable, Sendable {
    /// `max-age`: the freshness lifetime in seconds; 0 if the number is invalid, `nil` without the directive.
    package private(set) var maxAge: Int64?
    /// `s-maxage`: the lifetime for shared caches, in seconds. The store is a private cache and ignores it.
    package private(set) var sharedMaxAge: Int64?
    /// `no-store`: the response must not be stored.
    package private(set) var noStore = false
    /// `no-cache`: the response must not be reused before the origin has confirmed it.
    package private(set) var noCache = false
    /// The fields that `no-cache="…"` names: only these must not be reused.
    package private(set) var noCacheFields: [String] = []
    /// `must-revalidate`: once stale, the response must not be reused before the origin has confirmed it.
    package private(set) var mustRevalidate = false
    /// `private`: shared caches must not store the response; the store may.
    package private(set) var isPrivate = false
    /// The fields that `private="…"` names: shared caches must not store only these.
    package private(set) var privateFields: [String] = []
    /// `public`: the response may be stored whatever its status.
    package private(set) var isPublic = false
    /// `immutable`: the image does not change while it is fresh.
    package private(set) var immutable = false
    /// `must-understand`: a cache that understands the status ignores `no-store`.
    package private(set) var mustUnderstand = false
    /// `stale-if-error`: how many seconds a stale response may be served if the origin fails with an error.
    package private(set) var staleIfError: Int64?

    /// Reads all Cache-Control lines of `fields` as one list.
    package init(_ fields: HTTPFields) {
        self.init(fields.listValue(of: .cacheControl) ?? "")
    }

    /// Reads the value of a Cache-Control field.
    package init(_ value: String) {
        // Most values have one directive, and need no set.
        var first: String?
        var others: Set<String> = []
        for directive in DirectiveReader(value) {
            if !directive.isQualified {
                guard directive.name != first else { continue }
                if first == nil {
                    first = directive.name
                } else if !others.insert(directive.name).inserted {
                    continue
                }
            }
            apply(directive)
        }
    }

    private mutating func apply(_ directive: DirectiveReader.Directive) {
        switch directive.name {
        case "max-age": maxAge = directive.seconds ?? 0
        case "s-maxage": sharedMaxAge = directive.seconds ?? 0
        case "no-store": noStore = true
        case "no-cache" where directive.isQualified: noCacheFields += directive.fieldNames
        case "no-cache": noCache = true
        case "must-revalidate": mustRevalidate = true
        case "private" where directive.isQualified: privateFields += directive.fieldNames
        case "private": isPrivate = true
        case "public": isPublic = true
        case "immutable": immutable = true
        case "must-understand": mustUnderstand = true
        case "stale-if-error": staleIfError = directive.seconds
        default: break
        }
    }
}

/// Reads the directives of a Cache-Control value one by one: `name`, `name=token` or `name="quoted string"`, separated
/// by commas (RFC 9111 section 5.2, RFC 9110 section 5.6).
///
/// A syntax error does not stop the reader, but the directive is marked as not well-formed. Errors are white space
/// around `=`, a quoted string without its end, and text between an argument and the comma, which is skipped.
private struct DirectiveReader: Sequence, IteratorProtocol {
    struct Directive {
        /// The name in lower case.
        let name: String
        /// The text after `=`, without quotes; `nil` without `=`.
        let argument: String?
        let isQuoted: Bool
        /// Whether the text after the name keeps to the grammar.
        let isWellFormed: Bool

        /// The argument in seconds; `nil` if it is not a number.
        var seconds: Int64? { isWellFormed ? argument.flatMap(DeltaSeconds.parse) : nil }

        /// Whether this is `no-cache="…"` or `private="…"` with a list of field names. Any other argument makes it the
        /// plain directive, which is stricter.
        var isQualified: Bool {
            (name == "no-cache" || name == "private") && isQuoted && isWellFormed && !fieldNames.isEmpty
                && fieldNames.allSatisfy { HTTPField.Name($0) != nil }
        }

        /// The argument as a list of field names in lower case.
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

    /// Takes the text up to a comma, an equals sign or white space.
    private mutating func takeToken() -> String {
        let token = rest.prefix { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=") && !Self.isSpace($0) }
        rest = rest[token.endIndex...]
        return String(Substring(token))
    }

    /// Takes a quoted string without its quotes. `isComplete` tells whether the closing quote was found.
    private mutating func takeQuotedString() -> (text: String, isComplete: Bool) {
        var bytes: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return (String(decoding: bytes, as: UTF8.self), true) }
            // A backslash quotes the next character.
            let isEscape = byte == UInt8(ascii: "\\")
            bytes.append(isEscape ? rest.popFirst() ?? byte : byte)
        }
        return (String(decoding: bytes, as: UTF8.self), false)
    }

    /// - Returns: whether there were spaces.
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

/// Whole seconds in header fields (RFC 9111 section 1.2.2).
enum DeltaSeconds {
    /// The largest value, 2^31 seconds or 68 years. Larger values count as this one.
    static let maximum: Int64 = 1 << 31

    /// The value of `text`; `nil` unless it consists of digits.
    static func parse(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in text.utf8 {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            value = min(value * 10 + Int64(byte - UInt8(ascii: "0")), maximum)
        }
        return value
    }

    /// `seconds` limited to 0...`maximum`, the range of an age or a lifetime.
    static func clamped(_ seconds: Int64) -> Int64 {
        min(max(seconds, 0), maximum)
    }
}
