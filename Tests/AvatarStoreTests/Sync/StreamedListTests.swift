import AvatarMaintenance
import AvatarStoreTesting
import Foundation
import Synchronization
import Testing

@testable import AvatarStore

/// Contact lists that can be read only once.
@Suite(.timeLimit(.minutes(5)))
struct StreamedListTests {
    /// A sequence with one iterator, as a response of a database is.
    private struct Once: AsyncSequence, Sendable {
        typealias Element = ContactRecord
        let records: [ContactRecord]
        private let state = State()

        private final class State: Sendable {
            let isTaken = Atomic(false)
        }

        init(_ records: [ContactRecord]) {
            self.records = records
        }

        func makeAsyncIterator() -> AsyncIterator {
            let isTaken = state.isTaken.exchange(true, ordering: .relaxed)
            return AsyncIterator(rest: isTaken ? [] : records[...], isTaken: isTaken)
        }

        struct AsyncIterator: AsyncIteratorProtocol {
            var rest: ArraySlice<ContactRecord>
            let isTaken: Bool

            mutating func next() async throws -> ContactRecord? {
                #expect(!isTaken, "a second iterator")
                return rest.popFirst()
            }
        }
    }

    /// More than 4 MiB of records, two of which name the contact `0`.
    private func manyContacts(_ fixture: StoreFixture) -> [Contact] {
        let urls = (0..<8).map { fixture.serve(SampleImage.png(seed: $0, byteCount: 3000), at: "/\($0).png") }
        let title = " " + String(repeating: "ofmanywords", count: 85)
        return (0..<5_000).map { number in
            Contact(id: "\(number % 4_999)", name: "Person \(number)\(title)", avatarURL: urls[number % 8])
        }
    }

    @Test func streamIsReadOnce_howeverManyRecordsItHas() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = manyContacts(fixture)

            let report = try await fixture.store.sync(Once(contacts.map(ContactRecord.contact)), total: contacts.count)

            #expect(report.contacts == 4_999 && report.duplicates == 1)
            #expect(report.wanted == 8 && report.fetched == 8)
            #expect(try fixture.store.contact("0")?.name == contacts[4_999].name)
            #expect(try fixture.store.imageKeys(ofContact: "4998").first?.rawValue == contacts[4_998].avatarURL)
            let staging = fixture.store.configuration.layout.staging(of: .caches)
            let staged = FileManager.default.enumerator(atPath: staging)?.allObjects.map { "\($0)" } ?? []
            #expect(!staged.contains { $0.contains("/caches-") }, "\(staged)")
            try fixture.expectConsistent()
        }
    }

    @Test func evictionReadsTheCopyToo() async throws {
        try await StoreFixture.withStore({ $0.budget = 5 * 3100 }) { fixture in
            let contacts = manyContacts(fixture)
            for number in 100..<105 {
                let url = fixture.serve(SampleImage.png(seed: UInt64(number), byteCount: 3000), at: "/old\(number).png")
                _ = try await fixture.store.avatar(for: url)
            }

            let report = try await fixture.store.sync(Once(contacts.map(ContactRecord.contact)))

            #expect(report.evicted > 0 && report.fetched + report.overBudget == 8)
            try fixture.expectConsistent()
        }
    }

    @Test func previewOfAReadOnlyStoreTakesAStream() async throws {
        try await StoreFixture.withStore { fixture in
            var configuration = fixture.store.configuration
            configuration.access = .readOnly
            let contacts = manyContacts(fixture)
            try await AvatarStore.withStore(configuration) { store in
                let preview = try await store.syncPreview(.records(Once(contacts.map(ContactRecord.contact))))
                #expect(preview.duplicates == 1)
            }
        }
    }

    @Test func fullDiskEndsTheSyncBeforeItsFirstRequest() async throws {
        let system = FaultyFileSystem()
        try await StoreFixture.withStore(on: system) { fixture in
            let records = manyContacts(fixture).map(ContactRecord.contact)
            system.fail(.write, with: ENOSPC, times: .max)

            await #expect { try await fixture.store.sync(Once(records)) } throws: {
                ($0 as? AvatarStoreError)?.code == .diskFull
            }

            system.heal()
            #expect(fixture.origin.requestCount == 0)
            try fixture.expectConsistent()
        }
    }

    @Test func copyGivesEqualRecords() throws {
        var contact = Contact(id: "Žofie\n", name: "", emails: ["a@b.example", ""], images: [])
        contact.place = ListPlace(list: "people.json", line: .max, record: -1)
        contact.lowDataURL = "https://a.example/small"
        var photo = ContactPhoto(number: -3, bytes: [UInt8](repeating: 7, count: 600_000), line: 9)
        photo.list = "list"
        var unreadable = UnreadableContactImage(number: nil, line: 2, reason: "no image")
        unreadable.list = "list"
        contact.images = [
            .url("https://a.example/ä"), .photo(photo), .unreadable(unreadable),
            .photo(ContactPhoto(bytes: [])), .unreadable(UnreadableContactImage(number: 2, line: 0, reason: "")),
        ]
        let plain = Contact(id: "")
        let records: [ContactRecord] = [
            .contact(contact), .contact(plain), .unreadable(line: 3, reason: "broken"), .contact(contact),
            .unreadable(line: 3, reason: "", list: "l", record: 4),
        ]
        var spool = try RecordSpool.maker(at: nil)()
        for record in records { try spool.append(record) }
        try spool.flush()

        for _ in 0..<2 {
            var reader = RecordSpool.Reader(spool)
            var found: [ContactRecord] = []
            while let record = try reader.next() { found.append(record) }
            #expect(found == records)
            // `==` ignores the places.
            let places = found.compactMap { if case .contact(let contact) = $0 { contact.place } else { nil } }
            #expect(places == [contact.place, contact.place])
        }
    }
}
