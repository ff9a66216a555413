internal import AvatarCore

/// Makes text of the values of a card.
struct CardText {
    /// The most bytes of a value that is text.
    static let maximumBytes = 65_536
    static let tooLong = "is longer than \(ByteSize.text(maximumBytes))"

    let version: CardVersion

    /// The text of `property`, without blanks around it.
    func text(of property: CardProperty) throws(RecordFault) -> String {
        unescaped(try escapedText(of: property)[...]).trimmed
    }

    /// The parts of a structured value such as a name, without blanks around them.
    func components(of property: CardProperty) throws(RecordFault) -> [String] {
        try escapedText(of: property).split(unescaped: ";").map { unescaped($0).trimmed }
    }

    /// The value of `property` in one line, as bytes in its charset. Base64 stays as it is.
    ///
    /// - Parameter keepingBlanks: whether the blanks stay at which a line of 2.1 is folded.
    func plainBytes(of property: CardProperty, keepingBlanks: Bool = true) -> [UInt8] {
        let isQuoted = property.head.parameters.encoding == .quotedPrintable
        let lines = isQuoted ? QuotedPrintable.joiningSoftBreaks(of: property.value) : property.value
        let line = unfolded(lines, keepingBlanks: keepingBlanks)
        return isQuoted ? QuotedPrintable.bytes(of: line) : line
    }

    /// The text that `bytes` of `property` are in its charset.
    func text(of bytes: [UInt8], in property: CardProperty) throws(RecordFault) -> String {
        guard let name = property.head.parameters.charset else { return try undeclaredText(bytes, of: property) }
        guard let charset = Charset(name) else {
            throw property.fault("is in the charset `\(name.prefix(40))`, which is not known")
        }
        guard let text = charset.text(of: bytes) else { throw property.fault("is not in its charset") }
        return text
    }

    // MARK: From the line to text

    /// The text of `property`, with the escapes of its version still in it.
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

    /// `lines` as one line. In 2.1 a line is folded where there are blanks, which stay; since 3.0 it is folded anywhere,
    /// and one blank is added.
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

    /// The text of a value that does not name its charset: UTF-8, and before 4.0 that of the system it was written on.
    private func undeclaredText(_ bytes: [UInt8], of property: CardProperty) throws(RecordFault) -> String {
        let text = Charset.utf8.text(of: bytes) ?? (version == .v4 ? nil : Charset.windows1252.text(of: bytes))
        guard let text else { throw property.fault("is not UTF-8") }
        return text
    }

    // MARK: Escapes

    /// `text` with its escapes resolved: 2.1 knows `\;` alone.
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

    /// What a backslash and `scalar` stand for; `nil` if both stand for themselves.
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
    /// The parts between each `separator` that no backslash stands in front of.
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

/// The version of a card, as far as its values are written differently.
enum CardVersion {
    /// 2.1, by the versit consortium.
    case v2
    /// 3.0, RFC 2426; also a card that does not say.
    case v3
    /// 4.0, RFC 6350, and whatever may come after it.
    case v4

    /// The version that a card calls `text`.
    init(_ text: ArraySlice<UInt8>) {
        switch text.trimmed.first {
        case UInt8(ascii: "1"), UInt8(ascii: "2"): self = .v2
        case UInt8(ascii: "3"), nil: self = .v3
        default: self = .v4
        }
    }
}

/// Reads quoted-printable text (RFC 2045 section 6.7).
enum QuotedPrintable {
    /// The bytes that `text` stands for, a text without soft breaks. An `=` that begins no byte stands for itself: some
    /// programs encode only what is not ASCII.
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

    /// `text` with the lines joined that end in `=`. Blanks behind the `=` were added on the way here.
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

    /// Whether a line that ends like `line` goes on in the next one.
    static func endsInSoftBreak(_ line: some BidirectionalCollection<UInt8>) -> Bool {
        line.last { $0 != .space && $0 != .tab } == .equals
    }
}
