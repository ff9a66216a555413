import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Testing

/// Contacts with several URLs: the next one is used while an earlier one is gone.
@Suite(.timeLimit(.minutes(5)))
struct SeveralURLTests {
    private let face = SampleImage.png(seed: 1, byteCount: 2000)
    private let other = SampleImage.png(seed: 2, byteCount: 2000)

    private func contact(_ id: String, _ fixture: StoreFixture, _ paths: String...) -> Contact {
        Contact(id: id, images: paths.map { .url(fixture.origin.url($0)) })
    }

    @Test func theNextIsUsedWhileTheFirstIsGone_inTheSameSync() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.serve(other, at: "/2.png", cacheControl: "max-age=8640000")
            let list = [contact("ada", fixture, "/1.png", "/2.png", "/3.png")]
            let preview = try await fixture.store.syncPreview(.records(RecordList(list)))

            let first = try await fixture.store.sync(contacts: list)

            #expect(preview.toFetch == 1 && preview.contacts == 1)
            #expect(first.wanted == 1 && first.fetched == 1 && first.failed == 0 && first.requests == 2)
            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == other)
            let last = try fixture.store.lastChange()
            for _ in 0..<5 {
                let again = try await fixture.store.syncPreview(.records(RecordList(list)))
                let report = try await fixture.store.sync(contacts: list)
                #expect(again.fresh == 1 && report.fresh == 1 && report.wanted == 1 && report.requests == 0)
                #expect(again.skipped == 0)
            }
            #expect(try fixture.store.lastChange() == last)
            #expect(fixture.origin.requestCount == 2)
            try fixture.expectConsistent()
        }
    }

    @Test("the first is used again once it is back, by the list or by a sync without one", arguments: [true, false])
    func theFirstComesBack(byList: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            fixture.serve(other, at: "/2.png", cacheControl: "max-age=8640000")
            let list = [contact("ada", fixture, "/1.png", "/2.png")]
            _ = try await fixture.store.sync(contacts: list)
            fixture.clock.advance(by: .seconds(2 * 86_400))
            // Still gone when its check is due.
            let still = try await fixture.store.sync(contacts: list)
            #expect(still.requests == 1 && still.fresh == 1 && still.failed == 0)
            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == other)
            fixture.serve(face, at: "/1.png", cacheControl: "max-age=8640000")
            fixture.clock.advance(by: .seconds(8 * 86_400))

            if byList { _ = try await fixture.store.sync(contacts: list) } else { _ = try await fixture.store.sync() }

            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == face)
            #expect(try fixture.store.imageKeys(ofContact: "ada").map(\.rawValue) == [fixture.origin.url("/1.png")])
            let last = try fixture.store.lastChange()
            let report = try await fixture.store.sync(contacts: list)
            #expect(report.fresh == 1 && report.requests == 0)
            #expect(try fixture.store.lastChange() == last)
            try fixture.expectConsistent()
        }
    }

    @Test func anotherFailureThanGoneDoesNotTryTheNextURL() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.status(500), for: "/1.png")
            fixture.serve(other, at: "/2.png")

            let report = try await fixture.store.sync(contacts: [contact("ada", fixture, "/1.png", "/2.png")])

            #expect(report.failed == 1 && report.wanted == 1)
            #expect(try fixture.store.avatar(forContact: "ada") == nil)
        }
    }

    @Test func whenAllAreGoneTheLastOneIsTheFailure() async throws {
        try await StoreFixture.withStore { fixture in
            let list = [contact("ada", fixture, "/1.png", "/2.png")]

            let report = try await fixture.store.sync(contacts: list)
            let preview = try await fixture.store.syncPreview(.records(RecordList(list)))
            let again = try await fixture.store.sync(contacts: list)

            #expect(report.wanted == 1 && report.failed == 1 && report.requests == 2)
            #expect(report.failures.map(\.key) == [fixture.origin.url("/2.png")])
            #expect(again.wanted == 1 && again.skipped == 1 && preview.skipped == 1 && again.requests == 0)
        }
    }

    @Test("another contact that has only the URL that is gone counts as failed", arguments: [true, false])
    func sharedURLs(plainComesFirst: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            fixture.serve(other, at: "/2.png")
            let ada = contact("ada", fixture, "/1.png", "/2.png")
            let people = [
                ada, contact("ben", fixture, "/1.png"), contact("carl", fixture, "/0.png", "/1.png", "/2.png"),
            ]

            let report = try await fixture.store.sync(contacts: plainComesFirst ? people.reversed() : people)

            #expect(report.wanted == 2 && report.failed == 1 && report.fetched == 1 && report.contacts == 3)
            #expect(report.failures.map(\.key) == [fixture.origin.url("/1.png")])
            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == other)
            #expect(try fixture.store.avatar(forContact: "carl")?.bytes == other)
            #expect(try fixture.store.avatar(forContact: "ben") == nil)
            let last = try fixture.store.lastChange()
            let again = try await fixture.store.sync(contacts: people)
            #expect(again.wanted == 2 && again.fresh == 1 && again.skipped == 1)
            #expect(try fixture.store.lastChange() == last)
            try fixture.expectConsistent()
        }
    }

    @Test func erasingAContactRemovesItsURLsThatAreGone() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.serve(other, at: "/2.png")
            _ = try await fixture.store.sync(contacts: [contact("ada", fixture, "/1.png", "/2.png")])

            _ = try await fixture.store.remove(contact: "ada", erasing: true)

            #expect(try fixture.store.list().items.isEmpty)
        }
    }
}
