import AvatarContacts
import AvatarCore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CSVListTests {
    private static let ada = Contact(
        id: "1",
        name: "Ada",
        avatarURL: "https://a.example/p",
        emails: ["ada@a.example"]
    )

    @Test(arguments: [",", ";", "\t"], ["\n", "\r\n", "\r\r\n"])
    func separatorIsDetected(separator: String, lineEnd: String) async throws {
        let rows = [["id", "name", "email", "photo"], ["1", "Ada", "ada@a.example", "https://a.example/p"]]
        let text = rows.map { $0.joined(separator: separator) + lineEnd }.joined()

        #expect(try await ContactList.of(text, as: .csv).contact() == Self.ada)
    }

    @Test(arguments: ["id;name;a,b\n1;x;\n", "\"a,b,c,d\";id;name\n;1;x\n", "sep=;\nid;name,a,b,c\n1;x\n"])
    func separatorIsTheOneOutsideQuotesThatOccursMost(text: String) async throws {
        #expect(try await ContactList.of(text, as: .csv).contact().id == "1")
    }

    @Test func quotedFieldsMayHaveLineBreaksSeparatorsAndDoubledQuotes() async throws {
        let text = "id,name,photo\n\"1\",\"A \"\"B\"\",\r\nC\" , \"https://a.example/p\"\n2,5\" disc,\n"

        let contacts = try await ContactList.of(text, as: .csv).records().map(\.contact)

        #expect(contacts.map(\.?.name) == ["A \"B\",\r\nC", "5\" disc"])
        #expect(contacts.first??.avatarURL == "https://a.example/p")
        #expect(contacts.map(\.?.place?.line) == [2, 4])
    }

    @Test(arguments: [
        "avatarURL", "avatar_url", "avatar", "photo", "picture", "image", "Photo", "AVATAR-URL", "Avatar Url",
        " Image ",
    ])
    func imageColumnIsKnownByName(name: String) async throws {
        let list = ContactList.of("id,\(name)\n1,https://a.example/p\n", as: .csv)

        #expect(try await list.contact().avatarURL == "https://a.example/p")
    }

    @Test(arguments: [
        ("Name,First Name\nAda L,x\n", "Ada L"), ("First Name,Last Name\nAda,L\n", "Ada L"),
        ("Family Name,Given Name,Additional Name\nL,Ada,M\n", "Ada M L"), ("Full Name,Nickname\n,Addi\n", "Addi"),
        ("First Name,Last Name,File As,Company\n,,\"L, Ada\",AE\n", "L, Ada"), ("Display Name\nAda\n", "Ada"),
        ("email,Company\na@a.example,AE\n", "AE"), ("email,name\na@a.example,\n", nil),
    ])
    func nameIsTakenFromItsColumnElseFromItsParts(text: String, name: String?) async throws {
        #expect(try await ContactList.of(text, as: .csv).contact().name == name)
    }

    @Test func addressesAreTakenFromAllTheirColumns() async throws {
        let list = ContactList.of(
            "id,E-mail 1 - Type,E-mail 1 - Value,E-mail Address,E-mail 2 Address,email,E-mail Display Name\n"
                + "1,x@type.example,a@a.example ::: b@a.example,c@a.example,a@a.example,/o=Exchange,x@name.example\n",
            as: .csv
        )

        #expect(try await list.contact().emails == ["a@a.example", "b@a.example", "c@a.example"])
    }

    @Test func columnsMayBeNamed() async throws {
        var list = ContactList.of(
            "Nr,Vorname,Nachname,Mail A,Mail B,photo,Photo URL\n7,Ada,L,a@a.example,b@a.example,x,https://a.example/p\n",
            as: .csv
        )
        list.columns = [
            .id: ["nr"], .name: ["Vorname", "Nachname"], .email: ["Mail B", "Mail A"], .photo: ["Photo URL"],
        ]

        let expected = Contact(
            id: "7",
            name: "Ada L",
            avatarURL: "https://a.example/p",
            emails: ["b@a.example", "a@a.example"]
        )
        #expect(try await list.contact() == expected)
    }

    @Test func shortRowHasEmptyFieldsAndBlankRowsAreSkipped() async throws {
        let list = ContactList.of("\nid,name,photo\n\n1\n,,\n  \n2,Bo\n\"\",,\n3,,\n", as: .csv)

        let contacts = try await list.records().map(\.contact)

        #expect(contacts.map(\.?.id) == ["1", "2", "3"])
        #expect(contacts.map(\.?.name) == [nil, "Bo", nil])
        #expect(contacts.allSatisfy { $0?.images == [] })
        #expect(try list.validate() == 3)
    }

    @Test(arguments: ["id,name\n\n,\n", "id,name\n", "id,name", "\u{FEFF}id\r\n"])
    func listWithoutRowsHasNoRecords(text: String) async throws {
        #expect(try ContactList.of(text, as: .csv).validate() == 0)
        #expect(try await ContactList.of(text, as: .csv).records() == [])
    }

    @Test(arguments: [
        ("mail,Photo URL\n\na@a.example,\n", ["mail", "Photo URL"]), ("nr,photo\n1,\n", ["nr", "photo"]),
        ("nr,photo\n", nil), ("id,mail\n1,\n", nil), ("mail,Company\na@a.example,\n", nil),
    ])
    func columnsOfAListWithoutIdsAndNamesAreKnown(text: String, columns: [String]?) async throws {
        var records = ContactList.of(text, as: .csv).makeAsyncIterator()
        #expect(records.columnsWithoutIdentity == nil)

        while try await records.next() != nil {}

        #expect(records.columnsWithoutIdentity == columns)
    }

    @Test(arguments: [String.Encoding.utf16LittleEndian, .utf16BigEndian])
    func listInUTF16WithItsMarkIsRead(encoding: String.Encoding) async throws {
        let rows = (0..<20_000).map { "\($0)\tÅsa 😀\n" }.joined()
        let bytes = Array(try #require(("\u{FEFF}id\tname\n" + rows).data(using: encoding)))

        let contacts = try await ContactList(bytes: bytes, format: .csv).records().map(\.contact)

        #expect(contacts.count == 20_000)
        #expect(contacts.last??.id == "19999" && contacts.allSatisfy { $0?.name == "Åsa 😀" })
    }

    @Test func formulasAreText() async throws {
        let text = "id,name,photo\n=1+1,@SUM(A1),\"=HYPERLINK(\"\"https://a.example\"\")\"\n"

        let expected = Contact(id: "=1+1", name: "@SUM(A1)", avatarURL: "=HYPERLINK(\"https://a.example\")")
        #expect(try await ContactList.of(text, as: .csv).contact() == expected)
    }

    @Test func recordsOfSeveralChunksAreRead() async throws {
        let rows = (0..<5_000).map { "\($0),\"\(String(repeating: "x,\n", count: $0 % 40))\"\n" }.joined()

        let contacts = try await ContactList.of("id,name\n" + rows, as: .csv).records().map(\.contact)

        #expect(contacts.map(\.?.id) == (0..<5_000).map(String.init))
    }
}
