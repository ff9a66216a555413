import AvatarContacts
import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct VCardFoldingTests {
    private static let url = "https://example.com/ada.jpg"

    @Test(arguments: [
        "PHOTO;VALUE=uri:https://example.com/a\r\n da.jpg",
        "PHOTO;VALUE=uri:https://example.com/a\n\tda.jpg",
        "PHOTO;VALUE=uri:https://example.com/a\r da.jpg",
        "PHO\r\n TO;VA\r\n LUE=u\r\n ri\r\n :ht\r\n tps:\r\n //example.com/ada.jpg",
        "PHOTO;VALUE=uri:\r\n https://example.com/ada.jpg",
        "PHOTO;VALUE=uri:https://example.com/ada.jpg\r\n ",
        "PHOTO;VALUE=uri:https://example.com/\r\n \r\n ada.jpg",
    ])
    func foldsOfVersionsThreeAndFour(line: String) async throws {
        #expect(try await ContactList.card(line, version: "3.0").contact().avatarURL == Self.url)
        #expect(try await ContactList.card(line, version: "4.0").contact().avatarURL == Self.url)
    }

    @Test(arguments: [
        ("FN:Ada\r\n Lovelace", "2.1", "Ada Lovelace"), ("FN:Ada\r\n Lovelace", "3.0", "AdaLovelace"),
        ("FN:Ada\r\n  Lovelace", "4.0", "Ada Lovelace"), ("FN:Ada \n\tLovelace", "3.0", "Ada Lovelace"),
        ("FN:Ada\n\tLovelace", "2.1", "Ada\tLovelace"), ("FN:Ada\r\n Love\r\n lace", "3.0", "AdaLovelace"),
        ("FN:Ada Lov\u{E8}\r\n le", "3.0", "Ada Lov\u{E8}le"),
    ])
    func blankAtAFoldStaysInOldCardsOnly(line: String, version: String, name: String) async throws {
        #expect(try await ContactList.card("UID:1", line, version: version).contact().name == name)
    }

    @Test func versionMayComeLast() async throws {
        let list = ContactList.cards("BEGIN:VCARD", "UID:1", "FN:Ada", " Lovelace", "VERSION:2.1", "END:VCARD")

        #expect(try await list.contact().name == "Ada Lovelace")
    }

    @Test func urlInAnOldCardHasNoBlanksWhereItIsFolded() async throws {
        let list = ContactList.card("PHOTO;VALUE=URL:", "   https://example.com/a", "   da.jpg", version: "2.1")

        #expect(try await list.contact().avatarURL == Self.url)
    }

    @Test func foldMayCutACharacter() async throws {
        let letter = Array("é".utf8)
        let line = Array("FN:Andr".utf8) + letter.prefix(1) + Array("\r\n ".utf8) + letter.suffix(1)

        #expect(try await ContactList.card([Array("UID:1".utf8), line], version: "3.0").contact().name == "André")
    }

    @Test(arguments: [
        (["FN;QUOTED-PRINTABLE:J=C3=B6r=", "g"], "Jörg"),
        (["FN;ENCODING=QUOTED-PRINTABLE:J=C3=", "=B6rg"], "Jörg"),
        (["FN;ENCODING=quoted-printable;CHARSET=UTF-8:=4A=c3=b6=72=67"], "Jörg"),
        (["FN;QUOTED-PRINTABLE:J=C3=B6rg= \t", "=", " B=C3=A4cker"], "Jörg Bäcker"),
        (["FN;QUOTED-PRINTABLE:Ada=", "TEL:1"], "AdaTEL:1"),
        (["FN;QUOTED-PRINTABLE:J=C3=B6", " rg"], "Jö rg"),
        (["FN;QUOTED-PRINTABLE:1=3D1 = one, =ZZ"], "1=1 = one, =ZZ"),
        (["FN;QUOTED-PRINTABLE:Ada="], "Ada"),
        (["FN:Ada="], "Ada="),
    ])
    func quotedPrintableWithSoftBreaks(lines: [String], name: String) async throws {
        let card = ["BEGIN:VCARD", "VERSION:2.1", "UID:1"] + lines + ["END:VCARD"]

        #expect(try await ContactList.of(card.joined(separator: "\r\n"), as: .vcard).contact().name == name)
    }

    @Test(arguments: [
        ["PHOTO;ENCODING=BASE64;TYPE=GIF:", "R0lG", "ODdh", "", "UID:1"],
        ["PHOTO;ENCODING=BASE64;TYPE=GIF:", "R0lG", "ODdh", "UID:1"],
        ["PHOTO;ENCODING=BASE64;TYPE=GIF:R0lG", "ODdh", "", "UID:1"],
        ["PHOTO;BASE64:", "  R0lG", "  ODdh", "", "UID:1"],
        ["PHOTO;BASE64=:", "\tR0lG", "\tODdh", "UID:1"],
        ["PHOTO;ENCODING=b:R0", " lGO", "  Ddh", "UID:1"],
        ["PHOTO;ENCODING=B;TYPE=GIF:R0lGODdh", " ", "UID:1"],
        ["item1.PHOTO;GIF;BASE64:R0lG ODdh", "UID:1"], ["PHOTO;GIF;BASE64:R0lG", "ODdh", "UI", " D:1"],
        ["PHOTO;GIF;BASE64:", "R0lG", "ODdh", "  ", "UID:1"],
    ])
    func base64EndsWithAnEmptyLineOrTheNextProperty(lines: [String]) async throws {
        let card = ["BEGIN:VCARD", "VERSION:2.1"] + lines + ["END:VCARD"]

        let contact = try await ContactList.of(card.joined(separator: "\r\n"), as: .vcard).contact()

        #expect(contact == Contact(id: "1", images: [.photo(ContactPhoto(bytes: Array("GIF87a".utf8), line: 3))]))
    }
}
