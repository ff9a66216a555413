import AvatarFrontEnds
import AvatarStoreTesting
import Foundation
import Testing

@testable import AvatarStore

private struct Wall: FetchableImage {
    let avatarStore: AvatarStore
    let avatarMemory: MemoryCache?
}

/// Each front end returns the requested rendition, and never another one from memory.
@MainActor
@Suite(.timeLimit(.minutes(5)))
struct RenditionTests {
    /// About 140 pixels wide, so that renditions of 96 and 48 pixels are smaller.
    private let face = SampleImage.png(seed: 1, byteCount: 60_000)
    /// The sizes in turn; `nil` is the original.
    private let sizes = [96, nil, 48, nil, 96, 48]

    /// The bytes that a read returns.
    private func expected(_ size: Int?) -> [UInt8] {
        size.map { SampleImage.png(seed: UInt64($0), byteCount: 1000) } ?? face
    }

    private func rendition(_ size: Int?) -> Rendition? { size.map { Rendition(size: $0) } }

    private func withStore(_ body: (StoreFixture, _ url: String, SampleMaker) async throws -> Void) async throws {
        let maker = SampleMaker()
        try await StoreFixture.withStore {
            $0.renditions = maker
        } _: { fixture in
            try await body(fixture, fixture.serve(face, at: "/a.png"), maker)
        }
    }

    // MARK: Memory

    @Test func memoryKeepsRenditionsApart_andRemovesThemTogether() throws {
        let memory = MemoryCache()
        let key = try AvatarKey(name: "ada")
        func image(_ count: Int) -> AvatarImage {
            let file = AvatarFile(
                key: key,
                sizeBytes: count,
                mediaType: "image/png",
                width: 1,
                height: 1,
                isStale: false,
                source: .store
            )
            return AvatarImage(file: file, bytes: [UInt8](repeating: 7, count: count))
        }

        memory.insert(image(9), for: key)
        #expect(memory.image(for: key, as: Rendition(size: 96)) == nil)
        memory.insert(image(3), for: key, as: Rendition(size: 96))
        memory.insert(image(4), for: key, as: Rendition(size: 96, fit: .square))

        #expect(memory.image(for: key)?.bytes.count == 9)
        #expect(memory.image(for: key, as: Rendition(size: 96))?.bytes.count == 3)
        #expect(memory.image(for: key, as: Rendition(size: 96, fit: .square))?.bytes.count == 4)
        #expect(memory.image(for: key, as: Rendition(size: 48)) == nil)
        #expect(memory.count == 3 && memory.byteCount == 16)
        memory.remove(key)
        #expect(memory.count == 0 && memory.byteCount == 0)
        #expect(memory.image(for: key, as: Rendition(size: 96)) == nil)
    }

    @Test func renditionInMemoryIsRemovedWithItsOriginal() async throws {
        try await withStore { fixture, url, maker in
            let wall = Wall(avatarStore: fixture.store, avatarMemory: MemoryCache())
            let options = FetchableImageOptions(rendition: Rendition(size: 96))
            let first = try await wall.fetchImage(from: url, options: options)
            // These bytes differ from the file, so they can only come from memory.
            var marked = first
            marked.bytes = [1, 2, 3]
            wall.avatarMemory?.insert(marked, for: first.key, as: Rendition(size: 96))
            #expect(try await wall.fetchImage(from: url, options: options).bytes == [1, 2, 3])

            try await fixture.store.remove(first.key)

            #expect(try await wall.fetchImage(from: url, options: options).bytes == expected(96))
            #expect(maker.count == 2 && fixture.origin.requestCount == 2)
        }
    }

    // MARK: Front ends

    @Test func fetchableImage() async throws {
        try await withStore { fixture, url, maker in
            let wall = Wall(avatarStore: fixture.store, avatarMemory: MemoryCache())
            for size in sizes {
                let options = FetchableImageOptions(rendition: rendition(size))
                #expect(try await wall.fetchImage(from: url, options: options).bytes == expected(size))
                let file = try #require(try wall.localFileURL(for: url, options: options))
                #expect(try Data(contentsOf: file) == Data(expected(size)))
                for await fetched in wall.fetchBatchImages(using: [url], options: options) {
                    #expect(fetched.image?.bytes == expected(size))
                }
            }
            #expect(try wall.localFileURL(for: url, options: .init(rendition: Rendition(size: 32))) == nil)
            #expect(maker.count == 2 && fixture.origin.requestCount == 1)
        }
    }

    @Test func fetchIntoDocumentsMovesTheOriginalOfARendition() async throws {
        try await withStore { fixture, url, maker in
            let wall = Wall(avatarStore: fixture.store, avatarMemory: MemoryCache())
            let small = Rendition(size: 96)
            _ = try await wall.fetchImage(from: url, options: .init(rendition: small))

            let options = FetchableImageOptions(storeInCachesDirectory: false, rendition: small)
            #expect(try await wall.fetchImage(from: url, options: options).bytes == expected(96))

            #expect(try fixture.store.storedFile(for: url)?.storageClass == .documents)
            #expect(try await wall.fetchImage(from: url, options: options).rendition?.size == 96)
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func withoutDecoderTheOriginalIsReturned() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let wall = Wall(avatarStore: fixture.store, avatarMemory: MemoryCache())
            for _ in 0..<2 {
                let image = try await wall.fetchImage(from: url, options: .init(rendition: Rendition(size: 96)))
                #expect(image.bytes == face && image.rendition == nil && image.renditionFailure != nil)
            }
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test(arguments: [false, true]) func futureAvatar(withMemory: Bool) async throws {
        try await withStore { fixture, url, maker in
            let cache = withMemory ? FutureAvatar.CachePolicy.memoryAndDisk(MemoryCache()) : .disk
            var seen: Set<Int?> = []
            for size in sizes {
                let avatar = FutureAvatar(url: url, from: fixture.store, cache: cache, rendition: rendition(size))
                // The first use stores the original and its rendition. Each rendition is made at its first use.
                let isThere = size == nil ? !seen.isEmpty : seen.contains(size)
                #expect(avatar.content.image?.bytes == (isThere ? expected(size) : nil))
                let image = try await avatar.image
                #expect(image.bytes == expected(size))
                #expect(avatar.content.image?.bytes == expected(size))
                seen.insert(size)
            }
            #expect(maker.count == 2 && fixture.origin.requestCount == 1)
        }
    }

    @Test func decodedFutureUsesTheRenditionInUserInfo() async throws {
        try await withStore { fixture, url, _ in
            let decoder = JSONDecoder()
            decoder.userInfo = [.avatarStore: fixture.store, .avatarRendition: Rendition(size: 48)]
            let avatars = try decoder.decode([FutureAvatar].self, from: JSONEncoder().encode([url]))
            #expect(try await avatars[0].image.bytes == expected(48))
        }
    }

    @Test func futureInMemoryOnlyReturnsTheOriginal() async throws {
        try await withStore { fixture, url, maker in
            let memory = MemoryCache()
            let avatar = FutureAvatar(url: url, from: fixture.store, cache: .memory(memory), rendition: rendition(96))
            #expect(try await avatar.image.bytes == face)
            #expect(try await avatar.image.renditionFailure != nil)
            let key = try AvatarKey(url: url)
            #expect(memory.image(for: key) == nil && memory.image(for: key, as: rendition(96)) != nil)
            #expect(fixture.origin.requestCount == 1 && maker.count == 0)
        }
    }

    @Test func remoteAvatar() async throws {
        try await withStore { fixture, url, maker in
            let memory = MemoryCache()
            @MainActor func avatar(_ size: Int?) -> RemoteAvatar {
                let options = FetchOptions(rendition: rendition(size))
                return RemoteAvatar(url: url, from: fixture.store, memory: memory, options: options)
            }
            @MainActor func bytes(_ avatar: RemoteAvatar) -> [UInt8]? {
                avatar.content(loading: { nil }, image: { $0.bytes }, failure: { _ in [] })
            }
            for size in sizes {
                let first = avatar(size)
                await become { bytes(first) != nil }
                #expect(bytes(first) == expected(size))
                // A stored rendition has no loading state.
                #expect(bytes(avatar(size)) == expected(size))
            }
            #expect(maker.count == 2 && fixture.origin.requestCount == 1)
        }
    }

    @Test func avatarLoader() async throws {
        try await withStore { fixture, url, maker in
            let memory = MemoryCache()
            @MainActor func loader(_ size: Int?) -> AvatarLoader {
                let options = FetchOptions(rendition: rendition(size))
                return AvatarLoader(
                    regularURL: url,
                    from: fixture.store,
                    memory: memory,
                    options: options,
                    startsAtOnce: true
                )
            }
            for size in sizes {
                let first = loader(size)
                await become { !first.isLoading }
                #expect(first.image?.bytes == expected(size))
                let second = loader(size)
                #expect(!second.isLoading && second.image?.bytes == expected(size))
            }
            #expect(maker.count == 2 && fixture.origin.requestCount == 1)
        }
    }

    @Test func prefetcherMakesRenditions() async throws {
        try await withStore { fixture, url, maker in
            let key = try AvatarKey(url: url)
            let prefetcher = AvatarPrefetcher(store: fixture.store, rendition: Rendition(size: 48))
            prefetcher.prefetch([url])
            await prefetcher.waitUntilDone()

            #expect(try fixture.store.storedAvatar(for: key, as: Rendition(size: 48))?.bytes == expected(48))
            #expect(try fixture.store.storedFile(for: key, as: Rendition(size: 96)) == nil)
            #expect(maker.count == 1)
        }
    }

    // MARK: Stand-ins

    /// An evicted image whose ThumbHash is known, and whose response waits at a gate.
    private func withEvictedImage(
        _ body: (StoreFixture, _ url: String, LoopbackOrigin.Gate) async throws -> Void
    ) async throws {
        try await withStore { fixture, url, _ in
            _ = try await fixture.store.file(for: url, options: FetchOptions(rendition: Rendition(size: 48)))
            try await fixture.store.trim(to: 0)
            let gate = LoopbackOrigin.Gate()
            fixture.origin.setResponse(.image(face).held(by: gate), for: "/a.png")
            try await body(fixture, url, gate)
        }
    }

    @Test func frontEndsShowStandInDuringLoading() async throws {
        try await withEvictedImage { fixture, url, gate in
            let remote = RemoteAvatar(url: url, from: fixture.store, memory: nil)
            let loader = AvatarLoader(regularURL: url, from: fixture.store, memory: nil, startsAtOnce: true)
            let future = FutureAvatar(url: url, from: fixture.store)

            let standIn = try #require(remote.standIn)
            #expect(loader.standIn == standIn && future.standIn == standIn)
            let stored = try await fixture.store.save(standIn, named: "stand-in")
            let file = try #require(try fixture.store.storedFile(for: stored))
            #expect(file.mediaType == "image/png" && file.width == 32 && file.height == 23)

            gate.open()
            await become { loader.image != nil }
            await become { if case .image = remote.state { true } else { false } }
            #expect(remote.standIn == nil && loader.standIn == nil)
        }
    }

    @Test func imageWithoutThumbHashHasNoStandIn() async throws {
        try await withStore { fixture, url, _ in
            let remote = RemoteAvatar(url: url, from: fixture.store, memory: nil)
            #expect(remote.standIn == nil && FutureAvatar(url: url, from: fixture.store).standIn == nil)
            #expect(
                FutureAvatar(url: url).standIn == nil && FutureAvatar(url: "no URL", from: fixture.store).standIn == nil
            )
        }
    }

    // MARK: Fallbacks

    @Test func fallbackIsItsStoredRendition() async throws {
        try await withStore { fixture, _, _ in
            let silhouette = try await fixture.store.save(face, named: "silhouette")
            let missing = fixture.origin.url("/missing.png")
            let options = FetchOptions(rendition: Rendition(size: 48))
            @MainActor func shown() async -> [UInt8]? {
                let loader = AvatarLoader(
                    regularURL: missing,
                    from: fixture.store,
                    memory: nil,
                    options: options,
                    fallback: silhouette,
                    startsAtOnce: true
                )
                await become { !loader.isLoading }
                return loader.image?.bytes
            }
            #expect(await shown() == face)
            _ = try await fixture.store.file(for: silhouette, options: options)
            #expect(await shown() == expected(48))
        }
    }
}
