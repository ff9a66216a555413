import AvatarFileSystem
import AvatarFiles
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// Stores restored from backups.
@Suite(.timeLimit(.minutes(5)))
struct RestoreTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let logo = SampleImage.png(seed: 2, byteCount: 9000)

    /// Runs `body` with a backup of a store that has a document and an image in `caches`, and with its images.
    private func withBackup(
        _ body: (BackupPlace, _ images: [AvatarKey: [UInt8]]) async throws -> Void
    ) async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                try await fixture.store.set(.budget, to: 50_000)
                let own = try await fixture.store.save(face, named: "me")
                let url = fixture.serve(logo, at: "/logo.png", etag: "\"1\"")
                _ = try await fixture.store.sync(contacts: [Contact(id: "ann", avatarURL: url)])
                _ = try await fixture.store.backup(to: place.backup)
                try await body(place, [own: face, try AvatarKey(url: url): logo])
                try fixture.expectConsistent()
            }
        }
    }

    private func code(_ body: () async throws -> BackupReport) async -> AvatarStoreError.Code? {
        do {
            _ = try await body()
            Issue.record("Nothing was thrown.")
        } catch {
            return (error as? AvatarStoreError)?.code
        }
        return nil
    }

    @Test func aRestoredStoreHasEverything() async throws {
        try await withBackup { place, images in
            let before = try BackupPlace.contents(of: place.backup)
            let layout = StoreLayout(directory: place.path("deep/inside/store"))

            let report = try await AvatarStore.restore(from: place.backup, to: .init(layout: layout))

            #expect(report.entries == 2 && report.files == 2 && report.missing == 0)
            #expect(report.bytes == face.count + logo.count)
            try await expectCopy(at: layout, holds: images)
            #expect(try BackupPlace.contents(of: place.backup) == before)
            let store = try await AvatarStore.open(directory: place.path("deep/inside/store"))
            #expect(try store.list().items.map(\.contacts).filter { !$0.isEmpty } == [["ann"]])
            #expect(try store.value(of: .budget) == 50_000)
            _ = try await store.remove(Array(images.keys))
            try await store.close()
            #expect(try BackupPlace.contents(of: place.backup) == before)
        }
    }

    @Test func theRootsMayLieApart_andBeThereAlready() async throws {
        try await withBackup { place, images in
            let layout = StoreLayout(cachesIn: place.path("purgeable"), documentsIn: place.path("kept"))
            try FileManager.default.createDirectory(atPath: layout.cachesRoot, withIntermediateDirectories: true)
            try Data("x".utf8).write(to: URL(filePath: place.path("purgeable/of somebody else")))

            _ = try await AvatarStore.restore(from: place.backup + "//", to: .init(layout: layout))

            #expect(try BackupPlace.names(in: place.path("kept")) == ["documents", "index.sqlite", "staging"])
            try await expectCopy(at: layout, holds: images)
        }
    }

    @Test func aBackupThatWasUsedAsAStoreIsRestoredAsItIsNow() async throws {
        try await withBackup { place, images in
            let store = try await AvatarStore.open(directory: place.backup)
            let third = SampleImage.png(seed: 5, byteCount: 2000)
            let key = try await store.save(third, named: "late")
            // Not closed: the saved image is in the write-ahead log.
            let layout = StoreLayout(directory: place.path("store"))

            _ = try await AvatarStore.restore(from: place.backup, to: .init(layout: layout))

            try await store.close()
            try await expectCopy(at: layout, holds: images.merging([key: third]) { $1 })
        }
    }

    /// The roots are marked only after the index is copied, which may take a while.
    @Test func aFailedRestoreDoesNotRemoveForeignFiles() async throws {
        try await withBackup { place, images in
            let layout = StoreLayout(directory: place.path("store"))
            let unfinished = try UnfinishedStore(layout, on: LocalFileSystem(), fileMode: 0o600)
            try Data().write(to: URL(filePath: unfinished.indexPath))
            await #expect { _ = try await AvatarStore.open(.init(layout: layout)) } throws: {
                ($0 as? AvatarStoreError)?.code == .busy
            }
            let file = place.path("store/documents/ab/somebody's.png")
            try FileManager.default.createDirectory(
                atPath: place.path("store/documents/ab"),
                withIntermediateDirectories: true
            )
            try Data("x".utf8).write(to: URL(filePath: file))

            unfinished.abandon()

            #expect(FileManager.default.fileExists(atPath: file))
            try FileManager.default.removeItem(atPath: place.path("store"))
            _ = try await AvatarStore.restore(from: place.backup, to: .init(layout: layout))
            try await expectCopy(at: layout, holds: images)
        }
    }

    private static let occupied: [(String, AvatarStoreError.Code)] = [
        ("index.sqlite", .notEmpty), ("index.sqlite-wal", .notEmpty), ("index.sqlite-journal", .notEmpty),
        ("caches/ab/file.png", .notEmpty), ("documents/letter.txt", .notEmpty), ("documents", .unusableRoot),
        ("staging/documents.store-id", .unusableRoot),
    ]

    @Test(arguments: occupied)
    func aPlaceThatIsNotEmptyIsLeftAsItIs(_ path: String, _ expected: AvatarStoreError.Code) async throws {
        try await withBackup { place, images in
            let file = URL(filePath: place.path("store/" + path))
            let folder = file.deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data("0123456789abcdef0123456789abcdef".utf8).write(to: file)
            let before = try BackupPlace.contents(of: place.path)
            let layout = StoreLayout(directory: place.path("store"))

            #expect(
                await code { try await AvatarStore.restore(from: place.backup, to: .init(layout: layout)) } == expected
            )

            #expect(try BackupPlace.contents(of: place.path) == before)
            try FileManager.default.removeItem(atPath: place.path("store"))
            _ = try await AvatarStore.restore(from: place.backup, to: .init(layout: layout))
            try await expectCopy(at: layout, holds: images)
        }
    }

    @Test(arguments: ["caches", "documents"], [Damage.flippedBit, .cutShort, .missing, .folder])
    func aDamagedFileIsLeftOut_andCounted(root: String, damage: Damage) async throws {
        try await withBackup { place, images in
            let files = try BackupPlace.contents(of: place.backup + "/" + root).filter { !$0.value.isEmpty }
            let name = try #require(files.keys.first)
            let path = place.backup + "/\(root)/\(name)"
            // The store links the same file, so a damaged copy takes its place.
            try removeFile(path)
            try damage.leave(files[name] ?? Data(), at: path)
            let before = try BackupPlace.contents(of: place.backup)
            let configuration = AvatarStore.Configuration(layout: StoreLayout(directory: place.path("store")))

            let report = try await AvatarStore.restore(from: place.backup, to: configuration)

            let lost = images.keys.filter { $0.isOwnImage == (root == "documents") }
            #expect(report.entries == 2 && report.files == 1 && report.missing == 1)
            #expect(report.lostDocuments == (root == "documents" ? lost : []))
            #expect(try await AvatarStore.verify(configuration).faults == [])
            let store = try await AvatarStore.open(configuration)
            for (key, bytes) in images {
                #expect(try store.storedAvatar(for: key)?.bytes == (lost.contains(key) ? nil : bytes))
            }
            #expect(try store.details(for: lost[0])?.overview.localFile == nil)
            try await store.close()
            #expect(try BackupPlace.contents(of: place.backup) == before)
        }
    }

    enum Damage: CaseIterable {
        case flippedBit, cutShort, missing, folder

        func leave(_ bytes: Data, at path: String) throws {
            switch self {
            case .flippedBit: try Data([UInt8](bytes).withFlippedBit).write(to: URL(filePath: path))
            case .cutShort: try bytes.dropLast().write(to: URL(filePath: path))
            case .missing: break
            case .folder: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            }
        }
    }

    @Test func aFileOutsideTheBackupIsLeftOut() async throws {
        try await withBackup { place, images in
            let database = place.backup + "/index.sqlite"
            let name = try #require(
                try BackupPlace.contents(of: place.backup + "/documents").first { !$0.value.isEmpty }
            ).key
            try FileManager.default.moveItem(
                atPath: place.backup + "/documents/" + name,
                toPath: place.backup + "/escaped.png"
            )
            try changeIndex(at: database, "UPDATE file SET path = '../escaped.png' WHERE storage_class = 1")

            let report = try await AvatarStore.restore(
                from: place.backup,
                to: .init(layout: StoreLayout(directory: place.path("store")))
            )

            #expect(report.lostDocuments == images.keys.filter(\.isOwnImage))
            #expect(try !BackupPlace.contents(of: place.path("store")).values.contains(Data(face)))
        }
    }

    /// Dropping the row with the wrong bytes must not remove the other row's file.
    @Test func ofTwoRowsWithOnePathTheMatchingOneKeepsTheFile() async throws {
        try await withBackup { place, images in
            let database = place.backup + "/index.sqlite"
            try changeIndex(
                at: database,
                """
                UPDATE file SET storage_class = 0, size_bytes = 9000,
                    path = (SELECT path FROM file WHERE storage_class = 0) WHERE storage_class = 1
                """
            )
            let configuration = AvatarStore.Configuration(layout: StoreLayout(directory: place.path("store")))

            let report = try await AvatarStore.restore(from: place.backup, to: configuration)

            #expect(report.files == 1 && report.missing == 1)
            let store = try await AvatarStore.open(configuration)
            for key in images.keys {
                #expect(try store.storedAvatar(for: key)?.bytes == (key.isOwnImage ? nil : logo))
            }
            try await store.close()
        }
    }

    @Test func aDirectoryThatIsNotABackupIsRefused() async throws {
        try await withBackup { place, _ in
            let index = place.backup + "/index.sqlite"
            let layout = StoreLayout(directory: place.path("store"))
            func restore() async throws -> BackupReport {
                try await AvatarStore.restore(from: place.backup, to: .init(layout: layout))
            }

            try changeIndex(at: index, "PRAGMA user_version = 9999")
            #expect(await code(restore) == .newerIndex)
            try changeIndex(at: index, "PRAGMA application_id = 77")
            #expect(await code(restore) == .foreignIndex)
            try Data(repeating: 7, count: 5000).write(to: URL(filePath: index))
            #expect(await code(restore) == .damagedIndex)
            try Data().write(to: URL(filePath: index))
            #expect(await code(restore) == .damagedIndex)
            try removeFile(index)
            #expect(await code(restore) == .noStore)
            #expect(
                await code { try await AvatarStore.restore(from: place.path("no"), to: .init(layout: layout)) }
                    == .noStore
            )
            #expect(
                await code { try await AvatarStore.restore(from: "here", to: .init(layout: layout)) }
                    == .invalidConfiguration
            )
            #expect(try BackupPlace.names(in: place.path) == ["backup"])
        }
    }

    @Test func aStoreInsideItsBackupIsRefused() async throws {
        try await withBackup { place, _ in
            let before = try BackupPlace.contents(of: place.backup)

            for inside in ["", "/caches", "/new"] {
                let layout = StoreLayout(directory: place.backup + inside)
                let code = await code { try await AvatarStore.restore(from: place.backup, to: .init(layout: layout)) }
                #expect(code == .invalidConfiguration)
            }

            #expect(try BackupPlace.contents(of: place.backup) == before)
        }
    }

    @Test(arguments: [FaultyFileSystem.Call.link, .makeDirectory, .synchronize, .rename])
    func whatFailsLeavesNothingBehind(_ call: FaultyFileSystem.Call) async throws {
        try await withBackup { place, images in
            let fileSystem = FaultyFileSystem()
            fileSystem.fail(call, with: ENOSPC)
            let layout = StoreLayout(cachesIn: place.path("a"), documentsIn: place.path("b"))

            let code = await code {
                try await AvatarStore.restore(from: place.backup, to: .init(layout: layout), fileSystem: fileSystem)
            }

            #expect(code == .diskFull)
            #expect(try BackupPlace.names(in: place.path) == ["backup"])
            _ = try await AvatarStore.restore(from: place.backup, to: .init(layout: layout))
            try await expectCopy(at: layout, holds: images)
        }
    }
}
