/// Brings http and https URLs to the one spelling that is their key (RFC 3986 sections 6.2.2 and 6.2.3).
///
/// A URL that has this spelling already is only looked at (`URLNormalization+Scan.swift`): that is the path of a hit.
/// Any other is taken apart and written anew.
struct URLNormalization {
    /// The URL as the caller wrote it, for messages.
    private let original: String
    private let bytes: ArraySlice<UInt8>

    /// The normal spelling of `url`.
    static func normalized(_ url: String) throws(AvatarStoreError) -> String {
        if isNormalized(url) { return url }
        return try URLNormalization(url).normalized()
    }

    private init(_ url: String) {
        original = url
        var bytes = ArraySlice(url.utf8).drop(while: Self.isWhiteSpace)
        while let last = bytes.last, Self.isWhiteSpace(last) {
            bytes.removeLast()
        }
        self.bytes = bytes
    }

    // MARK: How it works

    private func normalized() throws(AvatarStoreError) -> String {
        try checkWhole()
        let scheme = try scheme()
        let rest = bytes.dropFirst(scheme.utf8.count + 3)
        let authority = rest.prefix { !"/?#".utf8.contains($0) }
        let path = rest[authority.endIndex...].prefix { !"?#".utf8.contains($0) }
        let query = rest[path.endIndex...].prefix { $0 != UInt8(ascii: "#") }

        var output = Array("\(scheme)://".utf8)
        output += try normalizedAuthority(authority, defaultPort: scheme == "https" ? 443 : 80)
        output += Self.normalizedPath(path)
        output += Self.normalizedQuery(query)
        try checkLength(output.count)
        return String(decoding: output, as: UTF8.self)
    }

    private func checkWhole() throws(AvatarStoreError) {
        try checkLength(bytes.count)
        guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw refusal("holds a control character")
        }
    }

    private func checkLength(_ count: Int) throws(AvatarStoreError) {
        let limit = AvatarKey.maximumBytes
        guard count <= limit else { throw refusal("has \(count) bytes, more than the limit of \(limit)") }
    }

    /// `http` or `https`.
    private func scheme() throws(AvatarStoreError) -> String {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            bytes[..<colon].allSatisfy(URLCharacterSet.scheme.contains)
        else { throw refusal("is relative: it has to begin with http:// or https://") }
        let scheme = String(decoding: bytes[..<colon].map(Self.lowercased), as: UTF8.self)
        guard scheme == "http" || scheme == "https" else { throw refusal("is neither http nor https") }
        guard bytes[colon...].dropFirst().starts(with: "//".utf8) else { throw refusal("has no host") }
        return scheme
    }

    func refusal(_ reason: String) -> AvatarStoreError {
        let message = "The URL \(AvatarKey.redact(original)) \(reason)."
        return AvatarStoreError(.unsupportedURL, message, failure: .unsupportedURL)
    }
}

// MARK: - Bytes

extension URLNormalization {
    static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte)
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
