#if canImport(FoundationEssentials)
import AvatarFoundation
import Glibc
#else
import Foundation
#endif

/// A charset with several bytes for a character, which the C library converts; on Apple platforms Foundation does.
enum SystemCharset: String {
    /// Shift_JIS with the characters of Windows.
    case shiftJIS = "CP932"
    case gb18030 = "GB18030"
    case big5 = "BIG5"
    case eucKR = "EUC-KR"

    /// Whether this system has the tables of the charset. Small installations of glibc leave some out.
    var isKnown: Bool {
        #if canImport(FoundationEssentials)
        converter.isOpen
        #else
        true
        #endif
    }

    /// Converts `bytes` to text; `nil` if they are not valid in this charset.
    func text(of bytes: [UInt8]) -> String? {
        #if canImport(FoundationEssentials)
        converter.utf8(of: bytes).flatMap { String(validating: $0, as: UTF8.self) }
        #else
        String(bytes: bytes, encoding: encoding)
        #endif
    }

    #if canImport(FoundationEssentials)
    private var converter: Converter {
        switch self {
        case .shiftJIS: Self.shiftJISConverter
        case .gb18030: Self.gb18030Converter
        case .big5: Self.big5Converter
        case .eucKR: Self.eucKRConverter
        }
    }

    // Opening one takes as long as hundreds of conversions.
    private static let shiftJISConverter = Converter(.shiftJIS)
    private static let gb18030Converter = Converter(.gb18030)
    private static let big5Converter = Converter(.big5)
    private static let eucKRConverter = Converter(.eucKR)
    #else
    private var encoding: String.Encoding {
        switch self {
        case .shiftJIS: .shiftJIS
        case .gb18030: String.Encoding(rawValue: 0x8000_0632)
        case .big5: String.Encoding(rawValue: 0x8000_0A03)
        case .eucKR: String.Encoding(rawValue: 0x8000_0940)
        }
    }
    #endif
}

#if canImport(FoundationEssentials)
/// A converter of the C library to UTF-8. It has a state, so one thread uses it at a time.
private final class Converter: Sendable {
    /// The address of the open converter; `nil` if the system has none for the charset.
    private let descriptor: Locked<UInt?>
    let isOpen: Bool

    init(_ charset: SystemCharset) {
        // The failure is an address too, of no memory.
        let opened = UInt(bitPattern: iconv_open("UTF-8", charset.rawValue))
        isOpen = opened != .max
        descriptor = Locked(isOpen ? opened : nil)
    }

    deinit {
        descriptor.withLock { if let open = $0.flatMap(iconv_t.init(bitPattern:)) { iconv_close(open) } }
    }

    /// Converts `bytes`; `nil` if they are not valid, or end inside a character.
    func utf8(of bytes: [UInt8]) -> [UInt8]? {
        descriptor.withLock { descriptor in
            guard let converter = descriptor.flatMap(iconv_t.init(bitPattern:)) else { return nil }
            iconv(converter, nil, nil, nil, nil)
            var input = bytes.map(CChar.init(bitPattern:))
            // No character of two bytes takes more than four in UTF-8.
            var output = [CChar](repeating: 0, count: 4 * bytes.count + 16)
            var (inputLeft, outputLeft) = (input.count, output.count)
            let isValid = input.withUnsafeMutableBufferPointer { input in
                output.withUnsafeMutableBufferPointer { output in
                    var (source, target) = (input.baseAddress, output.baseAddress)
                    // The failure is the largest number without a sign, which Swift takes for -1.
                    return iconv(converter, &source, &inputLeft, &target, &outputLeft) != -1
                        && iconv(converter, nil, nil, &target, &outputLeft) != -1
                }
            }
            return isValid ? output.dropLast(outputLeft).map(UInt8.init(bitPattern:)) : nil
        }
    }
}
#endif

/// ISO-2022-JP, in which escape sequences switch between charsets of seven bits.
///
/// Its tables in the C library have other signs and fewer than those of Windows, which the programs that write it use. So its
/// characters are converted as Shift_JIS.
enum ISO2022JP {
    private enum Mode {
        case ascii, roman, katakana, kanji
    }

    private static let escape: UInt8 = 0x1B

    /// Converts `bytes` to text; `nil` if they are not valid, or end inside a character.
    static func text(of bytes: [UInt8]) -> String? {
        var text = String.UnicodeScalarView()
        var mode = Mode.ascii
        var rest = bytes[...]
        while let byte = rest.first {
            if byte == escape {
                guard let next = Self.mode(rest.dropFirst().prefix(2)) else { return nil }
                mode = next
                rest = rest.dropFirst(3)
            } else if mode == .kanji, byte >= 0x20 {
                let run = rest.prefix { $0 >= 0x20 }
                guard let kanji = Self.kanji(run) else { return nil }
                text.append(contentsOf: kanji.unicodeScalars)
                rest = rest[run.endIndex...]
            } else {
                guard let scalar = Self.scalar(byte, mode) else { return nil }
                text.append(scalar)
                rest = rest.dropFirst()
            }
        }
        return String(text)
    }

    /// The mode that an escape sequence begins.
    private static func mode(_ sequence: ArraySlice<UInt8>) -> Mode? {
        switch String(decoding: sequence, as: UTF8.self) {
        case "(B": .ascii
        case "(J": .roman
        case "(I": .katakana
        case "$@", "$B": .kanji
        default: nil
        }
    }

    private static func scalar(_ byte: UInt8, _ mode: Mode) -> Unicode.Scalar? {
        switch (mode, byte) {
        case (_, 0x80...), (_, 0x0E), (_, 0x0F): nil
        case (_, 0x0A), (_, 0x0D): Unicode.Scalar(byte)
        case (.roman, 0x5C): "¥"
        case (.roman, 0x7E): "‾"
        case (.katakana, 0x21...0x5F): Unicode.Scalar(0xFF40 + UInt32(byte))
        case (.katakana, _), (.kanji, _): nil
        default: Unicode.Scalar(byte)
        }
    }

    /// The text of pairs of bytes; `nil` for half a pair or a pair without a character.
    private static func kanji(_ pairs: ArraySlice<UInt8>) -> String? {
        guard pairs.count.isMultiple(of: 2), pairs.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        var shiftJIS: [UInt8] = []
        for place in stride(from: pairs.startIndex, to: pairs.endIndex, by: 2) {
            let (row, column) = (pairs[place], pairs[place + 1])
            let lead = (row - 0x21) / 2
            shiftJIS.append(lead + (lead < 31 ? 0x81 : 0xC1))
            let isOdd = !row.isMultiple(of: 2)
            shiftJIS.append(isOdd ? column + (column < 0x60 ? 0x1F : 0x20) : column + 0x7E)
        }
        return SystemCharset.shiftJIS.text(of: shiftJIS)
    }
}
