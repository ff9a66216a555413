import AvatarContacts
import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CSVSampleTests {
    private static func list(_ name: String) throws -> ContactList {
        ContactList(bytes: try Sample.bytes(name), format: .csv, name: name)
    }

    private static func contacts(_ list: ContactList) async throws -> [Contact] {
        let records = try await list.records()
        #expect(try list.validate() == records.count)
        return try records.map { try #require($0.contact, "\($0)") }
    }

    @Test func google() async throws {
        let contacts = try await Self.contacts(Self.list("google.csv"))

        #expect(contacts.map(\.name) == ["Priya Raman", "Bo", "Møller & Sønner A/S", nil])
        #expect(contacts[0].emails == ["priya.raman@example.com", "priya@studio.example", "raman@studio.example"])
        #expect(
            contacts.map(\.avatarURL) == [
                "https://lh3.example.com/contacts/ANcnqwGh0000000000000000000000000000000000000000000000", nil, nil,
                nil,
            ]
        )
        #expect(contacts.map(\.place?.line) == [2, 6, 7, 8])
        #expect(Set(contacts.map(\.id)).count == 4)
    }

    @Test func oldGoogleInUTF16() async throws {
        let contacts = try await Self.contacts(Self.list("google-old.csv"))

        #expect(contacts.map(\.name) == ["Dr. Chidi Anagonye", "Eleanor Shellstrop"])
        #expect(contacts.map(\.emails) == [["chidi@stjohns.example", "chidi@anagonye.example"], []])
        #expect(contacts.map(\.avatarURL) == ["https://lh4.example.com/photo/chidi", nil])
    }

    @Test func outlook() async throws {
        let contacts = try await Self.contacts(Self.list("outlook.csv"))

        #expect(contacts.map(\.name) == ["Jürgen Köster", "Nordlicht Optik GmbH", "Ann Lee O'Brien"])
        #expect(
            contacts.map(\.emails) == [
                ["j.koester@moebel-koester.example", "juergen@koester.example"], ["info@nordlicht.example"], [],
            ]
        )
    }

    @Test func outlookDesktopWithAImageColumnOfOurOwn() async throws {
        var list = try Self.list("outlook-desktop.csv")
        list.columns = [.photo: ["User 1"], .id: ["Organizational ID Number"]]

        let contacts = try await Self.contacts(list)

        #expect(contacts.map(\.id) == ["7", "8"])
        #expect(contacts.map(\.name) == ["Sana Malik", "Tomás Ruiz"])
        #expect(contacts.map(\.avatarURL) == ["https://intranet.contoso.example/photos/sana.jpg", nil])
        #expect(contacts[1].emails == ["tomas@contoso.example", "t.ruiz@home.example"])
    }

    @Test func thunderbird() async throws {
        let contacts = try await Self.contacts(Self.list("thunderbird.csv"))

        #expect(contacts.map(\.name) == ["Linh Hoang", "Gino Ferrari"])
        #expect(
            contacts.map(\.emails) == [["linh@hoang.example", "linh.hoang@work.example"], ["gino@ferrari.example"]]
        )
    }

    @Test func excelWithSemicolons() async throws {
        let contacts = try await Self.contacts(Self.list("excel-semicolon.csv"))

        #expect(contacts.map(\.id) == ["0042", "0043"])
        #expect(contacts.map(\.name) == ["Sandberg; Ada", "=HYPERLINK(\"https://evil.example\")"])
        #expect(contacts.map(\.avatarURL) == ["https://cdn.example/p/ada.jpg?size=96,96", nil])
    }

    @Test func tabsWithNamedColumns() async throws {
        var list = try Self.list("hr.tsv")
        list.columns = [.id: ["Employee Number"], .photo: ["Photo URL"], .email: ["Mail", "Mail (private)"]]

        let contacts = try await Self.contacts(list)

        #expect(contacts.map(\.id) == ["1001", "1002"])
        #expect(contacts.map(\.emails) == [["asa@gron.example"], ["nils@berg.example", "n@berg.example"]])
        #expect(contacts.map(\.avatarURL) == ["https://hr.example/photos/1001.jpg", nil])
    }
}
