import AvatarContacts
import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CardIdentityTests {
    private static let ada = [
        "FN:Ada Lovelace", "N:Lovelace;Ada;;;", "ORG:AE", "TEL:+44 20 555-0100", "TEL:2", "EMAIL:ada@example.com",
    ]

    private static func id(_ lines: [String], version: String = "3.0") async throws -> String {
        let card = ["BEGIN:VCARD", "VERSION:\(version)"] + lines + ["END:VCARD"]
        return try await ContactList.of(card.joined(separator: "\r\n"), as: .vcard).contact().id
    }

    // Stores identify contacts by this id, so no later version may compute another one.
    @Test func idOfACardWithoutUIDNeverChanges() async throws {
        #expect(try await Self.id(Self.ada) == "card-879bb35159f3390704a219b6e76f3bbf")
    }

    @Test(arguments: [
        ada + ["PHOTO:https://example.com/a", "REV:20240101T000000Z", "NOTE:new", "PRODID:x", "UID:"],
        ada.reversed(),
        ["FN:Ada\r\n  Lovelace", "item1.N:Lovelace;Ada", "ORG:AE;", "TEL;TYPE=CELL:+44(20)5550100", "TEL:tel:2"]
            + ["EMAIL;TYPE=pref:Ada@Example.COM", "EMAIL:ada@example.com", "NICKNAME:"],
        ["FN;ENCODING=QUOTED-PRINTABLE:=41da Lovelace"] + ada.dropFirst(),
    ])
    func idDoesNotDependOnPhotoOrderOrSpelling(lines: [String]) async throws {
        #expect(try await Self.id(lines) == Self.id(Self.ada))
    }

    @Test("cards without UID and with the same identity get different ids, the same ones on each read")
    func namesakes() async throws {
        let card = ["BEGIN:VCARD", "VERSION:3.0"] + Self.ada + ["END:VCARD", ""]
        let other = ["BEGIN:VCARD", "VERSION:3.0", "FN:Ben", "END:VCARD", ""]
        let list = ContactList.of((card + other + card + card).joined(separator: "\r\n"), as: .vcard)

        let ids = try await list.records().map { $0.contact?.id }

        let ada = "card-879bb35159f3390704a219b6e76f3bbf"
        #expect([ids[0], ids[2], ids[3]] == [ada, ada + "-2", ada + "-3"])
        #expect(try await list.records().map { $0.contact?.id } == ids)
    }

    @Test func idIsTheSameInAllVersions() async throws {
        let id = try await Self.id(Self.ada)

        #expect(try await Self.id(Self.ada, version: "2.1") == id)
        #expect(try await Self.id(Self.ada, version: "4.0") == id)
    }

    @Test(arguments: differentCards)
    func cardsWithDifferentIdentitiesHaveDifferentIDs(lines: [String]) async throws {
        let others = Self.differentCards.filter { $0 != lines }

        let id = try await Self.id(lines)

        for other in others { #expect(try await Self.id(other) != id, "\(other)") }
    }

    private static let differentCards = [
        ["FN:Ada Lovelace", "N:Lovelace;Ada;;;"], ["FN:Ada Lovelace", "TEL:1"], ["FN:Ada Lovelace", "TEL:2"],
        ["FN:Ada Lovelace"], ["N:Ada Lovelace"], ["NICKNAME:Ada Lovelace"], ["ORG:Ada Lovelace"], ["FN:ada lovelace"],
        ["FN:Ada Lovelace", "EMAIL:a@example.com"], ["FN:Ada Lovelace", "EMAIL:b@example.com"],
        ["FN:Ada Lovelace", "EMAIL:a@example.com", "EMAIL:b@example.com"], ["EMAIL:a@example.com"],
        ["PHOTO:https://example.com/a"], ["PHOTO:https://example.com/b"], ["PHOTO;ENCODING=b:QQ=="],
    ]

    @Test(arguments: [[], ["NOTE:none"], ["FN:", "PHOTO:"], ["PHOTO;ENCODING=b:!"]])
    func cardWithoutAnyIdentityIsUnreadable(lines: [String]) async throws {
        let card = ["BEGIN:VCARD"] + lines + ["END:VCARD"]

        #expect(
            try await ContactList.of(card.joined(separator: "\n"), as: .vcard).record()
                == .unreadable(
                    line: 1,
                    reason:
                        "the card has no `UID`, and no name, address, phone number or photo to derive an id from; add a `UID`"
                )
        )
    }
}
