import AvatarDigest

/// An e-mail address as Libravatar and Gravatar normalise it before they hash it: in lower case, without white space at its
/// ends.
struct EmailAddress {
    private enum Form {
        /// The bytes of the normalised address.
        case address([UInt8])
        case digests(md5: [UInt8], sha256: [UInt8])
    }

    private let form: Form

    /// The address `text` as a list spells it, or as `digested` has it.
    ///
    /// - Returns: `nil` if it is longer than 320 bytes, has no text on both sides of `@`, or contains white space or
    ///   control characters.
    init?(_ text: String) {
        if text.hasPrefix(Self.mark) {
            guard let bytes = Hexadecimal.bytes(String(text.dropFirst())), bytes.count == 48 else { return nil }
            form = .digests(md5: Array(bytes[..<16]), sha256: Array(bytes[16...]))
            return
        }
        let address = text.trimmingBlanks.lowercased()
        guard address.utf8.count <= 320, let mark = address.lastIndex(of: "@"), mark != address.startIndex,
            address.index(after: mark) != address.endIndex,
            !address.unicodeScalars.contains(where: { $0.properties.isWhitespace || $0.value < 0x20 })
        else { return nil }
        form = .address(Array(address.utf8))
    }

    /// Before the digests of an address in place of it. No address has it.
    private static let mark = "\u{1}"

    /// The digests of the address `text`, in place of it; `nil` for another text.
    static func digested(_ text: String) -> String? {
        EmailAddress(text).map { mark + Hexadecimal.text($0.md5 + $0.sha256) }
    }

    /// The SHA-256 of the address: 32 bytes.
    var sha256: [UInt8] {
        switch form {
        case .address(let bytes): SHA256.hash(bytes)
        case .digests(_, let sha256): sha256
        }
    }

    /// The MD5 of the address: 16 bytes. Older clients of both services send it.
    var md5: [UInt8] {
        switch form {
        case .address(let bytes): MD5.hash(bytes)
        case .digests(let md5, _): md5
        }
    }

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
