package import HTTPTypes

/// What the Cache-Control field of a response says (RFC 9111 section 5.2.2, RFC 5861, RFC 8246).
///
/// Directives are read in either case, with their argument quoted or not, and unknown ones are skipped (sections 5.2
/// and 5.2.3). Of two with the same name the first counts; an argument that is no number of seconds, or breaks the
/// grammar, makes a lifetime zero and a permission void (section 4.2.1); larger numbers than 2^31 count as that
/// (section 1.2.2). A directive that takes no argument counts also with one.
package struct CacheControl: Hashable, Sendable {
    /// Seconds of freshness; 0 also where the number cannot be read.
    package private(set) var maxAge: Int64?
    /// As `maxAge`, but for caches that serve several users. Ours serves one host program, so nothing follows from it.
    package private(set) var sharedMaxAge: Int64?
    /// The response is not to be kept.
    package private(set) var noStore = false
    /// The response is not to be used before the origin has confirmed it.
    package private(set) var noCache = false
    /// The fields that `no-cache="…"` names: only they are not to be reused.
    package private(set) var noCacheFields: [String] = []
    /// Once stale, the response is not to be used before the origin has confirmed it.
    package private(set) var mustRevalidate = false
    /// Caches with several users may not keep it; ours may.
    package private(set) var isPrivate = false
    /// The fields that `private="…"` names: only they are not for caches with several users.
    package private(set) var privateFields: [String] = []
    /// May be kept whatever its status.
    package private(set) var isPublic = false
    /// Does not change while it is fresh.
    package private(set) var immutable = false
    /// A cache that knows the status ignores `no-store`.
    package private(set) var mustUnderstand = false
    /// How many seconds a stale response may be used when the origin answers with an error.
    package private(set) var staleIfError: Int64?

    /// What all Cache-Control lines of `fields` say together.
    package init(_ fields: HTTPFields) {
        self.init(fields[.cacheControl] ?? "")
    }

    /// What the value of a Cache-Control field says.
    package init(_ value: String) {
        var seen: Set<String> = []
        for directive in DirectiveReader(value)
        where directive.isQualified || seen.insert(directive.name).inserted {
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

/// Reads the directives of a Cache-Control value one by one: `name`, `name=token` or `name="quoted string"`, between
/// commas (RFC 9111 section 5.2, RFC 9110 section 5.6).
///
/// Nothing stops it, but it says where the grammar was broken: by white space around `=`, by a quoted string without its
/// end, which ends with the value, or by something between an argument and the comma, which is skipped.
private struct DirectiveReader: Sequence, IteratorProtocol {
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

/// Whole seconds as HTTP writes them (RFC 9111 section 1.2.2).
enum DeltaSeconds {
    /// What larger values count as: 2^31 seconds, 68 years.
    static let maximum: Int64 = 1 << 31

    /// The value of `text`; `nil` unless it is digits only.
    static func parse(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in text.utf8 {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            value = min(value * 10 + Int64(byte - UInt8(ascii: "0")), maximum)
        }
        return value
    }

    /// `seconds` as an age or a lifetime: not negative, and no larger than the largest.
    static func clamped(_ seconds: Int64) -> Int64 {
        min(max(seconds, 0), maximum)
    }
}
