import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ContactsAndChangesExamples {
    private let face = SampleImage.png(seed: 1, byteCount: 4_000)
    private let adaBytes = SampleImage.png(seed: 3, byteCount: 2_000)
    private let logoBytes = SampleImage.png(seed: 2, byteCount: 2_000)

    @Test func linksPruningAndErasure() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            var people = [
                Contact(id: "42", avatarURL: fixture.serve(face, at: "/ada.png")),
                Contact(id: "43", avatarURL: fixture.serve(logoBytes, at: "/ben.png")),
            ]

            let report = try await store.sync(contacts: people)
            let images = try store.images(ofContact: "42")
            let image = try store.avatar(forContact: "42")
            let contacts = try store.contacts(using: images[0].key)

            #expect(report.fetched == 2 && images.count == 1 && image?.bytes == face && contacts == ["42"])

            let logo = try await store.save(logoBytes, named: "logo")
            try await store.link([ContactLink(contact: "42", key: logo), ContactLink(contact: "43", key: logo)])
            try await store.unlink([ContactLink(contact: "43", key: logo)])

            #expect(try store.contacts(using: logo) == ["42"])

            let own = try await store.save(adaBytes, forContact: "42")

            #expect(try store.imageKeys(ofContact: "42").first == own)
            people.removeLast()

            var options = SyncOptions()
            options.list = "team-1"
            options.prunes = true
            let pruned = try await store.sync(contacts: people, options: options)
            print("\(pruned.unlinked) contacts lost their images")

            #expect(pruned.unlinked == 1)
            #expect(try store.images(ofContact: "43").isEmpty)

            let receipt = try await store.remove(contact: "42", erasing: true)
            print(receipt.isErased, receipt.rows, receipt.files)

            #expect(receipt.isErased)
            #expect(try store.images(ofContact: "42").isEmpty)
        }
    }

    @Test func pagesOfContacts() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let url = fixture.serve(face, at: "/ada.png")
            _ = try await store.sync(
                contacts: [Contact(id: "42", name: "Ada", avatarURL: url), Contact(id: "43", name: "Ben")]
                    + (0..<60).map { Contact(id: "\(100 + $0)", name: "Adèle \(100 + $0)") }
            )

            var page = try store.contacts(matching: "ad", limit: 50)
            for contact in page.contacts {
                print(contact.id, contact.name ?? "", contact.state?.rawValue ?? "no image")
            }
            if let next = page.next { page = try store.contacts(matching: "ad", after: next, limit: 50) }

            #expect(page.contacts.count == 11 && page.contacts.last?.id == "159" && page.next == nil)

            let faceless = try store.contacts(isWithoutImage: true)

            #expect(faceless.contacts.count == 61 && faceless.contacts.last?.id == "43")

            if let image = try store.image(of: "42"), let file = try store.open(image) {
                let bytes = try file.bytes(at: 0, count: image.sizeBytes)
                print(image.sha256, image.mediaType, image.freshUntil?.date ?? .distantFuture, bytes.count)
            }

            #expect(try store.image(of: "42")?.sizeBytes == face.count)
            #expect(try store.image(of: "43") == nil)
        }
    }

    private actor Mirror {
        var keys: [AvatarKey] = []
        let continuation: AsyncStream<Void>.Continuation

        init(_ continuation: AsyncStream<Void>.Continuation) {
            self.continuation = continuation
        }

        func take(_ change: AvatarChange) {
            keys.append(change.key)
            continuation.finish()
        }
    }

    @Test func changesAndTheirFeed() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            _ = try await store.save(face, named: "before")

            var position = try store.lastChange()

            let people = [Contact(id: "42", avatarURL: fixture.serve(face, at: "/ada.png"))]
            _ = try await store.sync(contacts: people)

            let changes = try store.changes(since: position)
            for change in changes {
                print(change.sequence, change.kind, change.contacts, change.key)
            }
            position = changes.last?.sequence ?? position

            #expect(changes.map(\.kind) == [.added] && changes.first?.contacts == ["42"])

            let (seen, continuation) = AsyncStream.makeStream(of: Void.self)
            let mirror = Mirror(continuation)
            let reading = Task { [position] in
                for try await change in store.changeFeed(since: position) {
                    await mirror.take(change)
                }
            }

            let key = try await store.save(logoBytes, named: "logo")
            for await _ in seen {}
            reading.cancel()
            try await reading.value

            #expect(await mirror.keys == [key])
        }
    }
}
