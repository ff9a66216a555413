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
