import AvatarMaintenance
import AvatarStoreTesting
import Testing

@testable import AvatarStore

/// Lists with names: a contact stays as long as one of them names it.
@Suite(.timeLimit(.minutes(5)))
struct NamedListTests {
    private static let face = SampleImage.png(seed: 1, byteCount: 500)

    private func sync(
        _ fixture: StoreFixture,
        _ list: String?,
        _ ids: [String],
        prunes: Bool = true,
        all: Bool = false
    ) async throws -> SyncReport {
        try await fixture.store.sync(contacts: contacts(ids, fixture), options: options(list, prunes: prunes, all: all))
    }

    private func options(_ list: String?, prunes: Bool = true, all: Bool = false) -> SyncOptions {
        var options = SyncOptions()
        (options.list, options.prunes, options.prunesAll) = (list, prunes, all)
        return options
    }

    private func contacts(_ ids: [String], _ fixture: StoreFixture) -> [Contact] {
        fixture.origin.setResponse(.image(Self.face, cacheControl: "max-age=3600"), for: "/face.png")
        return ids.map { Contact(id: $0, avatarURL: fixture.origin.url("/face.png")) }
    }

    private func records(_ contacts: [Contact]) -> AsyncStream<ContactRecord> {
        AsyncStream { stream in
            for contact in contacts { stream.yield(.contact(contact)) }
            stream.finish()
        }
    }

    /// The contacts with an image.
    private func linked(_ fixture: StoreFixture) throws -> [String] {
        try fixture.store.index.contacts(after: "", limit: 1000)
    }

    /// A contact of the list with this number.
    private static func contact(_ number: Int) -> ListedContact {
        ListedContact(id: "n\(number)", name: nil, namedBy: 1 << Int64(number))
    }

    private func numbers(_ range: Range<Int>) -> [String] { range.map { "c\($0)" } }

    @Test func pruningByOneListKeepsTheContactsOfAnother() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await sync(fixture, "team 1", ["ada", "ben"])
            _ = try await sync(fixture, "team 2", ["cid", "dan"])

            let report = try await sync(fixture, "team 1", ["ada"])

            #expect(report.unlinked == 1)
            #expect(try linked(fixture) == ["ada", "cid", "dan"])
        }
    }

    @Test func contactStaysAsLongAsOneListNamesIt() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await sync(fixture, "team 1", ["ada", "ben"])
            _ = try await sync(fixture, "team 2", ["ada", "cid"])

            let first = try await sync(fixture, "team 1", ["ben"])
            #expect(first.unlinked == 0)
            #expect(try linked(fixture) == ["ada", "ben", "cid"])

            let second = try await sync(fixture, "team 2", ["cid"])
            #expect(second.unlinked == 1)
            #expect(try linked(fixture) == ["ben", "cid"])
            #expect(try fixture.store.index.listedContacts(after: "", limit: 9) == ["ben", "cid"])
        }
    }

    @Test func contactComesBackWithItsList() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await sync(fixture, "team 1", ["ada", "ben"])
            _ = try await sync(fixture, "team 1", ["ben"])
            _ = try await sync(fixture, "team 1", ["ada", "ben"], prunes: false)
            _ = try await sync(fixture, "team 2", ["cid"])
            #expect(try linked(fixture) == ["ada", "ben", "cid"])
        }
    }

    /// Contacts of lists without a name, and of an older index, are unlinked by any list that prunes, as ever.
    @Test func listWithoutANamePrunesItsLikeOnly() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await sync(fixture, "team 1", ["ada"])
            _ = try await sync(fixture, nil, ["ben", "cid"])
            _ = try await sync(fixture, nil, ["cid"])
            #expect(try linked(fixture) == ["ada", "cid"])

            _ = try await sync(fixture, "team 1", ["ada"])
            #expect(try linked(fixture) == ["ada"])
        }
    }

    @Test func listThatLostMostOfItsContactsUnlinksNone() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await sync(fixture, "team", numbers(0..<43))

            let preview = try await fixture.store.syncPreview(
                .records(records(contacts(numbers(0..<21), fixture))),
                options: options("team")
            )
            let refused = try await sync(fixture, "team", numbers(0..<21))
            #expect(preview.keptLeavers == 22 && preview.unlinked == 0)
            #expect(refused.keptLeavers == 22 && refused.unlinked == 0)
            #expect(try linked(fixture).count == 43)

            let carriedOut = try await sync(fixture, "team", numbers(0..<21), all: true)
            #expect(carriedOut.keptLeavers == 0 && carriedOut.unlinked == 22)
            #expect(try linked(fixture) == numbers(0..<21).sorted())
        }
    }

    @Test(arguments: [(count: 30, stay: 10), (count: 60, stay: 30)])
    func twentyContactsOrHalfOfThemMayLeave(count: Int, stay: Int) async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await sync(fixture, "team", numbers(0..<count))
            let report = try await sync(fixture, "team", numbers(0..<stay))
            #expect(report.keptLeavers == 0 && report.unlinked == count - stay)
        }
    }

    /// The contacts of other lists do not make a list look whole.
    @Test func contactsOfOtherListsDoNotCount() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await sync(fixture, "large", numbers(100..<300))
            _ = try await sync(fixture, "team", numbers(0..<40))
            let report = try await sync(fixture, "team", numbers(0..<1))
            #expect(report.keptLeavers == 39)
        }
    }

    @Test func severalListsAreReadAsOneAndRememberedApart() async throws {
        try await StoreFixture.withStore { fixture in
            var options = options(nil)
            options.lists = ["a.json": "/a.json", "b.json": "/b.json"]
            let records = contacts(["ada", "ben"], fixture).enumerated().map { number, contact in
                var contact = contact
                contact.place = ListPlace(list: number == 0 ? "a.json" : "b.json", line: 1)
                return contact
            }
            _ = try await fixture.store.sync(contacts: records, options: options)

            _ = try await sync(fixture, "/b.json", ["cid"])

            #expect(try linked(fixture) == ["ada", "cid"])
        }
    }

    @Test func listBeyondTheLastNumberIsRefused() async throws {
        try await StoreFixture.withStore { fixture in
            let writer = try fixture.store.parts.requireWritable().writer
            try await writer.write { transaction in
                for number in 0..<61 { _ = try transaction.number(ofList: "list \(number)") }
            }
            for number in [0, 60, 61] { _ = try await sync(fixture, "list \(number)", ["c\(number)"]) }
            #expect(try linked(fixture).count == 3)

            try await writer.write { transaction in
                for number in 1..<60 { try transaction.record(Self.contact(number), sortName: nil) }
            }
            await #expect {
                _ = try await sync(fixture, "one more", ["ada"])
            } throws: {
                ($0 as? AvatarStoreError)?.message.contains("knows 62 lists") == true
            }
            await #expect(throws: AvatarStoreError.self) { _ = try await sync(fixture, "", ["ada"]) }
            #expect(try await fixture.store.forget(list: "list 7") == 1)
            #expect(try await fixture.store.forget(list: "list 7") == nil)
            _ = try await sync(fixture, "one more", ["c60"], prunes: false)
            // A list that names no contact gives its number up.
            _ = try await sync(fixture, "one more", ["c0"])
            _ = try await sync(fixture, "one more", [], prunes: false)
            // The last one has the highest bit, and prunes its own.
            _ = try await sync(fixture, "list 61", ["ada"])
            #expect(try linked(fixture) == ["ada", "c0", "c60"])
        }
    }
}
