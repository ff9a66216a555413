import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// All changes of a store at once: a sync whose images change, evictions, and documents that are replaced, moved and
/// removed.
struct Turmoil: Sendable {
    private let seed: UInt64
    private static let people = 40
    private static let documents = 12

    init(seed: UInt64) {
        self.seed = seed
    }

    /// Image number `version` of `name`. The key is in the noise, so no two keys have equal bytes.
    private func image(_ name: String, _ version: Int) -> [UInt8] {
        SampleImage.identicon(for: "\(seed) \(name) \(version)")
    }

    private func contacts(_ fixture: StoreFixture, version: Int) -> [Contact] {
        (0..<Self.people).map { person in
            let url = fixture.serve(
                image("person \(person)", version),
                at: "/\(person).png",
                etag: "\"\(version)\"",
                cacheControl: "max-age=0"
            )
            return Contact(id: "\(person)", avatarURL: url)
        }
    }

    func prepare(_ fixture: StoreFixture) async throws {
        let bytes = image("person 0", 0).count
        try await fixture.store.set(.budget, to: Int64(bytes * Self.people * 2 / 3))
        for number in 0..<Self.documents {
            try await fixture.store.save(image("document \(number)", 0), named: "document \(number)")
        }
        _ = try await fixture.store.sync(contacts: contacts(fixture, version: 0))
    }

    /// Runs until it is cancelled.
    func run(_ fixture: StoreFixture, _ other: AvatarStore) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await sync(fixture, other) }
            group.addTask { try await replaceAndMove(fixture.store) }
            group.addTask { try await removeAndEvict(other) }
            try await group.waitForAll()
        }
    }

    private func sync(_ fixture: StoreFixture, _ store: AvatarStore) async throws {
        var version = 0
        while !Task.isCancelled {
            version += 1
            _ = try await store.sync(contacts: contacts(fixture, version: version))
        }
    }

    private func replaceAndMove(_ store: AvatarStore) async throws {
        var version = 0
        while !Task.isCancelled {
            version += 1
            let name = "document \(version % Self.documents)"
            try await store.save(image(name, version), named: name)
            let travelling = try await store.save(image("traveller", 0), named: "traveller")
            do {
                _ = try await store.move(travelling, to: .caches)
                _ = try await store.move(travelling, to: .documents)
            } catch let error as AvatarStoreError where [.noSuchEntry, .overBudget].contains(error.code) {
                // The image was evicted in between, or the other store is still unlinking what it evicted.
            }
        }
    }

    private func removeAndEvict(_ store: AvatarStore) async throws {
        var version = 0
        while !Task.isCancelled {
            version += 1
            let key = try await store.save(image("passing", version), named: "passing")
            try await store.trim(to: version.isMultiple(of: 7) ? 0 : nil)
            try await store.remove(key)
        }
    }

    /// Each document existed all the time, so it is in the backup. Each image has bytes of its own.
    func expectWhatIsAlwaysThere(in directory: String) async throws {
        var configuration = AvatarStore.Configuration(directory: directory)
        configuration.access = .readOnly
        let report = try await AvatarStore.verify(configuration)
        #expect(report.faults == [] && report.pending == 0)
        let copy = try await AvatarStore.open(configuration)
        let statistics = try copy.statistics()
        #expect(statistics.cachesBytes <= statistics.budgetBytes)
        for number in 0..<Self.documents {
            #expect(try copy.storedAvatar(for: AvatarKey(name: "document \(number)")) != nil)
        }
        try expectRightFaces(copy)
        try await copy.close()
    }

    /// The ETag that came with an image tells which bytes it must have.
    private func expectRightFaces(_ copy: AvatarStore) throws {
        for item in try copy.list().items {
            guard item.localFile != nil, let etag = item.etag, let url = item.sourceURL else { continue }
            let person = url.split(separator: "/").last?.prefix { $0 != "." } ?? ""
            let version = try #require(Int(etag.filter(\.isNumber)))
            let stored = try copy.storedAvatar(for: AvatarKey(url: url))
            #expect(stored?.bytes == image("person \(person)", version))
        }
    }
}
