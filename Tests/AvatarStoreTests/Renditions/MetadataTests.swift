import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// The metadata of images: noted when they are stored, and taken out of what others get.
@Suite(.timeLimit(.minutes(5))) struct MetadataTests {
    private let clean = SampleImage.png(seed: 1, byteCount: 4000)
    private var face: [UInt8] { SampleImage.addingComment(to: clean) }
    private let tiff: [UInt8] = {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = tests.appending(path: "AvatarImagesTests/Fixtures/metadata/tiff-exif.tiff")
        // Without it, the tests that need it fail.
        return (try? Array(Data(contentsOf: file))) ?? []
    }()

    private func hasMetadata(_ fixture: StoreFixture, _ key: AvatarKey) throws -> Bool? {
        try fixture.store.details(for: key)?.hasMetadata
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "avatars-metadata-\(UUID().uuidString)"
        defer {
            // The rest stays in the temporary folder. The test's own result matters more.
            try? FileManager.default.removeItem(atPath: folder)
        }
        try await body(folder)
    }

    private func bytes(_ folder: String, _ name: String) throws -> [UInt8] {
        try Array(Data(contentsOf: URL(filePath: folder + "/" + name)))
    }

    /// The exported images, without the manifest and the cards.
    private func images(_ folder: String) throws -> [[UInt8]] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter {
            !$0.hasPrefix("manifest") && $0 != "contacts.vcf"
        }
        .sorted().filter { $0 != "pages" && $0 != "index.html" }.map { try bytes(folder, $0) }
    }

    @Test func isNotedHoweverAnImageIsStored() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png")
            _ = try await fixture.store.avatar(for: url)
            #expect(try hasMetadata(fixture, AvatarKey(url: url)) == true)
            let own = try await fixture.store.save(clean, named: "clean")
            #expect(try hasMetadata(fixture, own) == false)
            let other = try await fixture.store.save(tiff, named: "tiff")
            #expect(try hasMetadata(fixture, other) == true)
            _ = try await fixture.store.move(AvatarKey(url: url), to: .documents)
            #expect(try hasMetadata(fixture, AvatarKey(url: url)) == true)
            fixture.serve(clean, at: "/a.png")
            _ = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))
            #expect(try hasMetadata(fixture, AvatarKey(url: url)) == false)
        }
    }

    @Test func repairLooksAtFilesOfAnEarlierVersion() async throws {
        try await StoreFixture.withStore { fixture in
            let key = try await fixture.store.save(face, named: "face")
            let other = try await fixture.store.save(clean, named: "clean")
            try fixture.changeIndex("UPDATE file SET has_metadata = NULL")
            #expect(try hasMetadata(fixture, key) == nil)

            _ = try await fixture.store.verify()
            _ = try await fixture.store.verify(repair: true, quick: true)
            #expect(try hasMetadata(fixture, key) == nil)
            #expect(try await fixture.store.verify(repair: true).isSound)

            #expect(try hasMetadata(fixture, key) == true && hasMetadata(fixture, other) == false)
        }
    }

    @Test func imageInMemoryLosesIt() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let image = try await fixture.store.avatar(for: url)

            let stripped = try #require(try image.withoutMetadata())

            #expect(stripped.bytes == clean && stripped.sizeBytes == clean.count && stripped.localFile == nil)
            #expect(try stripped.withoutMetadata()?.bytes == clean)
            _ = try await fixture.store.save(tiff, named: "tiff")
            #expect(try fixture.store.storedAvatar(for: AvatarKey(name: "tiff"))?.withoutMetadata() == nil)
        }
    }

    @Test func fileIsACopy_orTheFileItself() async throws {
        try await StoreFixture.withStore { fixture in
            let key = try await fixture.store.save(face, named: "face")
            let other = try await fixture.store.save(clean, named: "clean")

            let copy = try #require(try await fixture.store.fileWithoutMetadata(for: key))
            let again = try await fixture.store.fileWithoutMetadata(for: key)
            let same = try await fixture.store.fileWithoutMetadata(for: other)

            #expect(copy.storageClass == .caches && copy.sizeBytes == clean.count)
            let path = try #require(copy.localFile)
            #expect(try Array(Data(contentsOf: URL(filePath: path))) == clean)
            #expect(again?.localFile == copy.localFile)
            #expect(try same?.localFile == fixture.store.storedFile(for: other)?.localFile)
            #expect(try await fixture.store.fileWithoutMetadata(for: AvatarKey(name: "nothing")) == nil)
            // The copy is evicted before any image, and made again.
            try await fixture.store.trim(to: 0)
            #expect(try await fixture.store.fileWithoutMetadata(for: key)?.localFile != copy.localFile)
        }
    }

    @Test func fileThatCannotBeMadeIsAnError() async throws {
        try await StoreFixture.withStore { fixture in
            let key = try await fixture.store.save(face, named: "face")
            let other = try await fixture.store.save(tiff, named: "tiff")
            func code(_ key: AvatarKey) async -> AvatarStoreError.Code? {
                do {
                    _ = try await fixture.store.fileWithoutMetadata(for: key)
                    return nil
                } catch {
                    return (error as? AvatarStoreError)?.code
                }
            }
            #expect(await code(other) == .imageRefused)
            try await fixture.store.set(.renditionBudget, to: 10)
            #expect(await code(key) == .overBudget)
        }
    }

    @Test func manyReadersMakeOneCopy() async throws {
        try await StoreFixture.withStore { fixture in
            let key = try await fixture.store.save(face, named: "face")
            let store = fixture.store
            let paths = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<16 {
                    group.addTask { try await store.fileWithoutMetadata(for: key)?.localFile }
                }
                return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(paths.count == 1 && fixture.files(in: .caches).count == 1)
        }
    }

    @Test func exportIsAsStored_exceptWhatOthersGet() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png")
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", name: "Ada", avatarURL: url)])
            let photo = Data(clean).base64EncodedString()
            func card(_ folder: String) throws -> String {
                String(decoding: try bytes(folder, "contacts.vcf"), as: UTF8.self).replacingOccurrences(
                    of: "\r\n ",
                    with: ""
                )
            }
            try await withFolder { folder in
                _ = try await fixture.store.exportImages(to: folder, withCards: true)
                #expect(try images(folder) == [face] && card(folder).contains(photo))
            }
            try await withFolder { folder in
                let report = try await fixture.store.exportImages(to: folder, withoutMetadata: true)
                #expect(try images(folder) == [clean] && report.bytes == clean.count)
            }
            try await fixture.store.set(.servesMetadata, to: 1)
            try await withFolder { folder in
                _ = try await fixture.store.exportImages(to: folder, withCards: true)
                #expect(try card(folder).contains(Data(face).base64EncodedString()))
            }
        }
    }

    @Test func exportLeavesOutWhatKeepsIt() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await fixture.store.save(tiff, named: "tiff")
            try await withFolder { folder in
                let report = try await fixture.store.exportImages(to: folder, withoutMetadata: true)
                #expect(try images(folder) == [] && report.withheld == 1 && report.images == 0)
            }
            var options = MirrorOptions(names: .keys)
            options.withoutMetadata = true
            try await withFolder { folder in
                let report = try await fixture.store.mirrorImages(to: folder, options: options)
                #expect(try images(folder) == [] && report.withheld == 1 && report.missing == 0)
            }
        }
    }

    @Test func mirrorWritesAgainWhatWasWrittenWithIt() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await fixture.store.save(face, named: "face")
            var options = MirrorOptions(names: .keys)
            try await withFolder { (folder: String) async throws in
                #expect(try await fixture.store.mirrorImages(to: folder, options: options).written == 1)
                #expect(try images(folder) == [face])
                options.withoutMetadata = true
                #expect(try await fixture.store.mirrorImages(to: folder, options: options).written == 1)
                #expect(try images(folder) == [clean])
                #expect(try await fixture.store.mirrorImages(to: folder, options: options).unchanged == 1)
                options.withoutMetadata = false
                #expect(try await fixture.store.mirrorImages(to: folder, options: options).written == 1)
                #expect(try images(folder) == [face])
            }
        }
    }
}
