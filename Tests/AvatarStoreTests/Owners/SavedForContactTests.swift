import AvatarCore
import AvatarStore
import AvatarStoreTesting
import Testing

/// Images that the caller saves for contacts.
@Suite(.timeLimit(.minutes(5)))
struct SavedForContactTests {
    private let face = SampleImage.png(seed: 1, byteCount: 900)
    private let embedded = SampleImage.png(seed: 2, byteCount: 900)
    private let fetched = SampleImage.png(seed: 3, byteCount: 900)

    @Test func savedImageComesBeforeAllOthers() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.image(fetched, cacheControl: "max-age=3600"), for: "/ada.png")
            var ada = Contact(id: "ada", avatarURL: fixture.origin.url("/ada.png"))
            ada.images.append(.photo(ContactPhoto(bytes: embedded)))

            let key = try await fixture.store.save(face, forContact: "ada")
            _ = try await fixture.store.sync(contacts: [ada])

            #expect(try key == AvatarKey(savedForContact: "ada"))
            #expect("\(key)" == "name:contact/ada")
            let keys = try fixture.store.imageKeys(ofContact: "ada")
            #expect(keys.map(\.rawValue) == ["name:contact/ada", "contact:ada", fixture.origin.url("/ada.png")])
            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == face)
            #expect(try fixture.store.contact("ada")?.key == key)
            #expect(try fixture.store.image(of: "ada")?.key == key)
            try fixture.expectConsistent()
        }
    }

    /// The contact leaves the list, stays in it without an image, or has another image there.
    @Test(arguments: [[], ["ada"], ["ada", "/new.png"]])
    func noSyncTakesItAway(listed: [String]) async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.image(fetched, cacheControl: "max-age=3600"), for: "/ada.png")
            fixture.origin.setResponse(.image(fetched, cacheControl: "max-age=3600"), for: "/new.png")
            let ben = Contact(id: "ben", avatarURL: fixture.origin.url("/ada.png"))
            let ada = Contact(id: "ada", avatarURL: fixture.origin.url("/ada.png"))
            var options = SyncOptions()
            (options.prunes, options.prunesAll) = (true, true)
            _ = try await fixture.store.sync(contacts: [ada, ben], options: options)
            let key = try await fixture.store.save(face, forContact: "ada")

            let left = listed.first.map {
                Contact(id: $0, avatarURL: listed.dropFirst().first.map { fixture.origin.url($0) })
            }
            let list = [left, ben].compactMap(\.self)
            let report = try await fixture.store.sync(contacts: list, options: options)
            let again = try await fixture.store.sync(contacts: list, options: options)

            #expect(report.unlinked == (listed.count < 2 ? 1 : 0) && again.unlinked == 0)
            #expect(try fixture.store.imageKeys(ofContact: "ada").first == key)
            #expect(try fixture.store.imageKeys(ofContact: "ada").count == max(1, listed.count))
            #expect(try fixture.store.contact("ada")?.key == key)
            try fixture.expectConsistent()
        }
    }

    @Test func noServiceIsAskedForAContactWithAnImageOfItsOwn() async throws {
        try await StoreFixture.withStore { fixture in
            var options = SyncOptions()
            options.emailSources = [try EmailSource(baseURL: fixture.origin.url("/avatars/"))]
            let ada = Contact(id: "ada", emails: ["ada@example.org"])
            try await fixture.store.save(face, forContact: "ada")

            let report = try await fixture.store.sync(contacts: [ada], options: options)
            #expect(report.contacts == 1 && report.withoutImage == 1 && report.requests == 0)
            #expect(fixture.origin.requestCount == 0)

            _ = try await fixture.store.remove(AvatarKey(savedForContact: "ada"))
            _ = try await fixture.store.sync(contacts: [ada], options: options)
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func manyAreSavedAtOnce() async throws {
        try await StoreFixture.withStore { fixture in
            let images = [
                OwnImage(forContact: "ada", bytes: face), OwnImage(named: "logo", bytes: face),
                OwnImage(forContact: "", bytes: face),
            ]
            let results = try await fixture.store.save(images)
            #expect(try results[0].get().rawValue == "name:contact/ada" && results[1].get().rawValue == "name:logo")
            #expect(throws: AvatarStoreError.self) { try results[2].get() }
            #expect(try fixture.store.contacts(using: AvatarKey(savedForContact: "ada")) == ["ada"])
            #expect(try fixture.store.changes().map(\.contacts) == [["ada"], []])
        }
    }

    @Test func removalOfTheContactRemovesIt() async throws {
        try await StoreFixture.withStore { fixture in
            let key = try await fixture.store.save(face, forContact: "ada")
            let receipt = try await fixture.store.remove(contact: "ada", erasing: true)
            #expect(receipt.isErased && receipt.rows == 1 && receipt.files == 1)
            #expect(try fixture.store.imageKeys(ofContact: "ada").isEmpty)
            await #expect(throws: AvatarStoreError.self) { try await fixture.store.avatar(for: key) }
            try fixture.expectConsistent()
        }
    }
}
