import AvatarStore
import AvatarStoreTesting
import Testing

/// Photos embedded in contacts.
@Suite(.timeLimit(.minutes(5)))
struct ContactPhotoTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let other = SampleImage.gif(seed: 2)

    private func contact(_ id: String, _ photos: [UInt8]..., url: String? = nil) -> Contact {
        let images = photos.enumerated().map { ContactImage.photo(ContactPhoto(number: $0 + 1, bytes: $1, line: 3)) }
        return Contact(id: id, images: images + (url.map { [.url($0)] } ?? []))
    }

    @Test func aPhotoIsADocumentOfItsContact() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/ada.png")

            let report = try await fixture.store.sync(contacts: [
                contact("ada", face, other, url: url), contact("ben", other),
            ])

            #expect(report.contacts == 2 && report.withoutImage == 0 && report.saved == 3)
            #expect(report.wanted == 1 && report.fetched == 1)
            let image = try #require(try fixture.store.avatar(forContact: "ada"))
            #expect(image.bytes == face && image.storageClass == .documents)
            #expect(image.key == (try AvatarKey(contact: "ada")))
            let images = try fixture.store.imageKeys(ofContact: "ada")
            #expect(images.map(\.rawValue) == ["contact:ada", "contact:ada#2", url])
            #expect(try fixture.store.contacts(using: AvatarKey(contact: "ben")) == ["ben"])
            try fixture.expectConsistent()
        }
    }

    @Test func equalBytesAreNotWrittenAgain_otherOnesAreAChange() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await fixture.store.sync(contacts: [contact("ada", face)])
            let last = try fixture.store.lastChange()
            let files = fixture.files(in: .documents)

            let again = try await fixture.store.sync(contacts: [contact("ada", face)])
            #expect(again.saved == 1)
            #expect(try fixture.store.lastChange() == last)
            #expect(fixture.files(in: .documents) == files)
            _ = try await fixture.store.sync(contacts: [contact("ada", other)])

            #expect(try fixture.store.changes(since: last).map(\.kind) == [.changed])
            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == other)
            #expect(fixture.files(in: .documents).count == 1)
            try fixture.expectConsistent()
        }
    }

    @Test func aURLReplacesAPhoto_onceItsImageArrived() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await fixture.store.sync(contacts: [contact("ada", face), contact("ben", face)])
            fixture.origin.setResponse(.status(503), for: "/ada.png")
            let people = [
                Contact(id: "ada", avatarURL: fixture.origin.url("/ada.png")),
                contact("ben", face, url: fixture.serve(other, at: "/ben.png")),
            ]
            _ = try await fixture.store.sync(contacts: people)
            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == face)
            fixture.serve(other, at: "/ada.png")
            fixture.clock.advance(by: .seconds(3600))

            _ = try await fixture.store.sync(contacts: people)

            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == other)
            #expect(try fixture.store.imageKeys(ofContact: "ada").count == 1)
            // A card may have both.
            #expect(try fixture.store.imageKeys(ofContact: "ben").count == 2)
            try fixture.expectConsistent()
        }
    }

    @Test("a photo replaces a URL, and its origin is not asked any more", arguments: [true, false])
    func aURLGivesWayToAPhoto(prunes: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(other, at: "/ada.png")
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", avatarURL: url)])
            let last = try fixture.store.lastChange()
            var options = SyncOptions()
            options.prunes = prunes

            _ = try await fixture.store.sync(contacts: [contact("ada", face)], options: options)

            #expect(try fixture.store.imageKeys(ofContact: "ada").map(\.rawValue) == ["contact:ada"])
            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == face)
            let told = try fixture.store.changes(since: last)
            #expect(told.map(\.kind) == [.added, .removed] && told.map(\.key.rawValue) == ["contact:ada", url])
            fixture.origin.resetCounts()
            fixture.clock.advance(by: .seconds(30 * 86_400))
            _ = try await fixture.store.sync()
            #expect(fixture.origin.requestCount == 0)
            try fixture.expectConsistent()
        }
    }

    @Test("an unreadable photo replaces nothing", arguments: [true, false])
    func anUnreadablePhotoLeavesTheURL(isListFault: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(other, at: "/ada.png")
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", avatarURL: url)])
            let fault = ContactImage.unreadable(UnreadableContactImage(number: 1, line: 7, reason: "it is none"))
            let broken =
                isListFault ? Contact(id: "ada", images: [fault]) : contact("ada", Array("<html>".utf8))
            var options = SyncOptions()
            options.prunes = true

            _ = try await fixture.store.sync(contacts: [broken], options: options)

            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == other)
        }
    }

    @Test func aPhotoThatIsNotAnImageIsUnreadable_theOldOneStays() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await fixture.store.sync(contacts: [contact("ada", face)])
            let broken = Contact(
                id: "ada",
                images: [.unreadable(UnreadableContactImage(number: 1, line: 7, reason: "`PHOTO` is not base64"))]
            )

            let first = try await fixture.store.sync(contacts: [contact("ada", Array("<html>".utf8))])
            let second = try await fixture.store.sync(contacts: [broken])

            for report in [first, second] {
                #expect(report.unreadable == 1 && report.saved == 0 && report.contacts == 1)
                #expect(report.failures.map(\.kind) == [.notImage])
                #expect(report.failures.map(\.key) == ["contact:ada"])
            }
            #expect(first.failures.first?.message.hasPrefix("Line 3: ") == true)
            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == face)
        }
    }

    @Test func aPhotoThatLeftTheContactIsRemoved() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await fixture.store.sync(contacts: [contact("ada", face, other)])
            let last = try fixture.store.lastChange()

            _ = try await fixture.store.sync(contacts: [contact("ada", face)])

            #expect(try fixture.store.imageKeys(ofContact: "ada").map(\.rawValue) == ["contact:ada"])
            #expect(fixture.files(in: .documents).count == 1)
            let told = try fixture.store.changes(since: last)
            #expect(told.map(\.kind) == [.removed] && told.map(\.key.rawValue) == ["contact:ada#2"])
            try fixture.expectConsistent()
        }
    }
}
