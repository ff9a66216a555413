import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Testing

/// `SyncOptions.prunes`: contacts who left the list.
@Suite(.timeLimit(.minutes(5)))
struct PruningTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)

    private func withPeople(_ body: (StoreFixture, [Contact]) async throws -> Void) async throws {
        try await StoreFixture.withStore { fixture in
            let people = ["ada", "ben", "carl"].map {
                Contact(id: $0, avatarURL: fixture.serve(face, at: "/\($0).png"))
            }
            let dora = Contact(id: "dora", images: [.photo(ContactPhoto(bytes: face))])
            _ = try await fixture.store.sync(contacts: people + [dora])
            try await body(fixture, people + [dora])
            try fixture.expectConsistent()
        }
    }

    private var pruning: SyncOptions {
        var options = SyncOptions()
        options.prunes = true
        return options
    }

    @Test func contactsThatLeftTheListAreUnlinked() async throws {
        try await withPeople { fixture, people in
            let last = try fixture.store.lastChange()
            let list = records(Array(people.prefix(1)))
            let preview = try await fixture.store.syncPreview(.records(list), options: pruning)

            let report = try await fixture.store.sync(list, options: pruning)

            #expect(preview.unlinked == 3 && report.unlinked == 3 && !report.hasKeptLeavers)
            #expect(try fixture.store.avatar(forContact: "ada") != nil)
            for gone in ["ben", "carl", "dora"] { #expect(try fixture.store.imageKeys(ofContact: gone) == []) }
            let told = try fixture.store.changes(since: last)
            #expect(told.map(\.kind) == [.removed, .removed, .removed])
            #expect(told.flatMap(\.contacts).sorted() == ["ben", "carl", "dora"])
            // An embedded photo is of no use to another contact.
            #expect(fixture.files(in: .documents).isEmpty)
        }
    }

    @Test func withoutPruningNoContactIsUnlinked() async throws {
        try await withPeople { fixture, people in
            let report = try await fixture.store.sync(contacts: Array(people.prefix(1)))

            #expect(report.unlinked == 0)
            #expect(try fixture.store.avatar(forContact: "carl") != nil)
        }
    }

    @Test func noContactIsUnlinkedWhileARecordIsUnreadable() async throws {
        try await withPeople { fixture, people in
            var list = records(Array(people.prefix(1)))
            list.records.append(.unreadable(line: 9, reason: "it is none"))
            let preview = try await fixture.store.syncPreview(.records(list), options: pruning)

            let report = try await fixture.store.sync(list, options: pruning)

            #expect(preview.unlinked == 0 && report.unlinked == 0 && report.unreadable == 1)
            #expect(report.hasKeptLeavers)
            #expect(try fixture.store.avatar(forContact: "carl") != nil)
        }
    }

    @Test func anEmptyListUnlinksNoContact() async throws {
        try await withPeople { fixture, _ in
            let report = try await fixture.store.sync(contacts: [], options: pruning)

            #expect(report.unlinked == 0 && report.hasKeptLeavers)
            #expect(try fixture.store.avatar(forContact: "carl") != nil)
        }
    }

    @Test("contacts in the list without a picture lose theirs, also if no contact in it has one")
    func aListOfContactsWithoutImages() async throws {
        try await withPeople { fixture, _ in
            let list = records([Contact(id: "ada"), Contact(id: "ben")])
            let preview = try await fixture.store.syncPreview(.records(list), options: pruning)

            let report = try await fixture.store.sync(list, options: pruning)

            #expect(report.unlinked == 4 && preview.unlinked == 4 && !report.hasKeptLeavers && !preview.hasKeptLeavers)
            for contact in ["ada", "ben", "carl", "dora"] {
                #expect(try fixture.store.avatar(forContact: contact) == nil)
            }
        }
    }

    @Test func aContactWhoseImageFailsIsStillInTheList() async throws {
        try await withPeople { fixture, people in
            fixture.origin.setResponse(.status(500), for: "/ben.png")
            var options = pruning
            options.policy = .reload

            let report = try await fixture.store.sync(contacts: people, options: options)

            #expect(report.failed == 1 && report.unlinked == 0)
            #expect(try fixture.store.avatar(forContact: "ben") != nil)
        }
    }

    @Test func aSyncWithoutAListHasNothingToPrune() async throws {
        try await withPeople { fixture, _ in
            await #expect { try await fixture.store.sync(options: pruning) } throws: {
                ($0 as? AvatarStoreError)?.code == .invalidConfiguration
            }
        }
    }

    private func records(_ contacts: [Contact]) -> RecordList {
        RecordList(contacts)
    }
}
