import AvatarFrontEnds
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Foundation
import Synchronization
import Testing

/// A type that gets its image methods from `FetchableImage`.
private struct Wall: FetchableImage {
    let avatarStore: AvatarStore
}

@Suite(.timeLimit(.minutes(5)))
struct FetchableImageTests {
    private let face = Images.face(1)
    private let other = Images.face(2)

    private func withWall(
        _ configure: (inout AvatarStore.Configuration) -> Void = { _ in },
        _ body: (StoreFixture, Wall) async throws -> Void
    ) async throws {
        try await StoreFixture.withStore(configure) { try await body($0, Wall(avatarStore: $0.store)) }
    }

    @Test func defaultOptions() {
        let options = FetchableImageOptions()
        #expect(options.storeInCachesDirectory && options.allowLocalStorage)
        #expect(options.customFileName == nil && options.fallbackImage == nil)
    }

    // MARK: One image

    @Test func imageIsFetchedOnceAndThenStored() async throws {
        try await withWall { fixture, wall in
            let url = fixture.serve(face, at: "/a.png")
            #expect(try wall.localFileURL(for: url) == nil)

            #expect(try await wall.fetchImage(from: url).bytes == face)
            #expect(try await wall.fetchImage(from: url).bytes == face)

            let file = try #require(try wall.localFileURL(for: url))
            #expect(try Data(contentsOf: file) == Data(face))
            #expect(file.path.hasPrefix(fixture.store.configuration.layout.cachesRoot))
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func fetchIntoDocumentsMovesTheImage() async throws {
        try await withWall { fixture, wall in
            let url = fixture.serve(face, at: "/a.png")
            _ = try await wall.fetchImage(from: url)
            let options = FetchableImageOptions(storeInCachesDirectory: false)

            #expect(try await wall.fetchImage(from: url, options: options).storageClass == .documents)
            // A fetch into `caches` does not move it back.
            #expect(try await wall.fetchImage(from: url).storageClass == .documents)
            #expect(fixture.files(in: .documents).count == 1 && fixture.files(in: .caches).isEmpty)
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func withoutLocalStorageTheStoreIsNeitherReadNorWritten() async throws {
        try await withWall { fixture, wall in
            let url = fixture.serve(face, at: "/a.png")
            let options = FetchableImageOptions(allowLocalStorage: false)

            #expect(try await wall.fetchImage(from: url, options: options).localFile == nil)
            #expect(fixture.files(in: .caches).isEmpty)
            #expect(try fixture.store.list().items.isEmpty)

            _ = try await wall.fetchImage(from: url)
            fixture.serve(other, at: "/a.png")
            #expect(
                try await wall.fetchImage(from: url, options: options).bytes == other,
                "the stored image is not read"
            )
            #expect(try await wall.fetchImage(from: url).bytes == face, "the stored image is not replaced")
            #expect(try wall.localFileURL(for: url, options: options) == nil)
            let silhouette = try await fixture.store.save(face, named: "silhouette")
            let missing = FetchableImageOptions(allowLocalStorage: false, fallbackImage: silhouette)
            for await fetched in wall.fetchBatchImages(using: [nil], options: missing) { #expect(fetched.image == nil) }
            #expect(try await wall.deleteImage(using: url, options: options) == false)
            #expect(try await wall.deleteBatchImages(using: [url], options: options) == 0)
            await #expect { try await wall.save(image: face, options: options) } throws: {
                ($0 as? AvatarStoreError)?.code == .readOnly
            }
            #expect(try wall.localFileURL(for: url) != nil)
        }
    }

    @Test func failureIsATypedError() async throws {
        try await withWall { fixture, wall in
            fixture.origin.setResponse(.status(404), for: "/a.png")
            await #expect { try await wall.fetchImage(from: fixture.origin.url("/a.png")) } throws: {
                ($0 as? AvatarStoreError)?.failure == .gone
            }
            await #expect { try await wall.fetchImage(from: nil) } throws: {
                ($0 as? AvatarStoreError)?.code == .invalidKey
            }
            await #expect { try await wall.fetchImage(from: "ftp://example.org/a.png") } throws: {
                ($0 as? AvatarStoreError)?.code == .unsupportedURL
            }
        }
    }

    // MARK: Saved images and names

    @Test func savedImageIsFoundAgainByItsName() async throws {
        try await withWall { fixture, wall in
            let options = FetchableImageOptions(storeInCachesDirectory: false, customFileName: "me.png")

            try await wall.save(image: face, options: options)

            #expect(try await wall.fetchImage(from: nil, options: options).bytes == face)
            let file = try #require(try wall.localFileURL(for: nil, options: options))
            #expect(file.path.hasPrefix(fixture.store.configuration.layout.documentsRoot))
            #expect(try Data(contentsOf: file) == Data(face))
            try await wall.save(image: other, options: options)
            #expect(try await wall.fetchImage(from: nil, options: options).bytes == other)
        }
    }

    @Test func savedAndFetchedImagesOfTheSameNameAreSeparate() async throws {
        try await withWall { fixture, wall in
            let url = fixture.serve(other, at: "/a.png")
            let options = FetchableImageOptions(customFileName: "me.png")
            try await wall.save(image: face, options: options)

            #expect(try await wall.fetchImage(from: url, options: options).bytes == other)
            #expect(try await wall.fetchImage(from: nil, options: options).bytes == face)
            #expect(try wall.localFileURL(for: url, options: options) != wall.localFileURL(for: nil, options: options))

            #expect(try await wall.deleteImage(using: url, options: options))
            #expect(try wall.localFileURL(for: url, options: options) == nil)
            #expect(try await wall.fetchImage(from: nil, options: options).bytes == face)
        }
    }

    @Test func customNameKeepsAnImageWhoseURLChanges() async throws {
        try await withWall { fixture, wall in
            fixture.serve(face, at: "/a.png")
            let options = FetchableImageOptions(customFileName: "ada")
            _ = try await wall.fetchImage(from: fixture.origin.url("/a.png?signature=1"), options: options)

            let again = try await wall.fetchImage(from: fixture.origin.url("/a.png?signature=2"), options: options)

            #expect(again.bytes == face && fixture.origin.requestCount == 1)
        }
    }

    @Test(arguments: ["../../escape.png", "/etc/passwd", "a/../../b", "..", "https://example.org/a.png", "ünï/\n"])
    func noNameEscapesTheDirectory(name: String) async throws {
        try await withWall { fixture, wall in
            let options = FetchableImageOptions(customFileName: name)

            try await wall.save(image: face, options: options)

            let file = try #require(try wall.localFileURL(for: nil, options: options))
            #expect(file.standardizedFileURL.path.hasPrefix(fixture.store.configuration.layout.cachesRoot + "/"))
            #expect(!file.path.contains("escape") && !file.path.contains(".."))
            #expect(try await wall.fetchImage(from: nil, options: options).bytes == face)
            #expect(fixture.files(in: .caches).count == 1)
        }
    }

    @Test func saveRefusesOtherBytesAndMissingNames() async throws {
        try await withWall { _, wall in
            await #expect { try await wall.save(image: face, options: FetchableImageOptions()) } throws: {
                ($0 as? AvatarStoreError)?.code == .invalidKey
            }
            let options = FetchableImageOptions(customFileName: "me")
            await #expect { try await wall.save(image: Array("<html>".utf8), options: options) } throws: {
                ($0 as? AvatarStoreError)?.code == .imageRefused
            }
        }
    }

    // MARK: Removing

    @Test func imagesAreDeletedByURLAndByName() async throws {
        try await withWall { fixture, wall in
            let urls = (0..<3).map { fixture.serve(Images.face($0), at: "/\($0).png") }
            for url in urls { _ = try await wall.fetchImage(from: url) }
            let names = (0..<2).map { FetchableImageOptions(customFileName: "\($0)") }
            for options in names { try await wall.save(image: Images.face(10), options: options) }

            #expect(try await wall.deleteImage(using: urls[0]))
            #expect(try await wall.deleteImage(using: urls[0]) == false)
            #expect(try await wall.deleteBatchImages(using: [urls[1], nil, "no URL", urls[2], urls[2]]) == 2)
            #expect(fixture.files(in: .caches).count == 1)
            #expect(try await wall.deleteBatchImages(using: names + [FetchableImageOptions()]) == 2)
            #expect(fixture.files(in: .caches).isEmpty)
            #expect(try fixture.store.list().items.isEmpty)
        }
    }

    // MARK: Batches

    @Test func batchDeliversEachImageWithItsIndex() async throws {
        try await withWall { fixture, wall in
            let urls: [String?] = [
                fixture.serve(Images.face(0), at: "/0.png"), nil, fixture.origin.url("/missing.png"), "no URL",
                fixture.serve(Images.face(4), at: "/4.png"), fixture.serve(Images.face(0), at: "/0.png"),
            ]
            var found: [Int: FetchedImage] = [:]

            await wall.fetchBatchImages(using: urls) { fetched in
                #expect(found[fetched.index] == nil, "each element is delivered once")
                found[fetched.index] = fetched
            }

            #expect(found.count == 6)
            #expect(found[0]?.image?.bytes == Images.face(0) && found[5]?.image?.bytes == Images.face(0))
            #expect(found[4]?.image?.bytes == Images.face(4))
            #expect(found[1]?.image == nil && found[1]?.error == nil)
            #expect(found[2]?.image == nil && found[2]?.error?.failure == .gone)
            #expect(found[3]?.image == nil && found[3]?.error?.code == .unsupportedURL)
        }
    }

    @Test func batchIgnoresTheCustomName() async throws {
        try await withWall { fixture, wall in
            let urls = (0..<3).map { fixture.serve(Images.face($0), at: "/\($0).png") }
            let options = FetchableImageOptions(customFileName: "me")
            try await wall.save(image: other, options: options)

            for await fetched in wall.fetchBatchImages(using: urls, options: options) {
                #expect(fetched.image?.bytes == Images.face(fetched.index))
            }
            #expect(try await wall.deleteBatchImages(using: urls + [nil], options: options) == 3)
            #expect(try await wall.fetchImage(from: nil, options: options).bytes == other)
        }
    }

    @Test func batchIsFetchedConcurrentlyAndDeliveredInOrderOfArrival() async throws {
        try await withWall { fixture, wall in
            fixture.origin.setResponse(.hang, for: "/slow.png")
            let slow = fixture.origin.url("/slow.png")
            let quick = (0..<5).map { fixture.serve(Images.face($0), at: "/\($0).png") }
            var arrived: Set<Int> = []

            for await fetched in wall.fetchBatchImages(using: [slow] + quick) {
                arrived.insert(fetched.index)
                if arrived.count == 5 { break }
            }

            #expect(arrived == [1, 2, 3, 4, 5], "the first image never arrives and delays no other")
            // Ending the iteration cancels the remaining fetches.
            try await waitUntil { try fixture.store.waiterCount(of: AvatarKey(url: slow)) == 0 }
        }
    }

    @Test func cancelledBatchCancelsItsDownloads() async throws {
        try await withWall { fixture, wall in
            fixture.origin.setResponse(.hang, for: "/slow.png")
            let slow = fixture.origin.url("/slow.png")
            let task = Task { await wall.fetchBatchImages(using: [slow, slow]) { _ in Issue.record("nothing came") } }
            try await fixture.origin.waitForRequests()

            task.cancel()

            await task.value
            try await fixture.origin.waitForNoConnection()
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func longBatchIsComplete() async throws {
        try await withWall({ $0.connections = 3 }) { fixture, wall in
            let urls = (0..<200).map { fixture.serve(Images.face($0), at: "/\($0).png") }
            var count = 0
            for await fetched in wall.fetchBatchImages(using: urls) {
                #expect(fetched.image?.bytes == Images.face(fetched.index))
                count += 1
            }
            #expect(count == 200)
        }
    }

    @Test func fallbackTakesThePlaceOfAMissingImage() async throws {
        try await withWall { fixture, wall in
            let silhouette = try await fixture.store.save(other, named: "silhouette")
            let options = FetchableImageOptions(fallbackImage: silhouette)
            let urls = [nil, fixture.origin.url("/missing.png"), fixture.serve(face, at: "/a.png")]
            var found: [Int: FetchedImage] = [:]

            for await fetched in wall.fetchBatchImages(using: urls, options: options) { found[fetched.index] = fetched }

            #expect(found[0]?.image?.bytes == other && found[1]?.image?.bytes == other)
            #expect(found[1]?.error?.failure == .gone)
            #expect(found[2]?.image?.bytes == face)
        }
    }

    // MARK: Completion handlers

    @Test func completionHandlersReportTheSameResults() async throws {
        try await withWall { fixture, wall in
            let url = fixture.serve(face, at: "/a.png")
            let missing = fixture.origin.url("/missing.png")
            let name = FetchableImageOptions(customFileName: "me")
            let image = await withCheckedContinuation { done in
                wall.fetchImage(from: url) { done.resume(returning: $0) }
            }
            #expect(try image.get().bytes == face)
            let none = await withCheckedContinuation { done in
                wall.fetchImage(from: missing) { done.resume(returning: $0) }
            }
            #expect { try none.get() } throws: {
                let error = $0 as? AvatarStoreError
                return error?.code == .fetchFailed && error?.failure == .gone
            }

            let found = Mutex<[Int: FetchedImage]>([:])
            await withCheckedContinuation { done in
                wall.fetchBatchImages(using: [url, nil, missing]) { fetched in
                    found.withLock { $0[fetched.index] = fetched }
                } completion: {
                    done.resume()
                }
            }
            let results = found.withLock { $0 }
            #expect(results.mapValues { $0.image?.bytes } == [0: face, 1: nil, 2: nil])
            #expect(results.mapValues { $0.error?.failure } == [0: nil, 1: nil, 2: .gone])

            let key = await withCheckedContinuation { done in
                wall.save(image: Data(other), options: name) { done.resume(returning: $0) }
            }
            let refused = await withCheckedContinuation { done in
                wall.save(image: Data([1, 2, 3]), options: name) { done.resume(returning: $0) }
            }
            #expect(try key.get() == AvatarKey(name: "me"))
            #expect { try refused.get() } throws: { ($0 as? AvatarStoreError)?.code == .imageRefused }
            let saved = try await wall.fetchImage(from: nil, options: name)
            #expect(saved.bytes == other)
            let isDeleted = await withCheckedContinuation { done in
                wall.deleteImage(using: url) { done.resume(returning: $0) }
            }
            let isDeletedAgain = await withCheckedContinuation { done in
                wall.deleteImage(using: url) { done.resume(returning: $0) }
            }
            #expect(try isDeleted.get())
            #expect(try !isDeletedAgain.get())
        }
    }

    @Test func completionHandlerGetsTheFallbackWithTheFailure() async throws {
        try await withWall { fixture, wall in
            let silhouette = try await fixture.store.save(other, named: "silhouette")
            let options = FetchableImageOptions(fallbackImage: silhouette)
            let missing = fixture.origin.url("/missing.png")

            let result = await withCheckedContinuation { done in
                wall.fetchImage(from: missing, options: options) { done.resume(returning: $0) }
            }

            let image = try result.get()
            #expect(image.bytes == other)
            #expect(image.failure == .gone)
            #expect(image.failureMessage?.contains("404") == true)
        }
    }

    @Test func completionHandlersGetTheErrorOfAnInvalidKey() async throws {
        try await withWall { _, wall in
            let deletion = await withCheckedContinuation { done in
                wall.deleteImage(using: "ftp://example.org/a.png") { done.resume(returning: $0) }
            }

            #expect { try deletion.get() } throws: { ($0 as? AvatarStoreError)?.code == .unsupportedURL }
        }
    }

    @Test func completionHandlersDeleteBatches() async throws {
        try await withWall { fixture, wall in
            let urls = (0..<2).map { fixture.serve(Images.face($0), at: "/\($0).png") }
            for url in urls { _ = try await wall.fetchImage(from: url) }
            let name = FetchableImageOptions(customFileName: "me")
            try await wall.save(image: face, options: name)

            let fetched = await withCheckedContinuation { done in
                wall.deleteBatchImages(using: urls + [nil, "no URL"]) { done.resume(returning: $0) }
            }
            let own = await withCheckedContinuation { done in
                wall.deleteBatchImages(using: [name, name]) { done.resume(returning: $0) }
            }

            #expect(try fetched.get() == 2)
            #expect(try own.get() == 1)
            #expect(try fixture.store.list().items.isEmpty)
        }
    }

    @Test func cancelledTaskCallsNoHandler() async throws {
        try await withWall { fixture, wall in
            fixture.origin.setResponse(.hang, for: "/slow.png")
            let task = wall.fetchImage(from: fixture.origin.url("/slow.png")) { _ in Issue.record("called") }
            try await fixture.origin.waitForRequests()

            task.cancel()

            await task.value
            try await fixture.origin.waitForNoConnection()
        }
    }
}
