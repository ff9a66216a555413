import AvatarCore
import AvatarSQLite
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// The digests of e-mail addresses: who is found by them, and when they go.
@Suite(.timeLimit(.minutes(5)))
struct AddressTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)

    /// Digests as `openssl md5` and `openssl sha256` print them.
    private static let adaMD5 = "5bfcf2d8e394674550332640d72db509"
    private static let adaSHA256 = "cfe00dde46ef942601ffafb9e2825e802858b460e586b8305b344c1eb826357d"
    private static let benMD5 = "1e2892f88e92ea05dcbd2136c294393e"

    /// A store that keeps digests, and has synced Ada, who has an image, and Ben, who has none.
    private func withPeople(_ body: (StoreFixture, [Contact]) async throws -> Void) async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.set(.keepAddresses, to: 1)
            let people = [
                Contact(
                    id: "ada",
                    name: "Ada",
                    avatarURL: fixture.serve(face, at: "/ada.png"),
                    emails: [" Ada@Example.ORG\n", "not an address"]
                ),
                Contact(id: "ben", name: "Ben", emails: ["ben@example.org"]),
            ]
            _ = try await fixture.store.sync(contacts: people)
            try await body(fixture, people)
            try fixture.expectConsistent()
        }
    }

    /// The files that hold the digest.
    private func traces(of digest: String, in fixture: StoreFixture) throws -> [String] {
        try fixture.find(#require(Hexadecimal.bytes(digest))[...])
    }

    @Test func contactIsFoundByEitherDigestOfItsAddress() async throws {
        try await withPeople { fixture, _ in
            let image = try #require(try fixture.store.image(of: "ada"))
            for digest in [Self.adaMD5, Self.adaSHA256, Self.adaMD5.uppercased()] {
                #expect(try fixture.store.image(withAddressDigest: digest)?.sha256 == image.sha256)
            }
            let others = [
                Self.benMD5, "", "xy", String(Self.adaMD5.dropLast(2)), Self.adaMD5 + "00",
                String(repeating: "0", count: 32),
            ]
            for digest in others { #expect(try fixture.store.image(withAddressDigest: digest) == nil, "\(digest)") }
            #expect(try fixture.find("example.org") == [] && fixture.find("Example.ORG") == [])
            #expect(try traces(of: Self.benMD5, in: fixture) != [])
        }
    }

    @Test func storeThatDoesNotKeepThemRecordsNone_andForgetsThoseItHas() async throws {
        try await withPeople { fixture, people in
            try await fixture.store.set(.keepAddresses, to: 0)

            #expect(try !fixture.store.hasAddresses())
            _ = try await fixture.store.sync(contacts: people)
            #expect(try !fixture.store.hasAddresses())
            try await fixture.store.set(.keepAddresses, to: 1)
            _ = try await fixture.store.sync(contacts: people)
            #expect(try fixture.store.image(withAddressDigest: Self.adaMD5) != nil)
            try await fixture.store.set(.keepAddresses, to: nil)
            #expect(try !fixture.store.hasAddresses())
        }
    }

    @Test func moreDigestsThanOneTransactionTakesAreForgotten() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.set(.keepAddresses, to: 1)
            let people = (0..<2100).map { Contact(id: "\($0)", emails: ["\($0)@example.org"]) }
            _ = try await fixture.store.sync(contacts: people)
            #expect(try fixture.store.hasAddresses())

            try await fixture.store.set(.keepAddresses, to: 0)

            #expect(try !fixture.store.hasAddresses())
        }
    }

    @Test func unchangedListWritesNothing_andAChangedAddressIsSeen() async throws {
        try await withPeople { fixture, people in
            func run(_ sql: String) throws {
                try Connection.using(fixture.directory + "/index.sqlite") { try $0.execute(sql) }
            }
            for change in ["INSERT", "DELETE"] {
                try run(
                    "CREATE TRIGGER no_\(change) BEFORE \(change) ON contact_address BEGIN SELECT raise(ABORT, 'written'); END"
                )
            }
            _ = try await fixture.store.sync(contacts: people)
            for change in ["INSERT", "DELETE"] { try run("DROP TRIGGER no_\(change)") }
            var later = people
            later[0].emails = ["lovelace@example.org"]

            _ = try await fixture.store.sync(contacts: later)

            #expect(try fixture.store.image(withAddressDigest: Self.adaMD5) == nil)
            #expect(try traces(of: Self.adaSHA256, in: fixture) == [])
            later[1].avatarURL = later[0].avatarURL
            later[1].emails.append("ada@example.org")
            _ = try await fixture.store.sync(contacts: later)
            for digest in [Self.adaMD5, Self.benMD5] {
                #expect(try fixture.store.image(withAddressDigest: digest) != nil)
            }
        }
    }

    @Test func contactWithAImageStandsForAllWithItsAddress() async throws {
        try await withPeople { fixture, people in
            let family = ["abe", "zoe"].map { Contact(id: $0, emails: ["ada@example.org"]) }

            _ = try await fixture.store.sync(contacts: people + family)

            #expect(try fixture.store.image(withAddressDigest: Self.adaSHA256) != nil)
            _ = try await fixture.store.remove(contact: "ada")
            #expect(try fixture.store.image(withAddressDigest: Self.adaSHA256) == nil)
            #expect(try traces(of: Self.adaSHA256, in: fixture) != [])
        }
    }

    // MARK: When they go

    @Test(arguments: [false, true])
    func removedContactLeavesNoDigest(erasing: Bool) async throws {
        try await withPeople { fixture, _ in
            let ada = try await fixture.store.remove(contact: "ada", erasing: erasing)
            let ben = try await fixture.store.remove(contact: "ben", erasing: erasing)

            #expect(ada.isErased == erasing && ben.isErased == erasing && !ben.hasUnknownContact)
            #expect(try !fixture.store.hasAddresses())
            if erasing {
                for digest in [Self.adaMD5, Self.adaSHA256, Self.benMD5] {
                    #expect(try traces(of: digest, in: fixture) == [], "\(digest)")
                }
            }
        }
    }

    /// Many rows are rearranged in their pages, which leaves copies in unused room.
    @Test func erasedContactOfManyLeavesNoDigest() async throws {
        try await withPeople { fixture, people in
            let crowd = (0..<3000).map { Contact(id: "c\($0)", emails: ["c\($0)@example.org"]) }
            _ = try await fixture.store.sync(contacts: people + crowd)

            for contact in ["ben", "ada"] {
                #expect(try await fixture.store.remove(contact: contact, erasing: true).isErased)
            }

            for digest in [Self.adaMD5, Self.adaSHA256, Self.benMD5] {
                #expect(try traces(of: digest, in: fixture) == [], "\(digest)")
            }
        }
    }

    @Test func contactThatLeavesAPrunedListTakesItsDigestsAlong() async throws {
        try await withPeople { fixture, people in
            var options = SyncOptions()
            options.prunes = true

            _ = try await fixture.store.sync(contacts: [people[1]])
            #expect(try fixture.store.image(withAddressDigest: Self.adaMD5) != nil)
            _ = try await fixture.store.sync(contacts: [people[1]], options: options)

            #expect(try fixture.store.contact("ada") == nil)
            #expect(try traces(of: Self.adaMD5, in: fixture) == [])
            #expect(try traces(of: Self.benMD5, in: fixture) != [])
        }
    }

    @Test func contactThatTheHostProgramLinksLosesItsDigestsWithTheList() async throws {
        try await withPeople { fixture, people in
            let key = try await fixture.store.save(face, named: "ben")
            try await fixture.store.link([ContactLink(contact: "ben", key: key)])
            #expect(try fixture.store.image(withAddressDigest: Self.benMD5) != nil)
            var options = SyncOptions()
            options.prunes = true

            _ = try await fixture.store.sync(contacts: [people[0]], options: options)

            #expect(try fixture.store.image(withAddressDigest: Self.benMD5) == nil)
            #expect(try traces(of: Self.benMD5, in: fixture) == [])
        }
    }

    @Test func contactRemovedDuringABackupIsNotInIt() async throws {
        try await withPeople { fixture, _ in
            try await BackupPlace.with { place in
                let other = try await fixture.openAgain()
                _ = try await fixture.store.backup(
                    to: place.backup,
                    fileSystem: MeddlingFileSystem.once { _ = try await other.remove(contact: "ada") }
                )
                try await other.close()

                let copy = try await AvatarStore.open(directory: place.backup)
                #expect(try copy.contact("ada") == nil && copy.contact("ben") != nil)
                #expect(try copy.image(withAddressDigest: Self.adaMD5) == nil)
                #expect(try copy.hasAddresses())
                try await copy.close()
                let index = try Data(contentsOf: URL(filePath: place.backup + "/index.sqlite"))
                #expect(try index.range(of: Data(#require(Hexadecimal.bytes(Self.adaSHA256)))) == nil)
                #expect(try index.range(of: Data(#require(Hexadecimal.bytes(Self.benMD5)))) != nil)
            }
        }
    }
}
