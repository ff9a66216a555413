internal import AvatarCore

/// Decodes the values of a card into text, in the steps of each version: unfold, decode, convert the charset, unescape.
struct CardText {
    /// The limit for a text value, in bytes: 64 KiB.
    static let maximumBytes = 65_536
    /// The problem of a text value over the limit, for `CardProperty.fault(_:)`.
    static let tooLong = "is longer than the limit of \(ByteSize.limit(maximumBytes))"

    /// The version of the card, which decides on folds, escapes and the default charset.
    let version: CardVersion

    /// The text of `property`, trimmed.
    ///
    /// - Throws: `RecordFault` if the value is over the limit, not base64 as declared, or not valid in its charset.
    func text(of property: CardProperty) throws(RecordFault) -> String {
        unescaped(try escapedText(of: property)[...]).trimmed
    }

    /// The parts of a structured value such as `N`, each trimmed.
    ///
    /// - Throws: `RecordFault` as `text(of:)` does.
    func components(of property: CardProperty) throws(RecordFault) -> [String] {
        try escapedText(of: property).split(unescaped: ";").map { unescaped($0).trimmed }
    }

    /// The value of `property` without folds and quoted-printable, as bytes in its charset. Base64 is not decoded.
    ///
    /// - Parameters:
    ///   - property: The property.
    ///   - keepingBlanks: Whether the white space at the folds of a 2.1 card stays. It belongs to text, but not to a URI.
    func plainBytes(of property: CardProperty, keepingBlanks: Bool = true) -> [UInt8] {
        let isQuoted = property.head.parameters.encoding == .quotedPrintable
        let lines = isQuoted ? QuotedPrintable.joiningSoftBreaks(of: property.value) : property.value
        let line = unfolded(lines, keepingBlanks: keepingBlanks)
        return isQuoted ? QuotedPrintable.bytes(of: line) : line
    }

    /// Converts bytes of `property` from its charset.
    ///
    /// - Throws: `RecordFault` if the charset is unknown, or the bytes are not valid in it.
    func text(of bytes: [UInt8], in property: CardProperty) throws(RecordFault) -> String {
        guard let name = property.head.parameters.charset else { return try undeclaredText(bytes, of: property) }
        guard let charset = Charset(name) else {
            throw property.fault("is in the unknown charset `\(name.prefix(40))`; use UTF-8")
        }
        guard let text = charset.text(of: bytes) else {
            throw property.fault("is not valid text in its charset, `\(name.prefix(40))`")
        }
        return text
    }

    // MARK: Lines to text

    /// The text of `property`, not yet unescaped.
    private func escapedText(of property: CardProperty) throws(RecordFault) -> String {
        guard property.value.count <= Self.maximumBytes else { throw property.fault(Self.tooLong) }
        var bytes = plainBytes(of: property)
        if property.head.parameters.encoding == .base64 {
            do {
                bytes = try Base64.bytes(of: bytes[...])
            } catch {
                throw property.fault(error.problem)
            }
        }
        return try text(of: bytes, in: property)
    }

    /// Joins folded lines.
    ///
    /// In 2.1 a line is folded at white space, which is part of the value. Since 3.0 it is folded anywhere, and one space or
    /// tab is added.
    private func unfolded(_ lines: [UInt8], keepingBlanks: Bool) -> [UInt8] {
        guard lines.contains(.lineFeed) else { return lines }
        var line: [UInt8] = []
        line.reserveCapacity(lines.count)
        var isAfterFold = false
        for byte in lines {
            if byte == .lineFeed {
                isAfterFold = true
            } else if isAfterFold, byte == .space || byte == .tab {
                if version == .v2, keepingBlanks { line.append(byte) }
                isAfterFold = version == .v2
            } else {
                line.append(byte)
                isAfterFold = false
            }
        }
        return line
    }

    /// The text of a value without a declared charset: UTF-8. Before 4.0, windows-1252 is the fallback.
    private func undeclaredText(_ bytes: [UInt8], of property: CardProperty) throws(RecordFault) -> String {
        let text = Charset.utf8.text(of: bytes) ?? (version == .v4 ? nil : Charset.windows1252.text(of: bytes))
        guard let text else { throw property.fault("is not valid UTF-8") }
        return text
    }

    // MARK: Escapes

    /// Resolves the escapes of the version. Version 2.1 has only `\;`.
    private func unescaped(_ text: Substring) -> String {
        guard text.utf8.contains(.backslash) else { return String(text) }
        var result = ""
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "\\", let escaped = rest.first, let plain = plain(escaped) else {
                result.unicodeScalars.append(scalar)
                continue
            }
            rest = rest.dropFirst()
            result.unicodeScalars.append(plain)
        }
        return result
    }

    /// The character that a backslash and `scalar` stand for; `nil` if they are not an escape.
    private func plain(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch scalar {
        case ";": scalar
        case "\\", ",", ":": version == .v2 ? nil : scalar
        case "n", "N": version == .v2 ? nil : "\n"
        default: nil
        }
    }
}

extension String {
    /// Splits at each `separator` that no backslash escapes.
    fileprivate func split(unescaped separator: Unicode.Scalar) -> [Substring] {
        var isEscaped = false
        return unicodeScalars.split(omittingEmptySubsequences: false) { scalar in
            let separates = scalar == separator && !isEscaped
            isEscaped = scalar == "\\" && !isEscaped
            return separates
        }
        .map { Substring($0) }
    }
}

/// The version of a card, as far as it decides how values are decoded.
enum CardVersion {
    /// 2.1, by the versit consortium.
    case v2
    /// 3.0, RFC 2426; also a card without a version.
    case v3
    /// 4.0, RFC 6350, and any later version.
    case v4

    /// Parses the value of `VERSION`, of which only the first digit counts.
    init(_ text: ArraySlice<UInt8>) {
        switch text.trimmed.first {
        case UInt8(ascii: "1"), UInt8(ascii: "2"): self = .v2
        case UInt8(ascii: "3"), nil: self = .v3
        default: self = .v4
        }
    }
}

/// Decodes quoted-printable text (RFC 2045 section 6.7).
enum QuotedPrintable {
    /// Decodes text without soft line breaks.
    ///
    /// An `=` without two hexadecimal digits stands for itself, because some programs encode only bytes outside ASCII.
    fileprivate static func bytes(of text: some Collection<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == .equals, let high = rest.first?.hexadecimalValue,
                let low = rest.dropFirst().first?.hexadecimalValue
            {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    /// Joins each line that ends in a soft line break (`=`) with the next one. White space behind the `=` is dropped: it was
    /// added in transport.
    fileprivate static func joiningSoftBreaks(of text: [UInt8]) -> [UInt8] {
        let lines = text.split(separator: .lineFeed, omittingEmptySubsequences: false)
        var joined: [UInt8] = []
        joined.reserveCapacity(text.count)
        for (index, line) in lines.enumerated() {
            let isBroken = endsInSoftBreak(line)
            joined += isBroken ? line[..<(line.lastIndex(of: .equals) ?? line.endIndex)] : line
            if !isBroken && index < lines.count - 1 { joined.append(.lineFeed) }
        }
        return joined
    }

    /// Whether `line` ends in `=`, so that it continues in the next line.
    static func endsInSoftBreak(_ line: some BidirectionalCollection<UInt8>) -> Bool {
        line.last { $0 != .space && $0 != .tab } == .equals
    }
}
