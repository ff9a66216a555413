import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Synchronization
import Testing

/// A contact with several records in a list: the last one counts.
@Suite(.timeLimit(.minutes(5)))
struct DuplicateContactTests {
    private let first = SampleImage.png(seed: 1, byteCount: 2000)
    private let second = SampleImage.png(seed: 2, byteCount: 2000)

    private func ada(_ url: String, line: Int) -> Contact {
        var contact = Contact(id: "ada", avatarURL: url)
        contact.place = ListPlace(line: line)
        return contact
    }

    @Test(arguments: 0..<12)
    func theLastRecordWins_whicheverFetchEndsFirst(round: Int) async throws {
        try await StoreFixture.withStore { fixture in
            let lost = fixture.origin.url("/first.png")
            fixture.serve(first, at: "/first.png")
            let isLastSlow = round.isMultiple(of: 2)
            let delay = Duration.milliseconds(isLastSlow ? 50 : 0)
            fixture.origin.setResponse(.image(second, etag: nil).delayed(by: delay), for: "/second.png")
            let list = [ada(lost, line: 1), Contact(id: "ben"), ada(fixture.origin.url("/second.png"), line: 7)]

            let report = try await fixture.store.sync(contacts: list)

            #expect(report.contacts == 2 && report.duplicates == 1 && report.wanted == 1 && report.fetched == 1)
            #expect(report.details.duplicateContacts.map(\.contact) == ["ada"])
            #expect(report.details.duplicateContacts.first?.places == [ListPlace(line: 1), ListPlace(line: 7)])
            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == second)
            #expect(try fixture.store.storedAvatar(for: lost) == nil)
            #expect(fixture.origin.requestCount == 1)
            try fixture.expectConsistent()
        }
    }

    @Test func laterSyncsChangeNothing() async throws {
        try await StoreFixture.withStore { fixture in
            let photo = ContactImage.photo(ContactPhoto(bytes: first))
            let list = [
                ada(fixture.serve(first, at: "/first.png"), line: 1),
                ada(fixture.serve(second, at: "/second.png"), line: 2),
                Contact(id: "ben", images: [photo]),
                Contact(id: "ben", avatarURL: fixture.serve(second, at: "/ben.png")),
                Contact(id: "carl", avatarURL: fixture.origin.url("/first.png")), Contact(id: "carl"),
            ]
            _ = try await fixture.store.sync(contacts: list)
            let last = try fixture.store.lastChange()
            var options = SyncOptions()
            options.prunes = true

            for _ in 0..<5 {
                let preview = try await fixture.store.syncPreview(.records(RecordList(list)), options: options)
                let report = try await fixture.store.sync(contacts: list, options: options)
                #expect(preview.duplicates == 3 && report.duplicates == 3 && report.withoutImage == 1)
            }

            #expect(try fixture.store.changes(since: last).isEmpty)
            #expect(try fixture.store.imageKeys(ofContact: "ben").map(\.rawValue) == [fixture.origin.url("/ben.png")])
            #expect(try fixture.store.imageKeys(ofContact: "carl").isEmpty)
            #expect(fixture.files(in: .documents).isEmpty)
            try fixture.expectConsistent()
        }
    }

    @Test("a list too large to be kept in memory is read twice; one that gives other records then is an error")
    func largeLists() async throws {
        try await StoreFixture.withStore { fixture in
            let photos = (0..<5).map { number in
                ContactPhoto(bytes: SampleImage.png(seed: UInt64(number), byteCount: 4 << 20))
            }
            let contacts = photos.enumerated().map { Contact(id: "\($0 % 4)", images: [.photo($1)]) }

            let report = try await fixture.store.sync(contacts: contacts)

            #expect(report.contacts == 4 && report.saved == 4 && report.duplicates == 1)
            #expect(try fixture.store.avatar(forContact: "0")?.bytes == photos[4].bytes)
            await #expect { try await fixture.store.sync(ShrinkingList(RecordList(contacts))) } throws: {
                ($0 as? AvatarStoreError)?.code == .unreadableList
            }
            try fixture.expectConsistent()
        }
    }

    @Test("two photos of one contact with the same number are two photos")
    func photosWithOneNumber() async throws {
        try await StoreFixture.withStore { fixture in
            let images = [first, second].map { ContactImage.photo(ContactPhoto(number: 0, bytes: $0)) }
            let list = [Contact(id: "ada", images: images)]

            let report = try await fixture.store.sync(contacts: list)
            let last = try fixture.store.lastChange()
            _ = try await fixture.store.sync(contacts: list)

            #expect(report.saved == 2)
            #expect(try fixture.store.imageKeys(ofContact: "ada").map(\.rawValue) == ["contact:ada", "contact:ada#2"])
            #expect(try fixture.store.lastChange() == last)
        }
    }
}

/// Records of which each iteration gives one less.
private struct ShrinkingList: RepeatableRecords, Sendable {
    private let list: RecordList
    private let reads = Counter()

    private final class Counter: Sendable {
        let value = Atomic(0)
    }

    init(_ list: RecordList) {
        self.list = list
    }

    func makeAsyncIterator() -> RecordList.AsyncIterator {
        let count = reads.value.add(1, ordering: .relaxed).oldValue
        return RecordList(records: list.records.dropLast(count)).makeAsyncIterator()
    }
}

/// Records that can be read several times.
struct RecordList: RepeatableRecords, Sendable {
    typealias Element = ContactRecord
    var records: [ContactRecord]

    init(_ contacts: [Contact]) {
        records = contacts.map(ContactRecord.contact)
    }

    init(records: [ContactRecord]) {
        self.records = records
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(rest: records[...])
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: ArraySlice<ContactRecord>

        mutating func next() async throws -> ContactRecord? {
            rest.popFirst()
        }
    }
}
