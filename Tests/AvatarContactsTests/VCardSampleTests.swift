import AvatarContacts
import AvatarCore
import Testing

struct VCardSampleTests {
    @Test func macOS() async throws {
        let people = try await Sample.people("apple-macos.vcf")

        #expect(people.map(\.id) == ["5c9d2a70-1b3e-4f60-8a51-0e6d7c2b9f14", "77e0b9ce-60d5-4a43-9a55-2d4bb04a7f3e"])
        #expect(people.map(\.name) == ["Dr. Ada Maria Sandberg", "Nordlicht Optik GmbH"])
        #expect(people[0].emails == ["ada.sandberg@nordlicht.example", "ada@sandberg.example"])
        #expect(people[0].images == [.photo(ContactPhoto(bytes: try Sample.jpeg, line: 18))])
        #expect(people[1].images == [.photo(ContactPhoto(bytes: try Sample.gif, line: 37))])
    }

    @Test func iCloud() async throws {
        let people = try await Sample.people("apple-icloud.vcf")

        let url =
            "https://p02-contacts.example.com:443/574745797/wcs/"
            + "0103f1ccdbde6a4ceee3826afccf55b34900b5c5a1"
        let otis = Contact(
            id: "B503F97F-0D4B-4E58-A649-F30287D9DBDC",
            name: "Otis Vance",
            avatarURL: url,
            emails: ["otis@vance.example"]
        )
        #expect(people == [otis])
    }

    @Test func addressBookInUTF16() async throws {
        let people = try await Sample.people("apple-addressbook-utf16.vcf")

        #expect(people.map(\.name) == ["Åsa Grön", "Zofia Świerczewska 🦉"])
        #expect(people[0].emails == ["asa@gron.example"])
        #expect(people.map { $0.images.map(\.bytes) } == [[try Sample.jpeg], []])
    }

    @Test func google() async throws {
        let people = try await Sample.people("google.vcf")

        #expect(people.map(\.name) == ["Priya Raman", "Bo"])
        #expect(people[0].emails == ["priya.raman@example.com", "priya@studio.example"])
        #expect(
            people.map(\.avatarURL) == [
                "https://lh3.example.com/contacts/ANcnqwGh0000000000000000000000000000000000000000000000", nil,
            ]
        )
    }

    @Test func outlook() async throws {
        let people = try await Sample.people("outlook.vcf")

        #expect(people.map(\.name) == ["Jürgen Köster “JK”"])
        #expect(people[0].emails == ["j.koester@moebel-koester.example", "juergen@koester.example"])
        #expect(people[0].images.map(\.bytes) == [try Sample.jpeg])
    }

    @Test func android() async throws {
        let people = try await Sample.people("android.vcf")

        #expect(people.map(\.name) == ["Августа Ада Лавлейс", "Mum", "Ngozi Okafor"])
        #expect(people.map(\.emails) == [["ada@lovelace.example"], [], []])
        #expect(people.map { $0.images.map(\.bytes) } == [[try Sample.jpeg], [], [try Sample.jpeg]])
    }

    @Test func evolution() async throws {
        let people = try await Sample.people("evolution.vcf")

        #expect(people.map(\.id) == (1...3).map { "pas-id-4F54C6D60000000\($0)" })
        #expect(people.map(\.name) == ["Signe Lind=", "Team list", "Nils Berg"])
        #expect(people[0].images.map(\.bytes) == [try Sample.jpeg])
        #expect(people[1].images == [])
        let nils = people[2].images
        #expect(nils.map(\.url) == ["https://berg.example/nils.jpg?size=96,96", nil])
        #expect(nils.map(\.bytes) == [nil, try Sample.gif])
    }

    @Test func thunderbird() async throws {
        let people = try await Sample.people("thunderbird.vcf")

        #expect(people.map(\.name) == ["Linh Hoang", "Gino Ferrari"])
        #expect(people[0].emails == ["linh@hoang.example", "linh.hoang@work.example"])
        #expect(people.map { $0.images.map(\.bytes) } == [[try Sample.jpeg], []])
    }

    @Test func thunderbirdOfOld() async throws {
        let people = try await Sample.people("thunderbird-old.vcf")

        #expect(people.map(\.name) == ["Jörg Bäcker"])
        #expect(people.map(\.emails) == [["joerg@baecker.example"]])
    }

    @Test func nokia() async throws {
        let people = try await Sample.people("nokia.vcf")

        #expect(people.map(\.name) == ["Aino Mäkelä", "Väinö Virtanen"])
        #expect(people.map { $0.images.map(\.bytes) } == [[try Sample.jpeg], [try Sample.gif]])
    }

    @Test func nextcloud() async throws {
        let people = try await Sample.people("nextcloud.vcf")

        #expect(people[0].id == "urn:uuid:0c9d6a0a-62f3-4a6c-bb5a-0c1f1d2a7f42")
        #expect(people.map(\.name) == ["Yuki Tanaka", "Ravi Menon"])
        #expect(people[0].emails == ["y.tanaka@work.example", "yuki@tanaka.example"])
        #expect(people[0].images.map(\.bytes) == [try Sample.gif, nil])
        #expect(people[0].avatarURL == "https://cloud.tanaka.example/avatars/yuki/512.jpg")
        #expect(people[1].images.map(\.bytes) == [try Sample.jpeg])
    }

    @Test func logosCountWhenAskedFor() async throws {
        let people = try await Sample.people("evolution.vcf", includesLogos: true)

        #expect(people[1].images == [.url("https://lind.example/logo.png")])
    }
}
