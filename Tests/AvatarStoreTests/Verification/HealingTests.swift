import AvatarFiles
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A file damaged in place, with its length unchanged, is healed when the same image comes again, for every entry that
/// uses it. It is never shared before.
@Suite(.timeLimit(.minutes(5)))
struct HealingTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)

    /// Overwrites the file of `key` with zeros; returns its path.
    @discardableResult
    private func damage(_ key: AvatarKey, _ fixture: StoreFixture) throws -> String {
        let path = try fixture.path(of: key)
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.write(contentsOf: Data(repeating: 0, count: face.count))
        try file.close()
        return path
    }

    @Test("saving the right picture again heals it under all names", arguments: StorageClass.allCases)
    func saving(_ storageClass: StorageClass) async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let me = try await store.save(face, named: "me", in: storageClass)
            let twin = try await store.save(face, named: "twin", in: storageClass)
            // The hit stays in memory, and its file is damaged next.
            _ = try store.storedAvatar(for: twin)
            let damaged = try damage(me, fixture)
            let feed = try store.changes()

            try await store.save(face, named: "me", in: storageClass)

            #expect(try store.storedAvatar(for: me)?.bytes == face)
            #expect(try store.storedAvatar(for: twin)?.bytes == face)
            #expect(try store.details(for: me)?.sharedWith == [twin])
            #expect(!FileManager.default.fileExists(atPath: damaged))
            #expect(fixture.setAside.count == (storageClass == .documents ? 1 : 0))
            #expect(try store.changes() == feed)
            try fixture.expectConsistent()
        }
    }

    @Test("another name for the same picture heals it, one at a time and many together", arguments: [false, true])
    func anotherName(isMany: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let me = try await store.save(face, named: "me")
            try damage(me, fixture)

            if isMany {
                let images = ["a", "b", "me", "c"].map { OwnImage(named: $0, bytes: face) }
                for result in try await store.save(images) { _ = try result.get() }
            } else {
                try await store.save(face, named: "a")
            }

            for key in try store.keys(AvatarListQuery()) { #expect(try store.storedAvatar(for: key)?.bytes == face) }
            #expect(fixture.files(in: .documents).count == 1)
            try fixture.expectConsistent()
        }
    }

    @Test(
        "a reload and a second URL with the same bytes heal a fetched image, which keeps its validators",
        arguments: [false, true]
    )
    func fetching(isSecondURL: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let first = fixture.serve(face, at: "/a.png", etag: "\"1\"", cacheControl: "max-age=0")
            let second = fixture.serve(face, at: "/b.png", etag: "\"2\"", cacheControl: "max-age=0")
            let key = try await store.avatar(for: first).key
            if !isSecondURL { _ = try await store.avatar(for: second) }
            try damage(key, fixture)

            let options = FetchOptions(policy: .reload)
            #expect(try await store.avatar(for: isSecondURL ? second : first, options: options).bytes == face)

            for url in [first, second] {
                #expect(try store.storedAvatar(for: url)?.bytes == face)
                let image = try await store.avatar(for: url, options: FetchOptions(policy: .revalidate))
                #expect(image.bytes == face)
                #expect(fixture.origin.requests.last?.headers["if-none-match"] == (url == first ? "\"1\"" : "\"2\""))
            }
            #expect(fixture.files(in: .caches).count == 1)
            try fixture.expectConsistent()
        }
    }

    @Test("a sync that meets the same bytes heals them")
    func syncing() async throws {
        try await StoreFixture.withStore { fixture in
            let urls = (0..<5).map { fixture.serve(face, at: "/\($0).png") }
            let key = try await fixture.store.avatar(for: urls[0]).key
            try damage(key, fixture)

            let contacts = urls.map { Contact(id: $0, avatarURL: $0) }
            _ = try await fixture.store.sync(contacts: contacts)

            for url in urls { #expect(try fixture.store.storedAvatar(for: url)?.bytes == face) }
            #expect(fixture.files(in: .caches).count == 1)
            try fixture.expectConsistent()
        }
    }

    @Test("a file healed by another process is read at once")
    func anotherProcess() async throws {
        try await StoreFixture.withStore { fixture in
            let me = try await fixture.store.save(face, named: "me")
            try damage(me, fixture)
            _ = try fixture.store.storedAvatar(for: me)
            let other = try await fixture.openAgain()

            try await other.save(face, named: "you")
            try await other.close()

            #expect(try fixture.store.storedAvatar(for: me)?.bytes == face)
        }
    }

    @Test("the budget holds both files during a healing, or the image is refused")
    func budget() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.set(.budget, to: 9000)
            let me = try await fixture.store.save(face, named: "me", in: .caches)
            _ = try await fixture.store.save(SampleImage.png(seed: 5, byteCount: 4500), named: "old", in: .caches)
            try damage(me, fixture)

            try await fixture.store.save(face, named: "you", in: .caches)

            #expect(try fixture.store.storedAvatar(for: AvatarKey(name: "you"))?.bytes == face)
            try fixture.expectConsistent()
        }
    }

    @Test(
        "a file call that fails meanwhile leaves the store sound, and the next attempt heals",
        arguments: [FaultyFileSystem.Call.open, .rename, .synchronize, .unlink]
    )
    func failing(_ call: FaultyFileSystem.Call) async throws {
        let fileSystem = FaultyFileSystem()
        try await StoreFixture.withStore(on: fileSystem) { fixture in
            let me = try await fixture.store.save(face, named: "me")
            let twin = try await fixture.store.save(face, named: "twin")
            try damage(me, fixture)
            // The staged file is opened to be written, labelled and made durable.
            let path: String? = call == .open ? "documents-" : call == .unlink ? ".png" : nil
            fileSystem.fail(call, with: EIO, after: call == .open ? 2 : 0, matching: path)

            await #expect(throws: AvatarStoreError.self) { try await fixture.store.save(face, named: "me") }
            fileSystem.heal()
            try await fixture.store.save(face, named: "me")

            for key in [me, twin] { #expect(try fixture.store.storedAvatar(for: key)?.bytes == face) }
            try fixture.expectConsistent()
        }
    }

    @Test(
        "a file that the disk does not answer for is not taken for missing",
        arguments: StorageClass.allCases,
        [EIO, EACCES, ESTALE]
    )
    func unanswered(_ storageClass: StorageClass, number: Int32) async throws {
        let fileSystem = FaultyFileSystem()
        try await StoreFixture.withStore(on: fileSystem) { fixture in
            let me = try await fixture.store.save(face, named: "me", in: storageClass)
            let path = try fixture.path(of: me)
            fileSystem.fail(.status, with: number, times: .max, matching: ".png")

            let isShared = await #expect(throws: AvatarStoreError.self) {
                try await fixture.store.save(face, named: "twin", in: storageClass)
            }
            let isRead = #expect(throws: AvatarStoreError.self) { try fixture.store.storedFile(for: me) }

            for error in [isShared, isRead] {
                #expect(error?.message.contains(".png") == true, "\(error?.message ?? "")")
            }
            #expect(FileManager.default.fileExists(atPath: path))
            fileSystem.heal()
            let twin = try await fixture.store.save(face, named: "twin", in: storageClass)
            for key in [me, twin] { #expect(try fixture.store.storedAvatar(for: key)?.bytes == face) }
            try fixture.expectConsistent()
        }
    }

    @Test("an import heals, even if the store has the picture already")
    func importing() async throws {
        try await StoreFixture.withStore { fixture in
            let me = try await fixture.store.save(face, named: "me")
            let folder = fixture.directory + "-pictures"
            defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: folder) } }
            _ = try await fixture.store.exportImages(to: folder)
            try damage(me, fixture)

            let report = try await fixture.store.importImages(from: folder)

            #expect(report.unchanged == 0)
            #expect(try fixture.store.storedAvatar(for: me)?.bytes == face)
        }
    }

    @Test("damaged bytes are neither moved nor exported")
    func spreading() async throws {
        try await StoreFixture.withStore(endsSound: false) { fixture in
            let me = try await fixture.store.save(face, named: "me")
            try fixture.write(face.withFlippedBit, to: fixture.path(of: me))

            await #expect { try await fixture.store.move(me, to: .caches) } throws: {
                ($0 as? AvatarStoreError)?.code == .noSuchEntry
            }
            let report = try await fixture.store.exportImages(to: fixture.directory + "-pictures")
            defer {
                #expect(throws: Never.self) {
                    try FileManager.default.removeItem(atPath: fixture.directory + "-pictures")
                }
            }
            #expect(report.images == 0 && report.missing == 1)
        }
    }

    @Test("a sound document without a row takes the place of a damaged one with its digest")
    func adopting() async throws {
        try await StoreFixture.withStore { fixture in
            let me = try await fixture.store.save(face, named: "me")
            let path = try fixture.path(of: me)
            let spare = path.replacing(/-[0-9a-f]{16}\./, with: "-0000000000000001.")
            // The link keeps the extended attributes, which name the keys of the document.
            try FileManager.default.moveItem(atPath: path, toPath: spare)
            try fixture.write([UInt8](repeating: 0, count: face.count), to: path)

            let report = try await fixture.store.verify(repair: true, quick: true)

            #expect(report.isSound)
            #expect(try fixture.store.storedAvatar(for: me)?.bytes == face)
            #expect(fixture.setAside.count == 1)
        }
    }

    @Test("a backup links a damaged image, and its restore leaves it out, to be fetched again")
    func restoring() async throws {
        try await StoreFixture.withStore(endsSound: false) { fixture in
            try await BackupPlace.with { place in
                let url = fixture.serve(face, at: "/a.png", etag: "\"1\"")
                let key = try await fixture.store.avatar(for: url).key
                let own = try await fixture.store.save(SampleImage.png(seed: 3, byteCount: 3000), named: "own")
                try damage(key, fixture)
                _ = try await fixture.store.backup(to: place.backup)
                var configuration = fixture.store.configuration
                configuration.layout = StoreLayout(directory: place.path("store"))

                let report = try await AvatarStore.restore(from: place.backup, to: configuration)

                #expect(report.missing == 1 && report.lostDocuments == [])
                let store = try await AvatarStore.open(configuration)
                #expect(try store.storedAvatar(for: key) == nil)
                #expect(try store.storedAvatar(for: own) != nil)
                #expect(try store.details(for: key)?.overview.state == .missing)
                #expect(try await store.avatar(for: url).bytes == face)
                #expect(fixture.origin.requests.last?.headers["if-none-match"] == nil)
                try await store.close()
                #expect(try await AvatarStore.verify(configuration).faults == [])
            }
        }
    }
}
