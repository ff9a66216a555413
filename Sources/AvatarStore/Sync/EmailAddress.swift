import AvatarDigest

/// An e-mail address as Libravatar and Gravatar normalise it before they hash it: in lower case, without white space at its
/// ends.
struct EmailAddress {
    /// The bytes of the normalised address.
    private let bytes: [UInt8]

    /// The address `text` as a list spells it.
    ///
    /// - Returns: `nil` if it is longer than 320 bytes, has no text on both sides of `@`, or contains white space or
    ///   control characters.
    init?(_ text: String) {
        let address = text.trimmingBlanks.lowercased()
        guard address.utf8.count <= 320, let mark = address.lastIndex(of: "@"), mark != address.startIndex,
            address.index(after: mark) != address.endIndex,
            !address.unicodeScalars.contains(where: { $0.properties.isWhitespace || $0.value < 0x20 })
        else { return nil }
        bytes = Array(address.utf8)
    }

    /// The SHA-256 of the address: 32 bytes.
    var sha256: [UInt8] { SHA256.hash(bytes) }

    /// The MD5 of the address: 16 bytes. Older clients of both services send it.
    var md5: [UInt8] { MD5.hash(bytes) }

    /// The MD5 and the SHA-256 of each of `texts` that is an address.
    static func digests(of texts: [String]) -> Set<[UInt8]> {
        Set(texts.compactMap(EmailAddress.init).flatMap { [$0.md5, $0.sha256] })
    }
}

extension String {
    fileprivate var trimmingBlanks: Substring {
        var rest = self[...]
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }
}
