import AvatarStoreTesting
import Testing

@testable import AvatarStore

/// Part of the index cannot be read while a sync runs.
@Suite(.timeLimit(.minutes(5)))
struct UnreadableIndexTests {
    @Test("a failed sync releases its connections")
    func connectionsAreGivenBack() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(SampleImage.png(seed: 1, byteCount: 700), at: "/ada.png", etag: "\"1\"")
            let person = Contact(id: "ada", avatarURL: url)
            _ = try await fixture.store.sync(contacts: [person])
            fixture.clock.advance(by: .seconds(7200))
            // The list is read after the sync has begun.
            let list = ListThatActs(records: [.contact(person)]) {
                try fixture.changeIndex("ALTER TABLE partial_download RENAME TO elsewhere")
            }

            await #expect(throws: AvatarStoreError.self) { try await fixture.store.sync(list) }

            #expect(fixture.store.requests.activeCount == 0)
            try fixture.changeIndex("ALTER TABLE elsewhere RENAME TO partial_download")
            let report = try await fixture.store.sync(contacts: [person])
            #expect(report.notModified == 1)
            try fixture.expectConsistent()
        }
    }
}

/// A contact list that runs a closure before its first record.
private struct ListThatActs: AsyncSequence, Sendable {
    typealias Element = ContactRecord

    let records: [ContactRecord]
    let act: @Sendable () throws -> Void

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(rest: records[...], act: act)
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: ArraySlice<ContactRecord>
        var act: (@Sendable () throws -> Void)?

        mutating func next() async throws -> ContactRecord? {
            try act?()
            act = nil
            return rest.popFirst()
        }
    }
}
