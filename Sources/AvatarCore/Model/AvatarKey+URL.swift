extension AvatarKey {
    /// The part of `url` that a message may show: scheme, host and path, cut to 200 characters.
    ///
    /// Works on any string, above all on one that is no URL: user info, query and fragment are left out, of `data:`
    /// and other URLs without `//` only the scheme is shown, and where it is not clear what is user info nothing of
    /// that part is shown. Control characters are replaced, so that a message stays one line.
    public static func redact(_ url: String) -> String {
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

    /// `text`, which begins with slashes and an authority (RFC 3986 section 3.2), without user info.
    ///
    /// Any number of slashes may come first: where a URL has one too many, what follows is meant as the authority.
    private static func withoutUserInfo(_ text: Substring.UTF8View) -> String {
        let slashes = text.prefix { $0 == UInt8(ascii: "/") }
        let rest = text[slashes.endIndex...]
        let authority = rest.prefix { $0 != UInt8(ascii: "/") }
        guard let mark = authority.lastIndex(of: UInt8(ascii: "@")) else {
            return String(Substring(slashes)) + (looksLikeHost(authority) ? String(Substring(rest)) : "…")
        }
        return String(Substring(slashes)) + String(Substring(rest[mark...].dropFirst()))
    }

    /// Whether the port is a number: a password with a slash in it ("//anna:se/cret@host") ends up where a port stands.
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
        return String(String.UnicodeScalarView(cut.unicodeScalars.map { isPlain($0) ? $0 : "\u{FFFD}" }))
    }

    /// Whether a character leaves the line and its direction alone.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}

extension AvatarKey {
    /// Scheme and authority (`https://example.org:81`), and the request target after them (`/path?query`), of a URL.
    package var originAndTarget: (origin: String, target: String) {
        let text = rawValue.utf8
        let authority = text.dropFirst(rawValue.utf8.starts(with: "https:".utf8) ? 8 : 7)
        let slash = authority.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
        return (String(Substring(text[..<slash])), String(Substring(text[slash...])))
    }

    /// The key of the URL that `reference` means relative to `base`, a URL (RFC 3986 section 5.2.2), byte for byte.
    ///
    /// - Throws: `unsupportedURL` as `init(url:)`, and for a reference that is empty.
    package init(reference: String, relativeTo base: AvatarKey) throws(AvatarStoreError) {
        let bytes = reference.utf8.drop(while: URLNormalization.isWhiteSpace)
        guard let first = bytes.first else {
            throw AvatarStoreError(.unsupportedURL, "The reference to a URL is empty.", failure: .unsupportedURL)
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

    /// Whether a colon stands before the first slash, question mark or number sign, after the letters of a scheme.
    private static func hasScheme(_ bytes: Substring.UTF8View) -> Bool {
        guard let first = bytes.first, URLNormalization.isLetter(first) else { return false }
        return bytes.first { !URLCharacterSet.scheme.contains($0) } == UInt8(ascii: ":")
    }
}
