extension AvatarKey {
    /// The part of `url` that a message may show: scheme, host and path, cut to 200 characters.
    ///
    /// Accepts any string, whether it is a URL or not. User info, query and fragment are left out. A URL without `//`,
    /// such as `data:`, is reduced to its scheme. Text that may or may not be user info is replaced by `…`, and a
    /// control character by U+FFFD, so that a message stays on one line.
    package static func redact(_ url: String) -> String {
        let text = url.utf8.drop(while: URLNormalization.isWhiteSpace)
        let visible = text.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let colon = visible.firstIndex(of: UInt8(ascii: ":"))
        guard let colon, isScheme(visible[..<colon]) else { return printable(withoutUserInfo(visible)) }
        let scheme = String(Substring(visible[...colon]))
        let rest = visible[colon...].dropFirst()
        if rest.starts(with: "//".utf8) { return printable(scheme + withoutUserInfo(rest)) }
        // "anna:secret@example.com" has the form of a scheme too.
        let mayBeUserInfo = rest.contains(UInt8(ascii: "@")) && scheme != "data:"
        return mayBeUserInfo ? "…" : printable(scheme)
    }

    /// `text` with each URL in it as `redact` shows it.
    ///
    /// - Parameter keepsPaths: if `false`, a URL is reduced to host and port. Default: `true`.
    package static func redactURLs(in text: String, keepsPaths: Bool = true) -> String {
        var result = ""
        var rest = text[...]
        while let mark = rest.firstRange(of: "://") {
            let scheme = rest[..<mark.lowerBound]
            let start = scheme.lastIndex { !($0.isASCII && $0.isLetter) }.map(rest.index(after:)) ?? rest.startIndex
            let end = rest[mark.upperBound...].firstIndex { $0.isWhitespace || "\"<>`".contains($0) } ?? rest.endIndex
            // The punctuation of the sentence is no part of the URL.
            let last = rest[mark.upperBound..<end].lastIndex { !".,:;!?)".contains($0) }
            let close = last.map(rest.index(after:)) ?? mark.upperBound
            let url = redact(String(rest[start..<close]))
            let authority = url.firstRange(of: "://").map { url[$0.upperBound...].prefix { $0 != "/" } }
            result += rest[..<start] + (keepsPaths ? url[...] : authority ?? "…")
            rest = rest[close...]
        }
        return result + rest
    }

    /// The reason in a message about `url`: the end of the sentence, without the URL at its begin and the period.
    ///
    /// - Parameter url: the URL as `redact` shows it; `nil` for none.
    package static func reason(in message: String, about url: String?) -> String {
        let begins = url.map { [$0 + ": ", $0 + " "] } ?? []
        let begin = begins.first { message.hasPrefix($0) } ?? ""
        let words = message.dropFirst(begin.count)
        return String(words.last == "." ? words.dropLast() : words)
    }

    /// Removes the user info from `text`, which begins with slashes and an authority (RFC 3986 section 3.2).
    ///
    /// `text` may begin with any number of slashes: after one slash too many, the author still meant an authority.
    private static func withoutUserInfo(_ text: Substring.UTF8View) -> String {
        let slashes = text.prefix { $0 == UInt8(ascii: "/") }
        let rest = text[slashes.endIndex...]
        let authority = rest.prefix { $0 != UInt8(ascii: "/") }
        guard let mark = authority.lastIndex(of: UInt8(ascii: "@")) else {
            return String(Substring(slashes)) + (looksLikeHost(authority) ? String(Substring(rest)) : "…")
        }
        return String(Substring(slashes)) + String(Substring(rest[mark...].dropFirst()))
    }

    /// Whether the text after the colon is a number. In "//anna:se/cret@host" the slash ends the authority, so that a
    /// part of the password stands in the place of the port.
    private static func looksLikeHost(_ authority: Substring.UTF8View) -> Bool {
        let afterLiteral = authority.lastIndex(of: UInt8(ascii: "]")).map { authority[$0...] } ?? authority
        guard let colon = afterLiteral.firstIndex(of: UInt8(ascii: ":")) else { return true }
        return afterLiteral[colon...].dropFirst().allSatisfy(URLNormalization.isDigit)
    }

    private static func isScheme(_ text: Substring.UTF8View) -> Bool {
        guard let first = text.first, URLNormalization.isLetter(first) else { return false }
        return text.allSatisfy(URLCharacterSet.scheme.contains)
    }

    private static func printable(_ text: String) -> String {
        let limit = 200
        let shown = text.prefix(limit + 1)
        let cut = shown.count > limit ? shown.prefix(limit - 1) + "…" : shown
        guard !cut.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return String(cut) }
        return String(String.UnicodeScalarView(cut.unicodeScalars.map { isPlain($0) ? $0 : "\u{FFFD}" }))
    }

    /// Whether a character neither ends the line nor changes its direction.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}

extension AvatarKey {
    /// The two parts of a URL key: scheme and authority (`https://example.org:81`), and the request target
    /// (`/path?query`).
    package var originAndTarget: (origin: String, target: String) {
        let text = rawValue.utf8
        let authority = text.dropFirst(rawValue.utf8.starts(with: "https:".utf8) ? 8 : 7)
        let slash = authority.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
        return (String(Substring(text[..<slash])), String(Substring(text[slash...])))
    }

    /// Resolves `reference` against `base` (RFC 3986 section 5.2.2), byte for byte, and normalises the result.
    ///
    /// - Parameters:
    ///   - reference: a URL or a relative reference, such as the value of a Location field.
    ///   - base: a key that is a URL.
    /// - Throws: `unsupportedURL` for an empty reference, a base that is not a URL, and a result that `init(url:)` refuses.
    public init(reference: String, relativeTo base: AvatarKey) throws(AvatarStoreError) {
        guard base.isURL else {
            let message = "\(base) is not a URL; a reference must be resolved against an http or https URL."
            throw AvatarStoreError(.unsupportedURL, message, failure: .unsupportedURL)
        }
        let bytes = reference.utf8.drop(while: URLNormalization.isWhiteSpace)
        guard let first = bytes.first else {
            let message = "The URL reference is empty; a redirect must name its target."
            throw AvatarStoreError(.unsupportedURL, message, failure: .unsupportedURL)
        }
        let rest = String(Substring(bytes))
        let (origin, target) = base.originAndTarget
        let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
        if Self.hasScheme(bytes) {
            try self.init(url: rest)
        } else if bytes.starts(with: "//".utf8) {
            try self.init(url: String(Substring(origin.utf8.prefix { $0 != UInt8(ascii: "/") })) + rest)
        } else if first == UInt8(ascii: "/") {
            try self.init(url: origin + rest)
        } else if first == UInt8(ascii: "#") {
            try self.init(url: origin + target)
        } else if first == UInt8(ascii: "?") {
            try self.init(url: origin + String(Substring(path)) + rest)
        } else {
            let folder = path[...(path.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex)]
            try self.init(url: origin + String(Substring(folder)) + rest)
        }
    }

    /// Whether `bytes` begin with a scheme and its colon.
    private static func hasScheme(_ bytes: Substring.UTF8View) -> Bool {
        guard let first = bytes.first, URLNormalization.isLetter(first) else { return false }
        return bytes.first { !URLCharacterSet.scheme.contains($0) } == UInt8(ascii: ":")
    }
}
