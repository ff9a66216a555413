import AvatarStore
import AvatarStoreTesting
import Testing

/// The change events that a host program sees.
@Suite(.timeLimit(.minutes(5)))
struct StoreChangesTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let other = SampleImage.png(seed: 2, byteCount: 4000)

    @Test func eachWayToAnImageIsInTheFeed() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let url = fixture.serve(face, at: "/ada.png", etag: "\"1\"")
            _ = try await store.sync(contacts: [Contact(id: "ada", avatarURL: url)])
            try await store.save(face, named: "me")
            _ = try await store.move(AvatarKey(url: url), to: .documents)
            fixture.serve(face, at: "/ada.png", etag: "\"2\"")
            _ = try await store.avatar(for: url, options: FetchOptions(policy: .reload))
            fixture.serve(other, at: "/ada.png", etag: "\"3\"")
            _ = try await store.avatar(for: url, options: FetchOptions(policy: .reload))
            _ = try await store.sync(contacts: [Contact(id: "bea", avatarURL: url)])
            _ = try await store.remove(contact: "ada")
            _ = try await store.remove(AvatarKey(name: "me"))

            let key = try AvatarKey(url: url)
            let told = try store.changes().map { "\($0.kind) \($0.key == key) \($0.contacts)" }
            #expect(
                told == [
                    "added true [\"ada\"]", "added false []", "changed true [\"ada\"]", "added true [\"bea\"]",
                    "removed true [\"ada\"]", "removed false []",
                ]
            )
            try fixture.expectConsistent()
        }
    }

    @Test func anEvictionIsNotAChange_evenWhenTheImageComesAgain() async throws {
        try await StoreFixture.withStore { fixture in
            let contact = Contact(id: "ada", avatarURL: fixture.serve(face, at: "/ada.png"))
            _ = try await fixture.store.sync(contacts: [contact])
            let last = try fixture.store.lastChange()

            try await fixture.store.trim(to: 0)
            #expect(try fixture.store.changes(since: last) == [])
            _ = try await fixture.store.sync(contacts: [contact])
            #expect(try fixture.store.changes(since: last) == [])
            try await fixture.store.trim(to: 0)
            fixture.serve(other, at: "/ada.png")
            _ = try await fixture.store.sync(contacts: [contact])

            #expect(try fixture.store.changes(since: last).map(\.kind) == [.changed])
        }
    }

    @Test func anUnchangedListAddsNothingToTheFeed() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = (0..<20).map { Contact(id: "c\($0)", avatarURL: fixture.serve(face, at: "/\($0).png")) }
            _ = try await fixture.store.sync(contacts: contacts)
            let last = try fixture.store.lastChange()

            _ = try await fixture.store.sync(contacts: contacts)

            #expect(try fixture.store.lastChange() == last)
        }
    }

    @Test func aFeedDeliversTheChangesOfOtherProcesses() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.save(face, named: "first")
            let second = try await fixture.openAgain()
            let reading = Task {
                var names: [String] = []
                for try await change in fixture.store.changeFeed(every: .milliseconds(20)) {
                    names.append(change.key.rawValue)
                    if names.count == 3 { break }
                }
                return names
            }

            try await second.save(face, named: "second")
            try await second.save(other, named: "third")

            let names = try await reading.value
            #expect(names == ["name:first", "name:second", "name:third"])
            try await second.close()
        }
    }

    @Test func aFeedEndsWithItsTask() async throws {
        try await StoreFixture.withStore { fixture in
            let reading = Task {
                var count = 0
                for try await _ in fixture.store.changeFeed(every: .seconds(3600)) { count += 1 }
                return count
            }
            reading.cancel()

            let count = try await reading.value
            #expect(count == 0)
        }
    }
}
