import AvatarSQLite
import AvatarStore
import AvatarStoreTesting
import Testing

/// A process that has the store open while another one, a newer program, upgrades its index.
@Suite(.timeLimit(.minutes(5)))
struct UpgradedStoreTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4_000)
    private let other = SampleImage.png(seed: 2, byteCount: 3_000)

    /// Changes tried on the fixture's store, which has an image at `/a.png` and an own image.
    private static let changes: [(String, @Sendable (StoreFixture) async throws -> Void)] = [
        ("save", { _ = try await $0.store.save(SampleImage.png(seed: 3, byteCount: 900), named: "new") }),
        ("fetch", { _ = try await $0.store.avatar(for: $0.origin.url("/b.png")) }),
        ("confirm", { _ = try await $0.store.avatar(for: $0.origin.url("/a.png"), options: .init(policy: .reload)) }),
        ("sync", { _ = try await $0.store.sync(contacts: [Contact(id: "b", avatarURL: $0.origin.url("/b.png"))]) }),
        ("remove", { _ = try await $0.store.remove(AvatarKey(name: "me")) }),
        ("erase", { _ = try await $0.store.remove(contact: "a", erasing: true) }),
        ("move", { _ = try await $0.store.move(AvatarKey(name: "me"), to: .caches) }),
        ("link", { _ = try await $0.store.link([ContactLink(contact: "b", key: AvatarKey(name: "me"))]) }),
        ("set", { try await $0.store.set(.budget, to: 1) }),
        ("trim", { _ = try await $0.store.trim(to: 0) }),
    ]

    @Test(arguments: changes.map(\.0)) func aProcessThatWasOpenStopsWriting(name: String) async throws {
        let change = try #require(Self.changes.first { $0.0 == name }).1
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png")
            fixture.serve(other, at: "/b.png")
            _ = try await fixture.store.sync(contacts: [Contact(id: "a", avatarURL: url)])
            let me = try await fixture.store.save(other, named: "me")
            let index = try Connection(path: fixture.directory + "/index.sqlite", access: .readWrite)
            let version = try index.integer("PRAGMA user_version") ?? 0
            try index.execute("PRAGMA user_version = \(version + 1)")
            let before = try State(fixture, index)

            let error = await #expect(throws: AvatarStoreError.self) { try await change(fixture) }

            #expect(error?.code == .indexWasUpgraded)
            #expect(try State(fixture, index) == before)
            // Stored images can still be read, and a new opening reports the newer index.
            #expect(try fixture.store.storedAvatar(for: url)?.bytes == face)
            #expect(try fixture.store.storedAvatar(for: me)?.bytes == other)
            let opening = await #expect(throws: AvatarStoreError.self) { try await fixture.openAgain() }
            #expect(opening?.code == .newerIndex)

            // Lets the fixture close and verify the store.
            try index.execute("PRAGMA user_version = \(version)")
            try index.close()
        }
    }

    /// All content of the store: its files, and the rows of its tables.
    private struct State: Equatable {
        let caches: [String: Int]
        let documents: [String: Int]
        let rows: [String]

        init(_ fixture: StoreFixture, _ index: Connection) throws {
            caches = fixture.files(in: .caches)
            documents = fixture.files(in: .documents)
            let tables = try index.lines("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            rows = try tables.flatMap { table in
                try index.lines("SELECT * FROM \(table)").map { "\(table) \($0)" }
            }
        }
    }
}
