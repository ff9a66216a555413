import AvatarFiles
import AvatarStore
import AvatarStoreTesting
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

@Suite(.timeLimit(.minutes(5)))
struct SavingManyTests {
    private func image(_ number: Int, bytes: Int = 700) -> OwnImage {
        OwnImage(named: "person \(number)", bytes: SampleImage.png(seed: UInt64(number), byteCount: bytes))
    }

    @Test("each image is stored under its name, or the result says why not", arguments: StorageClass.allCases)
    func partialResults(_ storageClass: StorageClass) async throws {
        try await StoreFixture.withStore { fixture in
            var images = (0..<300).map { image($0) }
            images[7].bytes = Array("<html>".utf8)
            images[280].name = ""

            let results = try await fixture.store.save(images, in: storageClass)

            #expect(results.count == 300)
            for (number, (image, result)) in zip(images, results).enumerated() {
                switch number {
                case 7: #expect(throws: AvatarStoreError.self) { try result.get() }
                case 280: #expect(throws: AvatarStoreError.self) { try result.get() }
                default: #expect(try fixture.store.storedAvatar(for: result.get())?.bytes == image.bytes)
                }
            }
            #expect(code(results[7]) == .imageRefused && code(results[280]) == .invalidKey)
            #expect(try fixture.store.statistics().entries == 298)
            #expect(fixture.files(in: storageClass).count == 298)
        }
    }

    @Test("of two images with one name the later one stays, also in one batch")
    func sameName() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.save(image(0).bytes, named: "me")
            var images = (1...3).map { image($0) }
            for place in images.indices { images[place].name = "me" }

            let results = try await fixture.store.save(images)

            #expect(try results.allSatisfy { try $0.get() == AvatarKey(name: "me") })
            #expect(try fixture.store.storedAvatar(for: AvatarKey(name: "me"))?.bytes == images[2].bytes)
            try fixture.expectConsistent()
        }
    }

    @Test("an image that does not fit is refused alone, and the budget holds")
    func budget() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.set(.budget, to: 3000)

            let results = try await fixture.store.save([image(1), image(2, bytes: 3001), image(3)], in: .caches)

            #expect(code(results[0]) == nil && code(results[1]) == .overBudget && code(results[2]) == nil)
            #expect(fixture.files(in: .caches).values.reduce(0, +) == 1400)
            try fixture.expectConsistent()
        }
    }

    @Test("the feed has each image once, in the order given")
    func feed() async throws {
        try await StoreFixture.withStore { fixture in
            let images = (0..<260).map { image($0) }
            try await fixture.store.save(images, in: .caches)

            let changes = try fixture.store.changes()

            #expect(try changes.map(\.key) == images.map { try AvatarKey(name: $0.name) })
            #expect(changes.allSatisfy { $0.kind == .added })
        }
    }

    @Test("a full disk is an error; earlier batches stay, and nothing is left over")
    func fullDisk() async throws {
        let fileSystem = FaultyFileSystem()
        try await StoreFixture.withStore(on: fileSystem) { fixture in
            fileSystem.fail(.write, with: ENOSPC, after: 300, times: .max)

            await #expect { try await fixture.store.save((0..<600).map { image($0) }, in: .caches) } throws: {
                ($0 as? AvatarStoreError)?.code == .diskFull
            }

            let statistics = try fixture.store.statistics()
            #expect(statistics.entries == 256 && statistics.pendingBytes == 0)
            #expect(fixture.files(in: .caches).count == 256)
        }
    }

    @Test("a failed rename fails its whole batch, and leaves nothing over")
    func failedRename() async throws {
        let fileSystem = FaultyFileSystem()
        try await StoreFixture.withStore(on: fileSystem) { fixture in
            fileSystem.fail(.rename, with: EIO, after: 100)

            await #expect(throws: AvatarStoreError.self) {
                try await fixture.store.save((0..<400).map { image($0) }, in: .caches)
            }

            #expect(try fixture.store.statistics().entries == 0)
            #expect(fixture.files(in: .caches).isEmpty)
            fileSystem.heal()
            try await fixture.store.save((0..<400).map { image($0) }, in: .caches)
            #expect(try fixture.store.statistics().entries == 400)
            #expect(fixture.files(in: .caches).count == 400)
        }
    }

    private func code(_ result: Result<AvatarKey, AvatarStoreError>) -> AvatarStoreError.Code? {
        if case .failure(let error) = result { error.code } else { nil }
    }
}
