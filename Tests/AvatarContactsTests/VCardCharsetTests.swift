import AvatarContacts
import AvatarCore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct VCardCharsetTests {
    private static let uid = Array("UID:1".utf8)

    private static func record(
        _ head: String,
        _ value: [UInt8],
        version: String = "2.1"
    ) async throws -> ContactRecord {
        try await ContactList.card([uid, Array("\(head):".utf8) + value], version: version).record()
    }

    @Test(arguments: [
        ("UTF-8", "4A C3 B6 72 67 20 E2 82 AC", "Jörg €"), ("utf8", "C3 B6", "ö"), ("US-ASCII", "41", "A"),
        ("ISO-8859-1", "4A F6 72 67", "Jörg"), ("iso_8859-1", "F6", "ö"), ("LATIN1", "F6", "ö"),
        ("Windows-1252", "80 20 93 41 94 20 9C 8E", "€ “A” œŽ"), ("CP1252", "99", "™"),
        ("UTF-16", "FE FF 00 4A 00 F6 D8 3E DD 89", "Jö🦉"), ("UTF-16", "FF FE 4A 00 F6 00", "Jö"),
        ("UTF-16", "00 4A 00 F6", "Jö"), ("UTF-16LE", "4A 00 F6 00", "Jö"), ("UTF-16BE", "00 4A", "J"),
        ("ISO-8859-2", "B1 E6", "ąć"), ("ISO-8859-15", "A4", "€"), ("windows-1250", "B9", "ą"),
        ("windows-1251", "C0 E4 E0", "Ада"), ("KOI8-R", "E1 C4 C1", "Ада"), ("ISO-8859-7", "E1", "α"),
        ("Shift_JIS", "8E 52 93 63 95 5C", "山田表"), ("ISO-2022-JP", "1B 24 42 3B 33 1B 28 42", "山"),
        ("GB2312", "C0 EE", "李"), ("GB18030", "C0 EE", "李"), ("Big5", "A4 A4", "中"), ("EUC-KR", "B1 E8", "김"),
    ])
    func valueIsReadInItsCharset(charset: String, hex: String, name: String) async throws {
        let bytes = hex.split(separator: " ").compactMap { UInt8($0, radix: 16) }
        let quoted = Array(bytes.map { String(format: "=%02X", $0) }.joined().utf8)
        let base64 = Array(Data(bytes).base64EncodedString().utf8)
        let ada = ContactRecord.contact(Contact(id: "1", name: name))

        #expect(try await Self.record("FN;CHARSET=\(charset);ENCODING=QUOTED-PRINTABLE", quoted) == ada)
        #expect(try await Self.record("FN;CHARSET=\(charset);ENCODING=BASE64", base64) == ada)
        if !bytes.contains(0), !bytes.contains(10) {
            #expect(try await Self.record("FN;CHARSET=\"\(charset)\"", bytes) == ada)
        }
    }

    @Test(arguments: [
        ("CHARSET=X-KLINGON", "is in the unknown charset `X-KLINGON`; use UTF-8"),
        ("CHARSET=UTF-8", "is not valid text in its charset, `UTF-8`"),
        ("CHARSET=UTF-16;ENCODING=QUOTED-PRINTABLE", "is not valid text in its charset, `UTF-16`"),
        ("CHARSET=SHIFT_JIS", "is not valid text in its charset, `SHIFT_JIS`"),
        ("ENCODING=BASE64", "is not base64: it contains byte 0xE9"),
    ])
    func undecodableUIDMakesACardUnreadable_otherPropertiesAreLeftOut(head: String, problem: String) async throws {
        let uid = [Array("UID;\(head):".utf8) + [0xE9]]
        #expect(
            try await ContactList.card(uid).record() == .unreadable(line: 1, reason: "`UID` in line 3 \(problem)")
        )
        for property in ["FN", "N", "NICKNAME", "ORG", "EMAIL", "TEL"] {
            let contact = try await Self.record("\(property);\(head)", [0xE9]).contact
            #expect(contact == Contact(id: "1"), "\(property)")
        }
    }

    @Test("a property with a byte outside its charset is left out of the identity, and the photo stays")
    func unreadableValuesAreLeftOutOfTheIdentity() async throws {
        let photo = Array("PHOTO:https://example.com/a.png".utf8)
        let name = Array("FN:Ada".utf8)
        for property in ["N", "NICKNAME", "ORG", "EMAIL", "TEL"] {
            let broken = Array("\(property);CHARSET=UTF-8:A".utf8) + [0xE9]
            let contact = try await ContactList.card([name, broken, photo]).contact()
            #expect(try await contact == ContactList.card([name, photo]).contact(), "\(property)")
        }
        let nameless = try await ContactList.card([Array("FN;CHARSET=UTF-8:A".utf8) + [0xE9], photo]).contact()
        #expect(nameless.avatarURL == "https://example.com/a.png" && nameless.name == nil)
    }

    @Test func unknownCharsetOfAnUnusedPropertyIsIgnored() async throws {
        let list = ContactList.card(
            "UID:1",
            "FN:Ada",
            "NOTE;CHARSET=X-KLINGON:nuqneH",
            "ORG;CHARSET=X-KLINGON:tlhIngan",
            version: "2.1"
        )

        #expect(try await list.record() == .contact(Contact(id: "1", name: "Ada")))
    }

    @Test(arguments: [("2.1", "Zoë"), ("3.0", "Zoë"), ("4.0", nil)])
    func textWithoutCharsetIsUTF8_orWindows1252BeforeVersionFour(version: String, name: String?) async throws {
        #expect(try await Self.record("FN", Array("Zoë".utf8), version: version).contact?.name == "Zoë")

        let latin = try await Self.record("FN", [0x5A, 0x6F, 0xEB], version: version)

        #expect(latin.contact?.name == name)
        if name == nil { #expect(latin.contact == Contact(id: "1")) }
    }

    @Test(
        arguments: [
            String.Encoding.utf16BigEndian, .utf16LittleEndian,
        ],
        [true, false]
    )
    func listMayBeUTF16AsAWhole(encoding: String.Encoding, hasMark: Bool) async throws {
        let padding = String(repeating: "NOTE:🦉🦉\r\n", count: 8_000)
        let text = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:1\r\n\(padding)FN:Åsa 🦉\r\nEND:VCARD\r\n"
        let bytes = try #require(((hasMark ? "\u{FEFF}" : "") + text).data(using: encoding))

        let list = ContactList(bytes: Array(bytes), format: .vcard)

        #expect(try await list.record() == .contact(Contact(id: "1", name: "Åsa 🦉")))
    }

    @Test func refusesBrokenUTF16AndUTF32() throws {
        let card = "BEGIN:VCARD\nUID:1\nEND:VCARD\n"
        let sixteen = Array(try #require("\u{FEFF}\(card)".data(using: .utf16BigEndian)))
        let thirtyTwo = Array(try #require("\u{FEFF}\(card)".data(using: .utf32LittleEndian)))
        func fault(_ bytes: [UInt8]) throws -> String? {
            try ContactList(bytes: bytes, format: .vcard, name: "people").fault()
        }

        #expect(
            try fault(sixteen + [0x00])
                == "people, line 4: the list is cut short: it ends inside a character."
        )
        #expect(
            try fault(sixteen + [0xDC, 0x00]) == "people, line 4: the text is not valid UTF-16; save the list as UTF-8."
        )
        #expect(
            try fault(sixteen + [0xD8, 0x00, 0x00, 0x41])
                == "people, line 4: the text is not valid UTF-16; save the list as UTF-8."
        )
        #expect(try fault(thirtyTwo) == "people, line 1: the list is UTF-32; save it as UTF-8.")
    }
}
