import AvatarContacts
import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct VCardSampleTests {
    @Test func macOS() async throws {
        let contacts = try await Sample.contacts("apple-macos.vcf")

        #expect(contacts.map(\.id) == ["5c9d2a70-1b3e-4f60-8a51-0e6d7c2b9f14", "77e0b9ce-60d5-4a43-9a55-2d4bb04a7f3e"])
        #expect(contacts.map(\.name) == ["Dr. Ada Maria Sandberg", "Nordlicht Optik GmbH"])
        #expect(contacts[0].emails == ["ada.sandberg@nordlicht.example", "ada@sandberg.example"])
        #expect(contacts[0].images == [.photo(ContactPhoto(bytes: try Sample.jpeg, line: 18))])
        #expect(contacts[1].images == [.photo(ContactPhoto(bytes: try Sample.gif, line: 37))])
    }

    @Test func iCloud() async throws {
        let contacts = try await Sample.contacts("apple-icloud.vcf")

        let url =
            "https://p02-contacts.example.com:443/574745797/wcs/"
            + "0103f1ccdbde6a4ceee3826afccf55b34900b5c5a1"
        let otis = Contact(
            id: "B503F97F-0D4B-4E58-A649-F30287D9DBDC",
            name: "Otis Vance",
            avatarURL: url,
            emails: ["otis@vance.example"]
        )
        #expect(contacts == [otis])
    }

    @Test func addressBookInUTF16() async throws {
        let contacts = try await Sample.contacts("apple-addressbook-utf16.vcf")

        #expect(contacts.map(\.name) == ["Åsa Grön", "Zofia Świerczewska 🦉"])
        #expect(contacts[0].emails == ["asa@gron.example"])
        #expect(contacts.map { $0.images.map(\.bytes) } == [[try Sample.jpeg], []])
    }

    @Test func google() async throws {
        let contacts = try await Sample.contacts("google.vcf")

        #expect(contacts.map(\.name) == ["Priya Raman", "Bo"])
        #expect(contacts[0].emails == ["priya.raman@example.com", "priya@studio.example"])
        #expect(
            contacts.map(\.avatarURL) == [
                "https://lh3.example.com/contacts/ANcnqwGh0000000000000000000000000000000000000000000000", nil,
            ]
        )
    }

    @Test func outlook() async throws {
        let contacts = try await Sample.contacts("outlook.vcf")

        #expect(contacts.map(\.name) == ["Jürgen Köster “JK”"])
        #expect(contacts[0].emails == ["j.koester@moebel-koester.example", "juergen@koester.example"])
        #expect(contacts[0].images.map(\.bytes) == [try Sample.jpeg])
    }

    @Test func android() async throws {
        let contacts = try await Sample.contacts("android.vcf")

        #expect(contacts.map(\.name) == ["Августа Ада Лавлейс", "Mum", "Ngozi Okafor"])
        #expect(contacts.map(\.emails) == [["ada@lovelace.example"], [], []])
        #expect(contacts.map { $0.images.map(\.bytes) } == [[try Sample.jpeg], [], [try Sample.jpeg]])
    }

    @Test func evolution() async throws {
        let contacts = try await Sample.contacts("evolution.vcf")

        #expect(contacts.map(\.id) == (1...3).map { "pas-id-4F54C6D60000000\($0)" })
        #expect(contacts.map(\.name) == ["Signe Lind=", "Team list", "Nils Berg"])
        #expect(contacts[0].images.map(\.bytes) == [try Sample.jpeg])
        #expect(contacts[1].images == [])
        let nils = contacts[2].images
        #expect(nils.map(\.url) == ["https://berg.example/nils.jpg?size=96,96", nil])
        #expect(nils.map(\.bytes) == [nil, try Sample.gif])
    }

    @Test func thunderbird() async throws {
        let contacts = try await Sample.contacts("thunderbird.vcf")

        #expect(contacts.map(\.name) == ["Linh Hoang", "Gino Ferrari"])
        #expect(contacts[0].emails == ["linh@hoang.example", "linh.hoang@work.example"])
        #expect(contacts.map { $0.images.map(\.bytes) } == [[try Sample.jpeg], []])
    }

    @Test func oldThunderbird() async throws {
        let contacts = try await Sample.contacts("thunderbird-old.vcf")

        #expect(contacts.map(\.name) == ["Jörg Bäcker"])
        #expect(contacts.map(\.emails) == [["joerg@baecker.example"]])
    }

    @Test func nokia() async throws {
        let contacts = try await Sample.contacts("nokia.vcf")

        #expect(contacts.map(\.name) == ["Aino Mäkelä", "Väinö Virtanen"])
        #expect(contacts.map { $0.images.map(\.bytes) } == [[try Sample.jpeg], [try Sample.gif]])
    }

    @Test func nextcloud() async throws {
        let contacts = try await Sample.contacts("nextcloud.vcf")

        #expect(contacts[0].id == "urn:uuid:0c9d6a0a-62f3-4a6c-bb5a-0c1f1d2a7f42")
        #expect(contacts.map(\.name) == ["Yuki Tanaka", "Ravi Menon"])
        #expect(contacts[0].emails == ["y.tanaka@work.example", "yuki@tanaka.example"])
        #expect(contacts[0].images.map(\.bytes) == [try Sample.gif, nil])
        #expect(contacts[0].avatarURL == "https://cloud.tanaka.example/avatars/yuki/512.jpg")
        #expect(contacts[1].images.map(\.bytes) == [try Sample.jpeg])
    }

    @Test func logosAreImagesIfIncluded() async throws {
        let contacts = try await Sample.contacts("evolution.vcf", includesLogos: true)

        #expect(contacts[1].images == [.url("https://lind.example/logo.png")])
    }
}
