/// A charset of values in vCards.
enum Charset: Equatable {
    case utf8
    /// windows-1252, used for ISO-8859-1 and US-ASCII too.
    ///
    /// Programs that declare those write windows-1252. The bytes in which they differ are control characters in ISO-8859-1,
    /// which no name has.
    case windows1252
    /// UTF-16. A byte order mark overrides the byte order.
    case utf16(isBigEndian: Bool)
    case iso2022JP
    case single(SingleByteCharset)
    case system(SystemCharset)

    /// Looks up a charset by name, ignoring case, hyphens and underscores. The result is `nil` for an unknown charset, and for one
    /// that this system cannot convert.
    init?(_ name: String) {
        let letters = name.utf8.map(\.uppercased).filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }
        guard let charset = Self.names[String(decoding: letters.trimmed, as: UTF8.self)] else { return nil }
        switch charset {
        case .system(let system) where !system.isKnown: return nil
        case .iso2022JP where !SystemCharset.shiftJIS.isKnown: return nil
        default: self = charset
        }
    }

    /// Converts `bytes` to text; `nil` if they are not valid in this charset.
    func text(of bytes: [UInt8]) -> String? {
        switch self {
        case .utf8: String(validating: bytes, as: UTF8.self)
        case .windows1252: String(String.UnicodeScalarView(bytes.map(Windows1252.scalar)))
        case .utf16(let isBigEndian): Self.utf16Text(of: bytes, isBigEndian: isBigEndian)
        case .iso2022JP: ISO2022JP.text(of: bytes)
        case .single(let charset): charset.text(of: bytes)
        case .system(let charset): charset.text(of: bytes)
        }
    }

    /// Converts UTF-16 with or without a byte order mark; `nil` if it is invalid or ends inside a character.
    private static func utf16Text(of bytes: [UInt8], isBigEndian: Bool) -> String? {
        var bytes = bytes
        let marked = UTF16Text.dropMark(of: &bytes)
        do {
            let (text, rest) = try UTF16Text.utf8(of: bytes, isBigEndian: marked ?? isBigEndian)
            return rest.isEmpty ? String(decoding: text, as: UTF8.self) : nil
        } catch {
            // A conversion error is an answer here, not a failure.
            return nil
        }
    }

    /// The charsets by name, in upper case without hyphens and underscores.
    private static let names: [String: Charset] = [
        "UTF8": .utf8, "UNICODE11UTF8": .utf8,
        "USASCII": .windows1252, "ASCII": .windows1252, "ANSIX3.41968": .windows1252,
        "ISO88591": .windows1252, "88591": .windows1252, "LATIN1": .windows1252, "L1": .windows1252,
        "WINDOWS1252": .windows1252, "CP1252": .windows1252, "XCP1252": .windows1252, "1252": .windows1252,
        "UTF16": .utf16(isBigEndian: true), "UTF16BE": .utf16(isBigEndian: true),
        "UTF16LE": .utf16(isBigEndian: false),
        "ISO88592": .single(.latin2), "LATIN2": .single(.latin2),
        "ISO88595": .single(.latinCyrillic), "ISO88597": .single(.latinGreek),
        "ISO88599": .single(.latin5), "LATIN5": .single(.latin5),
        "ISO885915": .single(.latin9), "LATIN9": .single(.latin9),
        "WINDOWS1250": .single(.windows1250), "CP1250": .single(.windows1250),
        "WINDOWS1251": .single(.windows1251), "CP1251": .single(.windows1251),
        "WINDOWS1253": .single(.windows1253), "CP1253": .single(.windows1253),
        "WINDOWS1254": .single(.windows1254), "CP1254": .single(.windows1254),
        "KOI8R": .single(.koi8r),
        "SHIFTJIS": .system(.shiftJIS), "SJIS": .system(.shiftJIS), "XSJIS": .system(.shiftJIS),
        "MSKANJI": .system(.shiftJIS), "WINDOWS31J": .system(.shiftJIS), "CP932": .system(.shiftJIS),
        "ISO2022JP": .iso2022JP,
        "GB2312": .system(.gb18030), "GBK": .system(.gb18030), "GB18030": .system(.gb18030),
        "CP936": .system(.gb18030), "BIG5": .system(.big5), "EUCKR": .system(.eucKR),
    ]
}

/// windows-1252 as in the WHATWG Encoding Standard, in which every byte is a character.
private enum Windows1252 {
    /// The character of `byte`.
    static func scalar(_ byte: UInt8) -> Unicode.Scalar {
        guard (0x80..<0xA0).contains(byte) else { return Unicode.Scalar(byte) }
        return special[Int(byte) - 0x80]
    }

    /// The characters of the bytes from 0x80 to 0x9F. Five of them are control characters.
    private static let special = Array(
        "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8D}Ž\u{8F}\u{90}‘’“”•–—˜™š›œ\u{9D}žŸ".unicodeScalars
    )
}

/// Passes a list of vCards through, and converts one that is UTF-16 as a whole to UTF-8.
///
/// Each value of a card may declare its own charset, so all other bytes stay as they are until `CardText` decodes them. The
/// address book of old Macs exports whole lists in UTF-16.
struct VCardIntake: ListIntake {
    /// The form of the list, detected in the first chunk.
    private var form = Form.unknown
    /// The first bytes of a UTF-16 character that continues in the next chunk.
    private var kept: [UInt8] = []

    /// The handling of the bytes of a list.
    private enum Form {
        case unknown, bytes
        case utf16(isBigEndian: Bool)
    }

    var holdsPartOfCharacter: Bool {
        if case .utf16 = form { !kept.isEmpty } else { false }
    }

    mutating func text(of bytes: ArraySlice<UInt8>) throws(ListIntakeFault) -> [UInt8] {
        if case .bytes = form { return Array(bytes) }
        var bytes = kept + bytes
        kept = []
        if case .unknown = form { form = try Self.form(of: &bytes) }
        guard case .utf16(let isBigEndian) = form else { return bytes }
        let (text, rest) = try UTF16Text.utf8(of: bytes, isBigEndian: isBigEndian)
        kept = rest
        return text
    }

    /// Detects the form of a list by its first bytes, and drops the byte order mark of UTF-16.
    private static func form(of bytes: inout [UInt8]) throws(ListIntakeFault) -> Form {
        let mark = bytes.prefix(4)
        guard !mark.elementsEqual([0xFF, 0xFE, 0, 0]), !mark.elementsEqual([0, 0, 0xFE, 0xFF]) else {
            throw ListIntakeFault(problem: "the list is UTF-32; save it as UTF-8")
        }
        if let isBigEndian = UTF16Text.dropMark(of: &bytes) { return .utf16(isBigEndian: isBigEndian) }
        switch (bytes.first, bytes.dropFirst().first) {
        case (0, let second?) where second != 0: return .utf16(isBigEndian: true)
        case (let first?, 0) where first != 0: return .utf16(isBigEndian: false)
        default: return .bytes
        }
    }
}

/// Converts UTF-16.
private enum UTF16Text {
    /// Drops the byte order mark at the beginning of `bytes`. Returns whether it is big-endian, or `nil` without a mark.
    static func dropMark(of bytes: inout [UInt8]) -> Bool? {
        let isBigEndian = bytes.starts(with: [0xFE, 0xFF])
        guard isBigEndian || bytes.starts(with: [0xFF, 0xFE]) else { return nil }
        bytes.removeFirst(2)
        return isBigEndian
    }

    /// Converts `bytes` to UTF-8.
    ///
    /// - Returns: The text, and the bytes of an incomplete character at the end.
    /// - Throws: `ListIntakeFault` if a surrogate has no partner.
    static func utf8(
        of bytes: [UInt8],
        isBigEndian: Bool
    ) throws(ListIntakeFault) -> (text: [UInt8], rest: [UInt8]) {
        var units: [UInt16] = []
        units.reserveCapacity(bytes.count / 2)
        for index in stride(from: 0, to: bytes.count - 1, by: 2) {
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            units.append(isBigEndian ? first << 8 | second : second << 8 | first)
        }
        if let last = units.last, UTF16.isLeadSurrogate(last) { units.removeLast() }
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        let isBroken = transcode(
            units.makeIterator(),
            from: UTF16.self,
            to: UTF8.self,
            stoppingOnError: true
        ) { text.append($0) }
        guard !isBroken else {
            throw ListIntakeFault(
                problem: "the text is not valid UTF-16; save the list as UTF-8",
                lineFeedsBefore: text.count { $0 == .lineFeed }
            )
        }
        return (text, Array(bytes[(units.count * 2)...]))
    }
}
