import AvatarFiles
import AvatarIndex
import AvatarMaintenance
import AvatarProviders
import AvatarStore
import AvatarStoreTesting
import Foundation
import Synchronization
import Testing

/// Renditions as files of the store: made once, kept under the budget, and deleted with their originals.
@Suite(.timeLimit(.minutes(5))) struct RenditionTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let small = Rendition(size: 32)
    private var options: FetchOptions { FetchOptions(rendition: small) }

    private func withStore(
        _ maker: SampleMaker,
        budget: Int? = nil,
        _ body: (StoreFixture) async throws -> Void
    ) async throws {
        try await StoreFixture.withStore { configuration in
            configuration.renditions = maker
            configuration.budget = budget
        } _: { fixture in
            try await body(fixture)
        }
    }

    @Test func renditionIsMadeOnce_andThenReadLikeAnImage() async throws {
        let maker = SampleMaker()
        try await withStore(maker) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let key = try AvatarKey(url: url)
            #expect(try fixture.store.storedFile(for: key, as: small) == nil)

            let first = try await fixture.store.avatar(for: url, options: options)
            let file = try await fixture.store.file(for: url, options: options)
            let hit = try #require(try fixture.store.storedAvatar(for: key, as: small))

            #expect(maker.count == 1)
            #expect(first.bytes.count == 1000 && first.bytes == hit.bytes && first.source == .origin)
            #expect(hit.rendition == Rendition(size: 32, format: .png) && hit.renditionFailure == nil)
            #expect(
                file.localFile == hit.localFile && file.sizeBytes == 1000 && file.thumbHash == SampleMaker.thumbHash
            )
            #expect(try fixture.store.statistics().renditionBytes == 1000)
            #expect(try fixture.store.storedAvatar(for: key)?.bytes == face)
            #expect(try fixture.store.statistics().cachesBytes == 5000)
            #expect(fixture.files(in: .caches).count == 2)
        }
    }

    @Test func thumbHashStaysAfterEviction_andEndsWithANewImage() async throws {
        try await withStore(SampleMaker()) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let key = try AvatarKey(url: url)
            #expect(try fixture.store.thumbHash(for: key) == nil)
            _ = try await fixture.store.avatar(for: url)
            #expect(try fixture.store.thumbHash(for: key) == nil)
            _ = try await fixture.store.avatar(for: url, options: options)
            #expect(try fixture.store.thumbHash(for: key) == SampleMaker.thumbHash)

            try await fixture.store.trim(to: 0)
            #expect(try fixture.store.storedFile(for: url) == nil)
            #expect(try fixture.store.thumbHash(for: key) == SampleMaker.thumbHash)
            #expect(try fixture.store.details(for: key)?.thumbHash == SampleMaker.thumbHash)

            fixture.serve(SampleImage.png(seed: 2, byteCount: 4000), at: "/a.png")
            _ = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))
            #expect(try fixture.store.thumbHash(for: key) == nil)
        }
    }

    @Test func renditionsWithTheSameResultAreOne() async throws {
        let maker = SampleMaker()
        try await withStore(maker) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            for size in [1, 31, 32] {
                _ = try await fixture.store.avatar(for: url, options: FetchOptions(rendition: Rendition(size: size)))
            }
            let original = try await fixture.store.file(for: url)
            #expect(maker.count == 1)

            // No rendition is larger than the image, even if a larger one is requested.
            for size in [400, 512, 4000] {
                let file = try await fixture.store.file(
                    for: url,
                    options: FetchOptions(rendition: Rendition(size: size))
                )
                #expect(file.rendition?.size == Rendition(size: max(original.width, original.height)).size)
            }
            #expect(maker.count == 2)
        }
    }

    @Test func concurrentReadsShareOneRendition() async throws {
        let maker = SampleMaker { _ in try await Task.sleep(for: .milliseconds(50)) }
        try await withStore(maker) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let other = try await fixture.openAgain { $0.renditions = maker }
            _ = try await fixture.store.file(for: url)

            try await withThrowingTaskGroup(of: Int.self) { group in
                for store in [fixture.store, other, fixture.store, other] {
                    group.addTask { [options] in try await store.avatar(for: url, options: options).bytes.count }
                }
                for try await count in group { #expect(count == 1000) }
            }

            #expect(maker.count == 1)
            try await other.close()
        }
    }

    @Test func renditionIsDeletedWithItsOriginal() async throws {
        try await withStore(SampleMaker()) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let key = try AvatarKey(url: url)
            for change in ["replace", "evict", "move", "remove"] {
                fixture.serve(face, at: "/a.png")
                _ = try await fixture.store.avatar(for: url, options: options)
                #expect(fixture.files(in: .caches).count == 2, "\(change)")
                switch change {
                case "replace":
                    let other = SampleImage.png(seed: 2, byteCount: 3000)
                    fixture.serve(other, at: "/a.png")
                    _ = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))
                    #expect(fixture.files(in: .caches).values.sorted() == [3000])
                    #expect(try fixture.store.storedFile(for: key)?.thumbHash == nil)
                case "evict":
                    _ = try await fixture.store.trim(to: 0)
                    #expect(fixture.files(in: .caches).isEmpty)
                case "move":
                    _ = try await fixture.store.move(key, to: .documents)
                    #expect(fixture.files(in: .caches).isEmpty && fixture.files(in: .documents).count == 1)
                    _ = try await fixture.store.move(key, to: .caches)
                default:
                    _ = try await fixture.store.remove(key)
                    #expect(fixture.files(in: .caches).isEmpty)
                }
                #expect(try fixture.store.storedFile(for: key, as: small) == nil, "\(change)")
                #expect(try fixture.store.statistics().renditions == 0, "\(change)")
                #expect(try fixture.store.statistics().pendingBytes == 0, "\(change)")
            }
        }
    }

    @Test func evictedRenditionIsMadeAgain() async throws {
        let maker = SampleMaker()
        try await withStore(maker) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let key = try AvatarKey(url: url)
            _ = try await fixture.store.avatar(for: url, options: options)
            fixture.clock.advance(by: .seconds(10))
            _ = try fixture.store.storedFile(for: key)

            _ = try await fixture.store.trim(to: 4500)

            #expect(fixture.files(in: .caches).values.sorted() == [4000])
            #expect(try fixture.store.storedFile(for: key, as: small) == nil)
            #expect(try await fixture.store.avatar(for: url, options: options).bytes.count == 1000)
            #expect(maker.count == 2)
        }
    }

    @Test func renditionIsEvictedBeforeItsOriginal_andWithIt() async throws {
        try await withStore(SampleMaker()) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            for _ in 0..<3 { _ = try await fixture.store.avatar(for: url, options: options) }

            let first = try await fixture.store.trim(to: 4500)
            #expect(first == EvictionReport(files: 1, bytes: 1000))
            #expect(fixture.files(in: .caches).values.sorted() == [4000])

            _ = try await fixture.store.avatar(for: url, options: options)
            let all = try await fixture.store.trim(to: 0)
            #expect(all == EvictionReport(files: 2, bytes: 5000))
        }
    }

    /// A newer decoder makes other bytes, which the row of the purged file must not block.
    @Test func purgedRenditionIsMadeAgain_evenWithOtherBytes() async throws {
        try await withStore(SampleMaker()) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let file = try await fixture.store.file(for: url, options: options)
            let path = try #require(file.localFile)
            try FileManager.default.removeItem(atPath: path)
            let other = try await fixture.openAgain { $0.renditions = SampleMaker(byteCount: 900) }

            let image = try await other.avatar(for: url, options: options)

            #expect(image.bytes.count == 900 && image.rendition?.size == 32)
            #expect(try #require(image.localFile) != path)
            #expect(fixture.files(in: .caches).values.sorted() == [900, 4000])
            try await other.close()
        }
    }

    @Test func imageThatIsItsOwnRenditionIsDeletedWithItsEntry() async throws {
        try await withStore(SampleMaker()) { fixture in
            let url = fixture.serve(SampleImage.png(seed: 32, byteCount: 1000), at: "/a.png")
            _ = try await fixture.store.avatar(for: url, options: options)
            #expect(fixture.files(in: .caches).count == 1)

            _ = try await fixture.store.remove(AvatarKey(url: url))

            #expect(fixture.files(in: .caches).isEmpty)
        }
    }

    @Test func renditionsOfRenditionsAreDeletedWithTheLastOriginal() async throws {
        try await withStore(SampleMaker()) { fixture in
            let large = Rendition(size: 48)
            let url = fixture.serve(face, at: "/a.png")
            let middle = fixture.serve(SampleImage.png(seed: 48, byteCount: 1000), at: "/b.png")
            for rendition in [small, large] {
                _ = try await fixture.store.avatar(for: url, options: FetchOptions(rendition: rendition))
            }
            _ = try await fixture.store.avatar(for: middle, options: options)
            #expect(fixture.files(in: .caches).count == 3)

            _ = try await fixture.store.remove(AvatarKey(url: middle))
            #expect(fixture.files(in: .caches).count == 3)
            _ = try await fixture.store.remove(AvatarKey(url: url))

            #expect(fixture.files(in: .caches).isEmpty)
        }
    }

    @Test func entryThatJoinsAFileGetsItsThumbHash() async throws {
        try await withStore(SampleMaker()) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let same = fixture.serve(face, at: "/b.png")
            _ = try await fixture.store.avatar(for: url, options: options)

            _ = try await fixture.store.avatar(for: same)

            #expect(try fixture.store.thumbHash(for: AvatarKey(url: same)) == SampleMaker.thumbHash)
        }
    }

    @Test func ignoredImageLosesItsThumbHash() async throws {
        try await withStore(SampleMaker()) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            _ = try await fixture.store.avatar(for: url, options: options)

            try await fixture.store.ignore(digests: [Hexadecimal.text(ContentDigest.sha256(face))])

            #expect(try fixture.store.thumbHash(for: AvatarKey(url: url)) == nil)
            #expect(fixture.files(in: .caches).isEmpty)
        }
    }

    @Test func originalIsExportedIfNoRenditionFitsTheLimit() async throws {
        try await withStore(SampleMaker { _ in throw RenditionError.tooManyBytes(500) }) { fixture in
            _ = try await fixture.store.avatar(for: fixture.serve(face, at: "/a.png"))
            let folder = fixture.directory + "-export"
            defer { try? FileManager.default.removeItem(atPath: folder) }  // Left in the temporary directory otherwise.

            let report = try await fixture.store.exportImages(to: folder, as: Rendition(size: 32, maxBytes: 100))

            #expect(report.images == 1 && report.originals == 1 && report.bytes == 4000)
        }
    }

    @Test func renditionWithoutRoomIsReturned_andNotStored() async throws {
        try await withStore(SampleMaker(), budget: 4500) { fixture in
            let url = fixture.serve(face, at: "/a.png")

            let image = try await fixture.store.avatar(for: url, options: options)

            #expect(image.bytes.count == 1000 && image.localFile == nil && image.rendition?.size == 32)
            #expect(fixture.files(in: .caches).values.sorted() == [4000])
        }
    }

    // MARK: The share of the budget

    /// Ten images of 100,000 bytes.
    private func fill(_ fixture: StoreFixture) async throws -> [String] {
        let urls = (0..<10).map { fixture.serve(SampleImage.png(seed: 100 + $0, byteCount: 100_000), at: "/\($0).png") }
        for url in urls { _ = try await fixture.store.file(for: url) }
        return urls
    }

    private static let sizes = [32, 48, 64, 96, 128]

    private func makeRenditions(of urls: [String], _ fixture: StoreFixture) async throws {
        for url in urls {
            for size in Self.sizes {
                let options = FetchOptions(rendition: Rendition(size: size))
                #expect(try await fixture.store.avatar(for: url, options: options).bytes.count == 20_000)
            }
        }
    }

    @Test func makingARenditionEvictsOtherRenditions_andNoImage() async throws {
        try await withStore(SampleMaker(byteCount: 20_000), budget: 1_045_000) { fixture in
            let urls = try await fill(fixture)

            try await makeRenditions(of: urls, fixture)

            #expect(try urls.allSatisfy { try fixture.store.storedFile(for: $0) != nil })
            #expect(try fixture.store.statistics().cachesBytes == 1_040_000)
            let last = Rendition(size: 128)
            #expect(try fixture.store.storedFile(for: AvatarKey(url: urls[9]), as: last) != nil)
        }
    }

    @Test func renditionsKeepToTheirShare() async throws {
        try await withStore(SampleMaker(byteCount: 20_000)) { fixture in
            #expect(try fixture.store.value(of: .renditionBudget) == (256 << 20) / 10)
            let urls = try await fill(fixture)
            try await fixture.store.set(.renditionBudget, to: 70_000)

            try await makeRenditions(of: urls, fixture)

            #expect(try fixture.store.statistics().renditionBytes == 60_000)
            try await fixture.store.set(.renditionBudget, to: 0)
            let image = try await fixture.store.avatar(
                for: urls[0],
                options: FetchOptions(rendition: Rendition(size: 32, format: .jpeg))
            )
            #expect(image.localFile == nil && image.bytes.count == 20_000)
        }
    }

    @Test func renditionsAreEvictedBeforeImages_evenIfTheyWereUsedLater() async throws {
        try await withStore(SampleMaker(byteCount: 20_000)) { fixture in
            let urls = try await fill(fixture)
            try await makeRenditions(of: [urls[9]], fixture)
            #expect(try fixture.store.details(for: AvatarKey(url: urls[0]))?.evictedAfterFiles == 5)
            let evictions = try await fixture.store.trim(to: 1_000_000, dryRun: true)
            #expect(evictions == EvictionReport(files: 5, bytes: 100_000))

            try await fixture.store.set(.budget, to: 1_150_000)
            try await fixture.store.save(SampleImage.png(seed: 200, byteCount: 100_000), named: "new", in: .caches)

            #expect(try urls.allSatisfy { try fixture.store.storedFile(for: $0) != nil })
            #expect(try fixture.store.statistics().renditionBytes == 20_000)
        }
    }

    @Test func imageWithTheBytesOfARenditionSharesItsFile_andKeepsIt() async throws {
        let maker = SampleMaker()
        try await withStore(maker) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let same = fixture.serve(SampleImage.png(seed: 32, byteCount: 1000), at: "/same.png")
            _ = try await fixture.store.avatar(for: url, options: options)
            _ = try await fixture.store.avatar(for: same)
            #expect(fixture.files(in: .caches).count == 2)

            _ = try await fixture.store.remove(AvatarKey(url: url))

            #expect(fixture.files(in: .caches).values.sorted() == [1000])
            #expect(try fixture.store.storedAvatar(for: same)?.bytes.count == 1000)
            _ = try await fixture.store.remove(AvatarKey(url: same))
            #expect(fixture.files(in: .caches).isEmpty)
        }
    }

    // MARK: Failures

    @Test func originalOfAnUndecodableImageIsReturned_andNotTriedAgain() async throws {
        let maker = SampleMaker { _ in throw RenditionError.cannotDecode("HEIC is not decoded.") }
        try await withStore(maker) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            for _ in 0..<3 {
                let image = try await fixture.store.avatar(for: url, options: options)
                #expect(image.bytes == face && image.rendition == nil)
                #expect(image.renditionFailure == "HEIC is not decoded.")
            }
            #expect(maker.count == 1)

            let newer = SampleMaker(version: 2)
            let other = try await fixture.openAgain { $0.renditions = newer }
            #expect(try await other.avatar(for: url, options: options).bytes.count == 1000)
            try await other.close()
        }
    }

    @Test func imageThatEndsTheDecoderIsGivenUpAfterThreeTimes() async throws {
        let maker = SampleMaker { _ in throw RenditionError.decoderDied("The decoder was killed.") }
        try await withStore(maker) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            for _ in 0..<6 {
                let file = try await fixture.store.file(for: url, options: options)
                #expect(file.renditionFailure == "The decoder was killed.")
            }
            #expect(maker.count == 3)
        }
    }

    /// Two of three images end the decoder, but never three in a row.
    @Test func successClearsEarlierFailures() async throws {
        let maker = SampleMaker { count in
            if count % 3 != 0 { throw RenditionError.decoderDied("The decoder was killed.") }
        }
        try await withStore(maker) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            for size in [32, 48] {
                for _ in 0..<3 {
                    _ = try await fixture.store.file(for: url, options: FetchOptions(rendition: Rendition(size: size)))
                }
            }
            #expect(maker.count == 6)
            #expect(try fixture.store.statistics().renditions == 2)
        }
    }

    @Test func missingDecoderIsTriedAgain() async throws {
        let maker = SampleMaker { count in if count < 3 { throw RenditionError.unavailable("It is missing.") } }
        try await withStore(maker) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            var failures: [String?] = []
            for _ in 0..<4 {
                failures.append(try await fixture.store.file(for: url, options: options).renditionFailure)
            }
            #expect(failures == ["It is missing.", "It is missing.", nil, nil])
        }
    }

    @Test func imageThatIsNotStoredHasNoRendition() async throws {
        try await withStore(SampleMaker()) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            var options = options
            options.storage = .transient

            let image = try await fixture.store.avatar(for: url, options: options)

            #expect(image.bytes == face && image.rendition == nil && image.renditionFailure != nil)
        }
    }

    @Test func storeWithoutDecoderReturnsTheOriginal() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png")

            let image = try await fixture.store.avatar(for: url, options: options)

            #expect(image.bytes == face && image.renditionFailure?.hasPrefix("The store has no decoder") == true)
        }
    }

    @Test func replacedOriginalGivesTheNewRendition() async throws {
        let other = SampleImage.png(seed: 2, byteCount: 3000)
        let replacing = Replacing()
        let maker = SampleMaker { count in if count == 1 { try await replacing.run() } }
        try await withStore(maker) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            _ = try await fixture.store.file(for: url)
            let store = fixture.store
            replacing.set {
                fixture.serve(other, at: "/a.png")
                _ = try await store.avatar(for: url, options: FetchOptions(policy: .reload))
            }

            let image = try await store.avatar(for: url, options: options)

            #expect(maker.count == 2 && image.rendition?.size == 32)
            #expect(fixture.files(in: .caches).values.sorted() == [1000, 3000])
        }
    }

    // MARK: Maintenance

    @Test func verificationFindsADamagedRendition_andBackupsLeaveRenditionsOut() async throws {
        try await withStore(SampleMaker()) { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let file = try await fixture.store.file(for: url, options: options)
            let backup = fixture.directory + "-backup"
            defer { try? FileManager.default.removeItem(atPath: backup) }  // Left in the temporary directory otherwise.

            let report = try await fixture.store.backup(to: backup)
            #expect(report.files == 1 && report.bytes == 4000)

            let path = try #require(file.localFile)
            #expect(truncate(path, 10) == 0)
            #expect(try await fixture.store.verify(repair: true).faults.map(\.kind) == [.wrongSize])
            #expect(try await fixture.store.avatar(for: url, options: options).bytes.count == 1000)
        }
    }
}

/// Work that a test sets after the store is open.
private final class Replacing: Sendable {
    private let work = Mutex<(@Sendable () async throws -> Void)?>(nil)

    func set(_ work: @escaping @Sendable () async throws -> Void) { self.work.withLock { $0 = work } }

    func run() async throws { try await work.withLock { $0 }?() }
}
