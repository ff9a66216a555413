internal import Foundation

/// A charset that values of vCards are written in.
enum Charset: Equatable {
    case utf8
    /// ISO-8859-1 and US-ASCII too: programs that say so write windows-1252, and the bytes in which they differ stand
    /// for no character of a name.
    case windows1252
    /// With a byte order mark, or else big-endian unless it is known to be otherwise.
    case utf16(isBigEndian: Bool)
    /// What Foundation reads.
    case other(String.Encoding)

    /// The charset that is called `name`, in any spelling; `nil` if there is no such charset here.
    init?(_ name: String) {
        let letters = name.utf8.map(\.uppercased).filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }
        guard let charset = Self.names[String(decoding: letters.trimmed, as: UTF8.self)] else { return nil }
        self = charset
    }

    /// The text that `bytes` are in this charset; `nil` if they are none.
    func text(of bytes: [UInt8]) -> String? {
        switch self {
        case .utf8: String(validating: bytes, as: UTF8.self)
        case .windows1252: String(String.UnicodeScalarView(bytes.map(Windows1252.scalar)))
        case .utf16(let isBigEndian): Self.utf16Text(of: bytes, isBigEndian: isBigEndian)
        case .other(let encoding): String(bytes: bytes, encoding: encoding)
        }
    }

    private static func utf16Text(of bytes: [UInt8], isBigEndian: Bool) -> String? {
        var bytes = bytes
        let marked = UTF16Text.dropMark(of: &bytes)
        do {
            let (text, rest) = try UTF16Text.utf8(of: bytes, isBigEndian: marked ?? isBigEndian)
            return rest.isEmpty ? String(decoding: text, as: UTF8.self) : nil
        } catch {
            // That it is no UTF-16 is the answer.
            return nil
        }
    }

    /// Names in upper case, without hyphens and underscores.
    private static let names: [String: Charset] = [
        "UTF8": .utf8, "UNICODE11UTF8": .utf8,
        "USASCII": .windows1252, "ASCII": .windows1252, "ANSIX3.41968": .windows1252,
        "ISO88591": .windows1252, "88591": .windows1252, "LATIN1": .windows1252, "L1": .windows1252,
        "WINDOWS1252": .windows1252, "CP1252": .windows1252, "XCP1252": .windows1252, "1252": .windows1252,
        "UTF16": .utf16(isBigEndian: true), "UTF16BE": .utf16(isBigEndian: true),
        "UTF16LE": .utf16(isBigEndian: false),
        "ISO88592": .other(.isoLatin2), "LATIN2": .other(.isoLatin2),
        "ISO88595": .coreFoundation(0x0205), "ISO88597": .coreFoundation(0x0207),
        "ISO88599": .coreFoundation(0x0209), "LATIN5": .coreFoundation(0x0209),
        "ISO885915": .coreFoundation(0x020F), "LATIN9": .coreFoundation(0x020F),
        "WINDOWS1250": .other(.windowsCP1250), "CP1250": .other(.windowsCP1250),
        "WINDOWS1251": .other(.windowsCP1251), "CP1251": .other(.windowsCP1251),
        "WINDOWS1253": .other(.windowsCP1253), "CP1253": .other(.windowsCP1253),
        "WINDOWS1254": .other(.windowsCP1254), "CP1254": .other(.windowsCP1254),
        "KOI8R": .coreFoundation(0x0A02),
        "SHIFTJIS": .other(.shiftJIS), "SJIS": .other(.shiftJIS), "XSJIS": .other(.shiftJIS),
        "MSKANJI": .other(.shiftJIS), "WINDOWS31J": .other(.shiftJIS), "CP932": .other(.shiftJIS),
        "ISO2022JP": .other(.iso2022JP),
        "GB2312": .coreFoundation(0x0632), "GBK": .coreFoundation(0x0632), "GB18030": .coreFoundation(0x0632),
        "CP936": .coreFoundation(0x0632), "BIG5": .coreFoundation(0x0A03), "EUCKR": .coreFoundation(0x0940),
    ]

    /// An encoding that Foundation has no constant for, by its number in Core Foundation.
    private static func coreFoundation(_ number: UInt) -> Charset {
        .other(String.Encoding(rawValue: 0x8000_0000 | number))
    }
}
