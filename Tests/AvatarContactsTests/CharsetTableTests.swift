import Foundation
import Testing

@testable import AvatarContacts

/// The charsets of vCards, compared with Foundation's.
@Suite(.timeLimit(.minutes(5)))
struct CharsetTableTests {
    @Test(
        arguments: [
            ("ISO-8859-2", .isoLatin2), ("ISO-8859-5", .number(0x0205)), ("ISO-8859-7", .number(0x0207)),
            ("ISO-8859-9", .number(0x0209)), ("ISO-8859-15", .number(0x020F)), ("windows-1250", .windowsCP1250),
            ("windows-1251", .windowsCP1251), ("windows-1253", .windowsCP1253), ("windows-1254", .windowsCP1254),
            ("KOI8-R", .number(0x0A02)),
        ] as [(String, String.Encoding)]
    )
    func eachByteIsThatOfFoundation(name: String, encoding: String.Encoding) throws {
        let charset = try #require(Charset(name))
        for byte in UInt8.min...UInt8.max {
            let text = charset.text(of: [byte, 0x41])
            #expect(text == String(bytes: [byte, 0x41], encoding: encoding), "\(name): \(byte)")
        }
    }

    /// The C library has more characters in some places. Foundation has some for private use.
    @Test(
        arguments: [
            ("Shift_JIS", .shiftJIS), ("GB18030", .number(0x0632)), ("Big5", .number(0x0A03)),
            ("EUC-KR", .number(0x0940)),
        ] as [(String, String.Encoding)]
    )
    func eachPairOfBytesIsThatOfFoundation(name: String, encoding: String.Encoding) throws {
        let charset = try #require(Charset(name))
        for first in UInt8(0x81)...0xFE {
            for second in UInt8(0x40)...0xFE where second != 0x7F && (first, second) != (0xA3, 0xA0) {
                guard let text = String(bytes: [first, second], encoding: encoding), !Self.isPrivate(text)
                else { continue }
                #expect(charset.text(of: [first, second]) == text, "\(name): \(first) \(second)")
            }
        }
    }

    @Test func eachPairOfJapaneseMailIsThatOfFoundation() throws {
        let charset = try #require(Charset("ISO-2022-JP"))
        for first in UInt8(0x21)...0x7E {
            for second in UInt8(0x21)...0x7E {
                let bytes: [UInt8] = [0x1B, 0x24, 0x42, first, second, 0x1B, 0x28, 0x42, 0x41]
                guard let text = String(bytes: bytes, encoding: .iso2022JP), !Self.isPrivate(text) else { continue }
                #expect(charset.text(of: bytes) == text, "\(first) \(second)")
            }
        }
        for mode: [UInt8] in [[0x1B, 0x28, 0x4A], [0x1B, 0x28, 0x49], [0x1B, 0x28, 0x42], []] {
            for byte in UInt8(0x01)...0xFF {
                let text = String(bytes: mode + [byte], encoding: .iso2022JP)
                #expect(charset.text(of: mode + [byte]) == text, "\(mode) \(byte)")
            }
        }
    }

    private static func isPrivate(_ text: String) -> Bool {
        text.unicodeScalars.contains { $0.properties.generalCategory == .privateUse }
    }

    @Test(
        arguments: [
            ("Shift_JIS", [0x8E]), ("Shift_JIS", [0x41, 0xFF]), ("EUC-KR", [0xB1]), ("GB18030", [0x81, 0x30]),
            ("Big5", [0xA4]),
            ("ISO-2022-JP", [0x1B, 0x24, 0x42, 0x3B]), ("ISO-2022-JP", [0x1B, 0x24]), ("ISO-8859-7", [0xAE]),
        ] as [(String, [UInt8])]
    )
    func brokenTextIsNone(name: String, bytes: [UInt8]) throws {
        #expect(try #require(Charset(name)).text(of: bytes) == nil)
    }
}

extension String.Encoding {
    /// An encoding by its number in Core Foundation.
    fileprivate static func number(_ number: UInt) -> String.Encoding {
        String.Encoding(rawValue: 0x8000_0000 | number)
    }
}
