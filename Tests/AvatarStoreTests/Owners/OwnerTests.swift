import AvatarStore
import AvatarStoreTesting
import Testing

/// Whose picture is it.
struct StoreOwnerTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)

    @Test func aContactHasItsPictureAndAPictureItsContacts() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let url = fixture.serve(face, at: "/logo.png")
            _ = try await store.sync(contacts: ["ben", "ada"].map { Contact(id: $0, avatarURL: url) })

            let key = try AvatarKey(url: url)
            #expect(try store.avatar(forContact: "ada")?.bytes == face)
            #expect(try store.avatar(forContact: "carl") == nil)
            #expect(try store.contacts(using: key) == ["ada", "ben"])
            #expect(try store.images(ofContact: "ada") == [key])
            #expect(try store.contacts(using: AvatarKey(name: "nobody")) == [])
        }
    }

    @Test func theOldPictureStaysUntilTheNewOneHasArrived() async throws {
        try await StoreFixture.withStore { fixture in
            let old = fixture.serve(face, at: "/old.png")
            let new = fixture.origin.url("/new.png")
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", avatarURL: old)])

            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", avatarURL: new)])
            #expect(try fixture.store.avatar(forContact: "ada")?.key.rawValue == old)
            fixture.serve(face, at: "/new.png")
            var options = SyncOptions()
            options.policy = .reload
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", avatarURL: new)], options: options)

            #expect(try fixture.store.avatar(forContact: "ada")?.key.rawValue == new)
            #expect(try fixture.store.contacts(using: AvatarKey(url: old)) == [])
        }
    }

    @Test(arguments: [true, false])
    func linkingAndUnlinking(keepsUnowned: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            if !keepsUnowned { try await store.set(.keepUnowned, to: 0) }
            let key = try await store.save(face, named: "logo")
            let unknown = try AvatarKey(name: "nobody")

            let missing = try await store.link([("ada", key), ("ben", key), ("ada", unknown), ("ada", key)])
            #expect(missing == [unknown])
            #expect(try store.contacts(using: key) == ["ada", "ben"])
            try await store.unlink([("ada", key), ("carl", key), ("ada", unknown)])
            #expect(try store.avatar(forContact: "ben")?.bytes == face)
            try await store.unlink([("ben", key)])

            #expect(try (store.storedAvatar(for: key) != nil) == keepsUnowned)
            await #expect(throws: AvatarStoreError.self) { try await store.link([("", key)]) }
            try fixture.expectConsistent()
        }
    }
}
