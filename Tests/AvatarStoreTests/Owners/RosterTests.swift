import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// The contacts of a store: their names, their order, and when they go.
@Suite(.timeLimit(.minutes(5)))
struct RosterTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)

    /// A store that has synced a list of five contacts, one without a name and two without an image.
    private func withPeople(_ body: (StoreFixture, [Contact]) async throws -> Void) async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/face.png")
            let people = [
                Contact(id: "4", name: "Zoë Quinn", avatarURL: url), Contact(id: "2", name: "ada Lovelace"),
                Contact(id: "3", name: "Émile Durkheim", avatarURL: url), Contact(id: "B-7", avatarURL: url),
                Contact(id: "1", name: " Ada\tByron \n"),
            ]
            _ = try await fixture.store.sync(contacts: people)
            try await body(fixture, people)
            try fixture.expectConsistent()
        }
    }

    /// The ids of all contacts whose names begin with `text`, read in pages of two.
    private func ids(_ store: AvatarStore, matching text: String = "") throws -> [String] {
        var ids: [String] = []
        var after: String?
        repeat {
            let page = try store.contacts(matching: text, after: after, limit: 2)
            ids += page.contacts.map(\.id)
            after = page.next
        } while after != nil
        return ids
    }

    @Test func contactsAreInTheOrderOfTheirNames() async throws {
        try await withPeople { fixture, _ in
            #expect(try ids(fixture.store) == ["1", "2", "B-7", "3", "4"])
            let page = try fixture.store.contacts(limit: 5)
            #expect(page.contacts.map(\.name) == ["Ada\tByron", "ada Lovelace", nil, "Émile Durkheim", "Zoë Quinn"])
            #expect(page.contacts.map(\.state) == [nil, nil, .stale, .stale, .stale])
            #expect(page.contacts.map(\.hasFile) == [false, false, true, true, true])
            #expect(page.contacts[4].key == (try AvatarKey(url: fixture.origin.url("/face.png"))))
            #expect(page.next == nil)
        }
    }

    @Test(arguments: [
        ("ada", ["1", "2"]), ("ADA L", ["2"]), ("zoe", ["4"]), ("É", ["3"]), ("b-7", ["B-7"]), ("b-", ["B-7", "1"]),
        ("x", []), ("%", []), ("Quinn", ["4"]),
    ])
    func searchIsByTheBeginningsOfWords(text: String, found: [String]) async throws {
        try await withPeople { fixture, _ in
            let ids = try ids(fixture.store, matching: text)
            #expect(ids == found)
        }
    }

    /// Pages of one contact, so that each page passes contacts that the query leaves out.
    @Test(arguments: [
        (nil, true, ["1", "2"]), ("quinn", false, ["4"]), ("A", false, ["1", "2"]), ("love", true, ["2"]),
        ("E", true, ["2"]), ("b-7", false, []), ("%", false, []),
    ])
    func partsOfNamesAndContactsWithoutImages(part: String?, isWithoutImage: Bool, found: [String]) async throws {
        try await withPeople { fixture, _ in
            var after: String?
            var ids: [String] = []
            repeat {
                let page = try fixture.store.contacts(
                    containing: part,
                    isWithoutImage: isWithoutImage,
                    after: after,
                    limit: 1
                )
                ids += page.contacts.map(\.id)
                after = page.next
            } while after != nil
            #expect(ids == found)
        }
    }

    @Test func contactWhoseImageWasEvictedIsWithoutOne() async throws {
        try await withPeople { fixture, _ in
            _ = try await fixture.store.trim(to: 0)
            let page = try fixture.store.contacts(isWithoutImage: true)
            #expect(page.contacts.map(\.id) == ["1", "2", "B-7", "3", "4"])
            #expect(page.contacts.map(\.state) == [nil, nil, .evicted, .evicted, .evicted])
        }
    }

    @Test(arguments: ["", "x", "5", "-1 ", "99 ada", "ada"])
    func placeThatNoPageReturnedIsRefused(after: String) async throws {
        try await withPeople { fixture, _ in
            #expect(throws: AvatarStoreError.self) { try fixture.store.contacts(after: after) }
            #expect(throws: AvatarStoreError.self) { try fixture.store.contacts(limit: 0) }
        }
    }

    @Test func laterListRenamesAndAdds() async throws {
        try await withPeople { fixture, people in
            var later = people
            later[0].name = "Ann Quinn"
            later[2].name = nil

            _ = try await fixture.store.sync(contacts: later + [Contact(id: "5", name: "Ab Initio")])

            #expect(try ids(fixture.store) == ["3", "5", "1", "2", "4", "B-7"])
            #expect(try fixture.store.contact("4")?.name == "Ann Quinn")
            let emile = try #require(try fixture.store.contact("3"))
            #expect(emile.name == nil && emile.hasFile)
            #expect(try ids(fixture.store, matching: "a") == ["5", "1", "2", "4"])
            #expect(try fixture.store.names(ofContacts: ["4", "3", "none"]) == ["4": "Ann Quinn"])
        }
    }

    @Test func contactsThatLeaveAPrunedListGo_andOthersStay() async throws {
        try await withPeople { fixture, people in
            var options = SyncOptions()
            options.prunes = true

            _ = try await fixture.store.sync(contacts: Array(people[1...2]))
            #expect(try ids(fixture.store).count == 5)
            _ = try await fixture.store.sync(contacts: Array(people[1...2]), options: options)

            #expect(try ids(fixture.store) == ["2", "3"])
            #expect(try fixture.find("Quinn") == [] && fixture.find("Byron") == [])
        }
    }

    @Test func erasedContactLeavesNoName() async throws {
        try await withPeople { fixture, _ in
            #expect(try fixture.find("Zoë Quinn") != [] && fixture.find("zoe quinn") != [])

            let receipt = try await fixture.store.remove(contact: "4", erasing: true)
            let other = try await fixture.store.remove(contact: "2", erasing: true)
            let unknown = try await fixture.store.remove(contact: "2")

            #expect(receipt.isErased && !receipt.hasUnknownContact)
            #expect(other.isErased && !other.hasUnknownContact && other.rows == 0)
            #expect(unknown.hasUnknownContact)
            for text in ["Zoë Quinn", "zoe quinn", "Lovelace", "lovelace"] { #expect(try fixture.find(text) == []) }
            #expect(try ids(fixture.store) == ["1", "B-7", "3"])
        }
    }

    @Test func storeThatKeepsNoNamesForgetsThoseItHas() async throws {
        try await withPeople { fixture, people in
            try await fixture.store.set(.keepNames, to: 0)

            #expect(try ids(fixture.store) == ["1", "2", "3", "4", "B-7"])
            #expect(try fixture.store.names(ofContacts: ["1", "2", "3", "4"]) == [:])
            _ = try await fixture.store.sync(contacts: people)
            #expect(try fixture.store.names(ofContacts: ["1", "2", "3", "4"]) == [:])
            try await fixture.store.set(.keepNames, to: 1)
            _ = try await fixture.store.sync(contacts: people)
            #expect(try fixture.store.contact("4")?.name == "Zoë Quinn")
        }
    }

    @Test func linkedContactIsThereAsLongAsItsLink() async throws {
        try await withPeople { fixture, _ in
            let key = try AvatarKey(url: fixture.origin.url("/face.png"))
            try await fixture.store.link([ContactLink(contact: "host's own", key: key)])
            #expect(try fixture.store.contact("host's own")?.key == key)

            try await fixture.store.unlink([
                ContactLink(contact: "host's own", key: key), ContactLink(contact: "4", key: key),
            ])

            #expect(try fixture.store.contact("host's own") == nil)
            let zoe = try #require(try fixture.store.contact("4"))
            #expect(zoe.name == "Zoë Quinn" && zoe.key == nil && zoe.state == nil)
            _ = try await fixture.store.remove([key])
            #expect(try ids(fixture.store).count == 5)
        }
    }

    @Test func bareURLIsAContactOnceItIsLinked_andNoneIfItIsRefused() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/face.png")
            let refused = url.replacing("http://", with: "http://me:secret@")

            _ = try await fixture.store.sync(contacts: [url, refused].map { Contact(id: $0, avatarURL: $0) })

            #expect(try ids(fixture.store) == [url])
            #expect(try fixture.find("secret") == [])
            try fixture.expectConsistent()
        }
    }

    @Test func longNameIsCut_andABlankOneIsNone() async throws {
        try await StoreFixture.withStore { fixture in
            let long = String(repeating: "é", count: 2000)
            _ = try await fixture.store.sync(contacts: [
                Contact(id: "1", name: long), Contact(id: "2", name: " \u{7} "),
            ])

            #expect(try fixture.store.contact("1")?.name == String(repeating: "é", count: 512))
            #expect(try #require(try fixture.store.contact("2")).name == nil)
            try fixture.expectConsistent()
        }
    }
}
