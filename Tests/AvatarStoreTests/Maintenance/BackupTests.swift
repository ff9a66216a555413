import AvatarFileSystem
import AvatarFiles
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// A backup of a store that does not change meanwhile.
@Suite(.timeLimit(.minutes(5)))
struct BackupTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let logo = SampleImage.png(seed: 2, byteCount: 9000)
    private let gone = SampleImage.png(seed: 3, byteCount: 700)

    /// A store with a document, an image of two contacts, and one that was evicted.
    private func fill(_ fixture: StoreFixture) async throws -> (images: [AvatarKey: [UInt8]], evicted: AvatarKey) {
        let evicted = try await fixture.store.avatar(for: fixture.serve(gone, at: "/gone.png")).key
        try await fixture.store.trim(to: 0)
        let own = try await fixture.store.save(face, named: "me")
        let url = fixture.serve(logo, at: "/logo.png", etag: "\"1\"")
        _ = try await fixture.store.sync(contacts: [
            Contact(id: "ann", avatarURL: url), Contact(id: "ben", avatarURL: url),
        ])
        return ([own: face, try AvatarKey(url: url): logo], evicted)
    }

    @Test func aBackupIsAStoreWithTheSameImages() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                let (images, evicted) = try await fill(fixture)
                try await fixture.store.set(.budget, to: 123_456)

                let report = try await fixture.store.backup(to: place.backup)

                #expect(report.entries == 3 && report.files == 2 && report.missing == 0)
                #expect(report.bytes == face.count + logo.count)
                #expect(try BackupPlace.names(in: place.backup) == ["caches", "documents", "index.sqlite", "staging"])
                #expect(try BackupPlace.information(place.backup + "/index.sqlite").st_mode & 0o777 == 0o600)
                let copy = try await AvatarStore.open(directory: place.backup)
                #expect(try copy.list().items == fixture.store.list().items)
                #expect(try copy.value(of: .budget) == 123_456)
                try await copy.close()
                try await expectCopy(at: StoreLayout(directory: place.backup), holds: images, without: [evicted])
                try fixture.expectConsistent()
            }
        }
    }

    @Test func onOneFileSystemTheFilesAreHardLinks_whichOutliveTheOriginals() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                let (images, evicted) = try await fill(fixture)
                let path = try #require(try fixture.store.localFile(for: AvatarKey(name: "me")))

                _ = try await fixture.store.backup(to: place.backup)

                #expect(try BackupPlace.information(path).st_nlink == 2)
                _ = try await fixture.store.remove(Array(images.keys))
                #expect(fixture.files(in: .documents).isEmpty)
                try await expectCopy(at: StoreLayout(directory: place.backup), holds: images, without: [evicted])
                try fixture.expectConsistent()
            }
        }
    }

    @Test func withoutHardLinksTheFilesAreCopied_withTheirLabels() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                let (images, evicted) = try await fill(fixture)
                let path = try #require(try fixture.store.localFile(for: AvatarKey(name: "me")))
                let fileSystem = FaultyFileSystem()
                fileSystem.fail(.link, with: EXDEV, times: .max)

                _ = try await fixture.store.backup(to: place.backup, fileSystem: fileSystem)

                // Linking is tried once, not for every file.
                #expect(fileSystem.count(of: .link) <= 2)
                #expect(try BackupPlace.information(path).st_nlink == 1)
                let relative = String(path.dropFirst(fixture.store.configuration.layout.documentsRoot.count + 1))
                let original = StoredFiles(
                    root: try Directory(opening: fixture.directory + "/documents", on: LocalFileSystem())
                )
                let copied = StoredFiles(
                    root: try Directory(opening: place.backup + "/documents", on: LocalFileSystem())
                )
                #expect(try copied.label(of: relative) == original.label(of: relative))
                try await expectCopy(at: StoreLayout(directory: place.backup), holds: images, without: [evicted])
                try fixture.expectConsistent()
            }
        }
    }

    private static let otherFileSystem: String? = {
        var here = stat()
        var there = stat()
        guard stat(NSTemporaryDirectory(), &here) == 0, stat("/dev/shm", &there) == 0 else { return nil }
        return here.st_dev == there.st_dev ? nil : "/dev/shm"
    }()

    @Test(.enabled(if: otherFileSystem != nil)) func toAnotherFileSystemAndBack() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with(in: try #require(Self.otherFileSystem)) { place in
                let (images, evicted) = try await fill(fixture)

                _ = try await fixture.store.backup(to: place.backup)

                try await expectCopy(at: StoreLayout(directory: place.backup), holds: images, without: [evicted])
                try await BackupPlace.with { home in
                    let restored = StoreLayout(directory: home.path("store"))
                    let report = try await AvatarStore.restore(
                        from: place.backup,
                        to: AvatarStore.Configuration(layout: restored)
                    )
                    #expect(report.files == 2)
                    try await expectCopy(at: restored, holds: images, without: [evicted])
                }
                try fixture.expectConsistent()
            }
        }
    }

    @Test func aStoreOpenForReadingCanBeBackedUp_andDoesNotChange() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                let (images, evicted) = try await fill(fixture)
                let before = try BackupPlace.states(in: fixture.directory)
                let reader = try await fixture.openAgain { $0.access = .readOnly }

                _ = try await reader.backup(to: place.backup)

                try await reader.close()
                #expect(try BackupPlace.states(in: fixture.directory) == before)
                try await expectCopy(at: StoreLayout(directory: place.backup), holds: images, without: [evicted])
                try fixture.expectConsistent()
            }
        }
    }

    @Test func anEmptyStoreHasABackupToo() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                try FileManager.default.createDirectory(atPath: place.backup, withIntermediateDirectories: false)

                let report = try await fixture.store.backup(to: place.backup + "/")

                #expect(report.entries == 0 && report.files == 0 && report.bytes == 0)

                try await expectCopy(at: StoreLayout(directory: place.backup), holds: [:])
            }
        }
    }

    @Test func refusedPlacesAreNotChanged() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                _ = try await fill(fixture)
                try FileManager.default.createDirectory(atPath: place.path("full"), withIntermediateDirectories: false)
                try Data("x".utf8).write(to: URL(filePath: place.path("full/notes.txt")))
                try Data("x".utf8).write(to: URL(filePath: place.path("file")))
                try FileManager.default.createSymbolicLink(
                    atPath: place.path("link"),
                    withDestinationPath: fixture.directory
                )
                let before = try BackupPlace.contents(of: place.path)
                let store = try BackupPlace.names(in: fixture.directory)

                for (path, code) in [
                    (place.path("full"), AvatarStoreError.Code.notEmpty),
                    (place.path("file"), .unusableRoot), (place.path("file/backup"), .unusableRoot),
                    (place.path("link/backup"), .invalidConfiguration), (place.path("link"), .invalidConfiguration),
                    (fixture.directory, .invalidConfiguration),
                    (fixture.directory + "/backup", .invalidConfiguration),
                    (fixture.directory + "/caches/../backup", .invalidConfiguration),
                    ("relative/backup", .invalidConfiguration), ("/", .invalidConfiguration),
                ] {
                    await #expect("\(path)") {
                        try await fixture.store.backup(to: path)
                    } throws: { ($0 as? AvatarStoreError)?.code == code }
                }

                #expect(try BackupPlace.contents(of: place.path) == before)
                #expect(try BackupPlace.names(in: fixture.directory) == store)
                try fixture.expectConsistent()
            }
        }
    }

    /// Calls, their errors, and a part of the paths that are meant: the mark of the unfinished backup, a root's mark, a
    /// copied image, the index. Without one, the first call fails.
    private static let faults: [(FaultyFileSystem.Call, Int32, String?)] = [
        (.open, EACCES, nil), (.open, EACCES, ".png"), (.write, ENOSPC, ".unfinished"), (.write, EIO, ".store-id"),
        (.write, ENOSPC, ".png"), (.write, EIO, ".png"), (.makeDirectory, EIO, nil), (.synchronize, EIO, nil),
        (.synchronize, EIO, "index.sqlite.new"), (.rename, EIO, nil), (.link, EIO, nil),
    ]

    @Test(arguments: faults, [false, true])
    func whatFailsLeavesNothingBehind(
        _ fault: (call: FaultyFileSystem.Call, number: Int32, path: String?),
        isThere: Bool
    ) async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                let (images, evicted) = try await fill(fixture)
                if isThere {
                    try FileManager.default.createDirectory(atPath: place.backup, withIntermediateDirectories: false)
                }
                let fileSystem = FaultyFileSystem()
                if fault.call != .link { fileSystem.fail(.link, with: EXDEV, times: .max) }
                fileSystem.fail(fault.call, with: fault.number, matching: fault.path)

                await #expect {
                    try await fixture.store.backup(to: place.backup + "/a/b", fileSystem: fileSystem)
                } throws: {
                    let code = ($0 as? AvatarStoreError)?.code
                    return code == (fault.number == ENOSPC ? .diskFull : fault.number == EACCES ? .readOnly : .storage)
                }

                #expect(try BackupPlace.names(in: place.path) == (isThere ? ["backup"] : []))
                #expect(try BackupPlace.contents(of: place.backup).isEmpty)
                _ = try await fixture.store.backup(to: place.backup)
                try await expectCopy(at: StoreLayout(directory: place.backup), holds: images, without: [evicted])
                try fixture.expectConsistent()
            }
        }
    }

    @Test func aCancelledBackupLeavesNothingBehind() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                _ = try await fill(fixture)
                let (reached, arrival) = AsyncStream.makeStream(of: Void.self)
                let (cancelled, proceed) = AsyncStream.makeStream(of: Void.self)
                let fileSystem = MeddlingFileSystem.once {
                    arrival.yield()
                    for await _ in cancelled { return }
                }
                let backup = Task { try await fixture.store.backup(to: place.backup, fileSystem: fileSystem) }
                for await _ in reached { break }

                backup.cancel()
                proceed.yield()

                await #expect(throws: CancellationError.self) { try await backup.value }
                #expect(try BackupPlace.names(in: place.path) == [])
                try fixture.expectConsistent()
            }
        }
    }

    @Test func ofTwoBackupsToOnePlaceTheSecondIsRefused() async throws {
        try await StoreFixture.withStore { fixture in
            try await BackupPlace.with { place in
                let (images, evicted) = try await fill(fixture)
                let store = fixture.store

                let report = try await store.backup(
                    to: place.backup,
                    fileSystem: MeddlingFileSystem.once {
                        await #expect { try await store.backup(to: place.backup) } throws: {
                            ($0 as? AvatarStoreError)?.code == .busy
                        }
                    }
                )

                #expect(report.files == 2)
                try await expectCopy(at: StoreLayout(directory: place.backup), holds: images, without: [evicted])
                await #expect { try await store.backup(to: place.backup) } throws: {
                    ($0 as? AvatarStoreError)?.code == .notEmpty
                }
            }
        }
    }
}
