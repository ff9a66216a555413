import AvatarStore
import AvatarStoreTesting
import Testing

/// The links between contacts and images.
@Suite(.timeLimit(.minutes(5)))
struct StoreOwnerTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)

    @Test func contactsAndImagesAreLinkedBothWays() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let url = fixture.serve(face, at: "/logo.png")
            _ = try await store.sync(contacts: ["ben", "ada"].map { Contact(id: $0, avatarURL: url) })

            let key = try AvatarKey(url: url)
            #expect(try store.avatar(forContact: "ada")?.bytes == face)
            #expect(try store.avatar(forContact: "carl") == nil)
            #expect(try store.contacts(using: key) == ["ada", "ben"])
            #expect(try store.imageKeys(ofContact: "ada") == [key])
            #expect(try store.contacts(using: AvatarKey(name: "nobody")) == [])
        }
    }

    @Test func theImagesOfAContactAreFiles() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let url = fixture.serve(face, at: "/ada.png")
            _ = try await store.sync(contacts: [Contact(id: "ada", avatarURL: url)])

            let image = try #require(try store.images(ofContact: "ada").first)
            #expect(image.sizeBytes == face.count && image.mediaType == "image/png")
            #expect(image.localFile == (try store.localFile(for: image.key)))

            try await store.trim(to: 0)
            #expect(try store.images(ofContact: "ada").isEmpty)
            #expect(try store.imageKeys(ofContact: "ada") == [image.key])
        }
    }

    @Test func theOldImageStaysUntilTheNewOneHasArrived() async throws {
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

    @Test("images that had lost their contacts before go with the next sync")
    func unusedImagesGoOnceTheyAreNotKept() async throws {
        try await StoreFixture.withStore { fixture in
            let (store, logo) = (fixture.store, SampleImage.png(seed: 2, byteCount: 900))
            let (old, new) = (fixture.serve(face, at: "/old.png"), fixture.serve(logo, at: "/new.png"))
            for url in [old, new] { _ = try await store.sync(contacts: [Contact(id: "ada", avatarURL: url)]) }
            let kept = try await store.sync(contacts: [Contact(id: "ada", avatarURL: new)])
            #expect(kept.removed == 0)
            #expect(try store.storedAvatar(for: old) != nil)

            try await store.set(.keepUnlinked, to: 0)
            let report = try await store.sync(contacts: [Contact(id: "ada", avatarURL: new)])

            #expect(report.removed == 1)
            #expect(try store.storedAvatar(for: old) == nil)
            #expect(try store.storedAvatar(for: new) != nil)
            try fixture.expectConsistent()
        }
    }

    enum Arrival: CaseIterable, Sendable { case read, syncOfAll, own }

    @Test("the new picture arrives later, not by a sync of the list", arguments: Arrival.allCases)
    func theOldImageGoesWithTheArrivalOfTheNewOne(_ arrival: Arrival) async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            try await store.set(.keepUnlinked, to: 0)
            let (old, logo) = (fixture.serve(face, at: "/old.png"), SampleImage.png(seed: 2, byteCount: 900))
            let new = fixture.origin.url("/new.png")
            _ = try await store.sync(contacts: [Contact(id: "ada", avatarURL: old), Contact(id: "ben", avatarURL: old)])
            let own = try await store.save(logo, named: "logo")
            try await store.link([ContactLink(contact: "ada", key: own)])
            _ = try await store.sync(contacts: [Contact(id: "ada", avatarURL: new), Contact(id: "ben", avatarURL: new)])
            #expect(try store.contacts(using: AvatarKey(url: old)) == ["ada", "ben"])

            fixture.serve(SampleImage.png(seed: 3, byteCount: 2_000), at: "/new.png")
            fixture.clock.advance(by: .seconds(86_400 * 30))
            switch arrival {
            case .read: _ = try await store.avatar(for: new)
            case .syncOfAll: _ = try await store.sync()
            case .own: try await store.link([ContactLink(contact: "carl", key: AvatarKey(url: new))])
            }

            let isThere = arrival != .own
            #expect(try store.contacts(using: AvatarKey(url: old)) == (isThere ? [] : ["ada", "ben"]))
            #expect(try (store.storedAvatar(for: old) == nil) == isThere)
            let owners = isThere ? ["ada", "ben"] : ["ada", "ben", "carl"]
            #expect(try store.contacts(using: AvatarKey(url: new)) == owners)
            #expect(try store.contacts(using: own) == ["ada"])
            try fixture.expectConsistent()
        }
    }

    @Test("a URL that changed twice before an image arrived leaves no link to the former", arguments: [true, false])
    func onlyTheLastURLIsWaitedFor(hasOld: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let old = fixture.serve(face, at: "/old.png")
            if hasOld { _ = try await store.sync(contacts: [Contact(id: "ada", avatarURL: old)]) }
            let urls = ["/second.png", "/third.png"].map { fixture.origin.url($0) }
            for url in urls { _ = try await store.sync(contacts: [Contact(id: "ada", avatarURL: url)]) }
            for path in ["/second.png", "/third.png"] { fixture.serve(face, at: path) }

            var images: [Set<String>] = []
            for url in urls {
                fixture.clock.advance(by: .seconds(86_400 * 30))
                _ = try await store.avatar(for: url)
                images.append(Set(try store.imageKeys(ofContact: "ada").map(\.rawValue)))
            }

            #expect(images == [Set(hasOld ? [old, urls[1]] : [urls[1]]), [urls[1]]])
            try fixture.expectConsistent()
        }
    }

    @Test func refetchingAnEvictedImageUnlinksNothing() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let urls = [fixture.serve(face, at: "/a.png"), fixture.serve(face, at: "/b.png")]
            for url in urls { _ = try await store.avatar(for: url) }
            let keys = try urls.map { try AvatarKey(url: $0) }
            try await store.link(keys.map { ContactLink(contact: "ada", key: $0) })
            try await store.trim(to: 0)

            for url in urls { _ = try await store.avatar(for: url) }

            #expect(try Set(store.imageKeys(ofContact: "ada")) == Set(keys))
            try fixture.expectConsistent()
        }
    }

    @Test(arguments: [true, false])
    func linkingAndUnlinking(keepsUnowned: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            if !keepsUnowned { try await store.set(.keepUnlinked, to: 0) }
            let key = try await store.save(face, named: "logo")
            let unknown = try AvatarKey(name: "nobody")

            let missing = try await store.link([
                ContactLink(contact: "ada", key: key), ContactLink(contact: "ben", key: key),
                ContactLink(contact: "ada", key: unknown), ContactLink(contact: "ada", key: key),
            ])
            #expect(missing == [unknown])
            #expect(try store.contacts(using: key) == ["ada", "ben"])
            try await store.unlink([
                ContactLink(contact: "ada", key: key), ContactLink(contact: "carl", key: key),
                ContactLink(contact: "ada", key: unknown),
            ])
            #expect(try store.avatar(forContact: "ben")?.bytes == face)
            try await store.unlink([ContactLink(contact: "ben", key: key)])

            #expect(try (store.storedAvatar(for: key) != nil) == keepsUnowned)
            await #expect(throws: AvatarStoreError.self) { try await store.link([ContactLink(contact: "", key: key)]) }
            try fixture.expectConsistent()
        }
    }
}
