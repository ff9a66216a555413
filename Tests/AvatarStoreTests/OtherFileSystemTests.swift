import AvatarFileSystem
import AvatarFiles
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// A store on another file system, in a boot of another system.
@Suite(.timeLimit(.minutes(5)))
struct OtherFileSystemTests {
    /// The operating system's files, with an index that SQLite's other VFS opens. Its connections share their memory within
    /// the process instead of in the file `index.sqlite-shm`, which so shows any connection that was opened by the usual one.
    private struct ExclusiveFileSystem: ForwardingFileSystem {
        let real = LocalFileSystem()
        var databaseVFS: String? { "unix-excl" }
    }

    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let otherFace = SampleImage.png(seed: 2, byteCount: 5000)

    @Test("each connection to the index is opened by the VFS that the file system names")
    func vfs() async throws {
        let fileSystem = ExclusiveFileSystem()
        try await StoreFixture.withStore(on: fileSystem) { fixture in
            let (store, configuration) = (fixture.store, fixture.store.configuration)
            let shared = configuration.layout.indexPath + "-shm"
            let backup = fixture.directory + "-backup"
            defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: backup) } }
            func expectUnshared(_ step: String) { #expect(!fileSystem.exists(shared), "\(step)") }

            let contact = Contact(id: "ann", avatarURL: fixture.serve(face, at: "/a.png"))
            _ = try await store.sync(contacts: [contact])
            let me = try await store.save(otherFace, named: "me")
            expectUnshared("a sync and a saving")
            #expect(try store.storedAvatar(for: me)?.bytes == otherFace)
            _ = try store.statistics()
            let second = try await AvatarStore.open(configuration, fileSystem: fileSystem)
            _ = try await second.save(face, named: "you")
            try await second.close()
            try AvatarStore.openForReading(configuration, fileSystem: fileSystem).closeForReading()
            expectUnshared("a second opening")
            _ = try await store.backup(to: backup, fileSystem: fileSystem)
            #expect(!fileSystem.exists(backup + "/index.sqlite-shm"))
            expectUnshared("a backup")
            _ = try await store.remove(contact: "ann", erasing: true)
            expectUnshared("an erasure")
            #expect(try await store.verify().faults == [])
            _ = try await store.compact()
            expectUnshared("a compaction")
        }
    }

    @Test("the store records the boot that it was opened in, and compares its files in the next one")
    func boots() async throws {
        try await StoreFixture.withStore { fixture in
            var configuration = fixture.store.configuration
            configuration.layout = StoreLayout(directory: fixture.directory + "/own")
            let (local, index) = (LocalFileSystem(), configuration.layout.indexPath)
            let first = try await AvatarStore.open(configuration, fileSystem: local, bootID: BootID("one"))
            let me = try await first.save(face, named: "me", in: .caches)
            #expect(try fixture.indexText("SELECT boot_id FROM store", at: index) == "one")
            let path = try #require(try first.localFile(for: me, recordsAccess: false))
            try fixture.write([], to: path)

            let same = try await AvatarStore.open(configuration, fileSystem: local, bootID: BootID("one"))
            #expect(try await same.verify(quick: true).faults.count == 1)
            try await same.close()
            let next = try await AvatarStore.open(configuration, fileSystem: local, bootID: BootID("two"))

            #expect(try await next.verify(quick: true).faults == [])
            #expect(try fixture.indexText("SELECT boot_id FROM store", at: index) == "two")
            try await next.close()
            try await first.close()
        }
    }
}
