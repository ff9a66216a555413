import AvatarFrontEnds
import AvatarStoreTesting
import Synchronization
import Testing

@testable import AvatarStore

@MainActor
@Suite(.timeLimit(.minutes(5)))
struct AvatarLoaderTests {
    private let face = SampleImage.png(seed: 1, byteCount: 20_000)
    private let other = Images.face(2)
    private let slowly = LoopbackOrigin.Behaviour.drip(byteCount: 4000, interval: .milliseconds(100))

    @Test func fetchStartsOnDemand() async throws {
        try await StoreFixture.withStore { fixture in
            let loader = AvatarLoader(url: fixture.serve(face, at: "/a.png"), from: fixture.store)
            #expect(!loader.isLoading && loader.image == nil && loader.error == nil && loader.progress == nil)
            loader.fetch()
            #expect(loader.isLoading)
            await become { loader.image != nil }
            #expect(loader.image?.bytes == face && !loader.isLoading)
            #expect(loader.progress == FetchProgress(completedBytes: 20_000, totalBytes: 20_000))
        }
    }

    @Test func startsAtOnce_andDoesNotFetchALoadedImageAgain() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let loader = AvatarLoader(url: url, from: fixture.store, startsAtOnce: true)
            #expect(loader.isLoading)
            loader.fetch()
            await become { loader.image != nil }
            // Removing the image does not make the loader fetch it again.
            MemoryCache.shared.remove(try AvatarKey(url: url))
            try await fixture.store.remove(AvatarKey(url: url))
            loader.fetch()
            #expect(!loader.isLoading && loader.image?.bytes == face)
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func errorIsClearedOnRestart() async throws {
        try await StoreFixture.withStore { fixture in
            let loader = AvatarLoader(url: fixture.origin.url("/a.png"), from: fixture.store, startsAtOnce: true)
            await become { loader.error != nil }
            #expect(loader.error?.failure == .gone && !loader.isLoading && loader.image == nil)
            fixture.serve(face, at: "/a.png")

            loader.fetch()

            #expect(loader.error == nil && loader.isLoading)
            await become { loader.image != nil }
            #expect(loader.error == nil)
        }
    }

    @Test func fallbackIsShownWithTheError() async throws {
        try await StoreFixture.withStore { fixture in
            let silhouette = try await fixture.store.save(other, named: "silhouette")
            let url = fixture.origin.url("/missing.png")
            let loader = AvatarLoader(regularURL: url, from: fixture.store, fallback: silhouette, startsAtOnce: true)
            await become { loader.error != nil }
            #expect(loader.image?.bytes == other)
            fixture.serve(face, at: "/missing.png")
            loader.fetch()
            await become { loader.image?.bytes == face }
        }
    }

    @Test func progressGrows_withOrWithoutATotal() async throws {
        try await StoreFixture.withStore({ $0.timeout = longEnough }) { fixture in
            // A smaller body arrives whole, so that its length is known.
            let large = SampleImage.png(seed: 1, byteCount: 100_000)
            let chunked = LoopbackOrigin.Response.image(large).behaving(.chunked)
            fixture.origin.setResponse(chunked, for: "/unknown.png")
            try await moreAndMoreSlowly { milliseconds in
                let path = "/known-\(milliseconds).png"
                let drip = LoopbackOrigin.Behaviour.drip(byteCount: 4000, interval: .milliseconds(milliseconds))
                fixture.origin.setResponse(.image(face).behaving(drip), for: path)
                let known = AvatarLoader(url: fixture.origin.url(path), from: fixture.store, startsAtOnce: true)
                var seen: [FetchProgress] = []
                await become {
                    if let progress = known.progress { seen.append(progress) }
                    return known.image != nil || known.error != nil
                }
                #expect(known.error == nil)
                #expect(seen.map(\.completedBytes) == seen.map(\.completedBytes).sorted())
                #expect(seen.allSatisfy { $0.totalBytes == 20_000 })
                return seen.count > 2
            }

            let unknown = AvatarLoader(url: fixture.origin.url("/unknown.png"), from: fixture.store, startsAtOnce: true)
            await become { unknown.image != nil }
            #expect(unknown.progress == FetchProgress(completedBytes: 100_000, totalBytes: nil))
        }
    }

    @Test func cancelledDownloadResumes() async throws {
        try await StoreFixture.withStore { fixture in
            // The first response breaks off.
            let image = LoopbackOrigin.Response.image(face, etag: "\"1\"")
            let stalling = image.behaving(.drip(byteCount: 4000, interval: .seconds(60)))
            fixture.origin.setResponse(for: "/a.png") { $0.headers["Range"] == nil ? stalling : image }
            let loader = AvatarLoader(url: fixture.origin.url("/a.png"), from: fixture.store, startsAtOnce: true)
            await become { loader.progress != nil }
            let stopped = loader.progress?.completedBytes ?? 0

            loader.cancel()
            #expect(!loader.isLoading && loader.error == nil && loader.image == nil)
            loader.fetch()
            await become { loader.image != nil }

            #expect(loader.image?.bytes == face)
            let ranges = fixture.origin.requests.map { $0.headers["Range"] }
            try #require(ranges.count == 2 && ranges[0] == nil)
            let begin = ranges[1].flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0
            #expect(begin >= stopped && begin > 0)
        }
    }

    @Test func cancelledDownloadStartsAgainWithoutAnETag() async throws {
        try await StoreFixture.withStore { fixture in
            let stalling = LoopbackOrigin.Behaviour.drip(byteCount: 4000, interval: .seconds(60))
            // Without an ETag, the rest of the file may belong to another version of the image.
            fixture.origin.setResponse(LoopbackOrigin.Response.image(face).behaving(stalling), for: "/a.png")
            let loader = AvatarLoader(url: fixture.origin.url("/a.png"), from: fixture.store, startsAtOnce: true)
            await become { loader.progress != nil }
            loader.cancel()
            fixture.origin.setResponse(.image(face), for: "/a.png")

            loader.fetch()
            await become { loader.image != nil }

            #expect(loader.image?.bytes == face)
            #expect(fixture.origin.requests.allSatisfy { $0.headers["Range"] == nil })
            #expect(fixture.origin.requestCount == 2)
        }
    }

    @Test func releasingTheLoaderCancels_unlessAnotherReaderWaits() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.hang, for: "/a.png")
            fixture.origin.setResponse(.image(face).behaving(slowly), for: "/shared.png")
            var alone: AvatarLoader? = AvatarLoader(
                url: fixture.origin.url("/a.png"),
                from: fixture.store,
                startsAtOnce: true
            )
            weak let weakLoader = alone
            try await fixture.origin.waitForRequests()
            alone = nil
            #expect(weakLoader == nil)
            try await fixture.origin.waitForNoConnection()

            let shared = fixture.origin.url("/shared.png")
            var one: AvatarLoader? = AvatarLoader(url: shared, from: fixture.store, startsAtOnce: true)
            let two = AvatarLoader(url: shared, from: fixture.store, startsAtOnce: true)
            await become { two.progress != nil }
            #expect(one != nil)
            one = nil
            await become { two.image != nil }
            #expect(two.image?.bytes == face)
            #expect(fixture.origin.requestCount(for: "/shared.png") == 1)
        }
    }

    @Test func meteredNetworkFetchesTheSmallerImage() async throws {
        try await StoreFixture.withStore { fixture in
            let isConstrained = Mutex(true)
            let regular = fixture.serve(face, at: "/regular.png")
            let low = fixture.serve(other, at: "/low.png")
            @MainActor func loader() -> AvatarLoader {
                let loader = AvatarLoader(
                    regularURL: regular,
                    lowDataURL: low,
                    from: fixture.store,
                    isConstrained: { isConstrained.withLock { $0 } }
                )
                loader.fetch()
                return loader
            }
            let first = loader()
            await become { first.image != nil }
            #expect(first.image?.bytes == other)
            #expect(fixture.origin.requestCount(for: "/regular.png") == 0)
            isConstrained.withLock { $0 = false }
            let second = loader()
            await become { second.image != nil }
            #expect(second.image?.bytes == face)
            isConstrained.withLock { $0 = true }
            #expect(loader().image?.bytes == face, "a stored image costs no request")
        }
    }

    @Test func priorityChangesWhileItWaitsForAConnection() async throws {
        try await StoreFixture.withStore({ $0.connections = 1 }) { fixture in
            fixture.origin.setResponse(.hang, for: "/busy.png")
            let busy = AvatarLoader(url: fixture.origin.url("/busy.png"), from: fixture.store, startsAtOnce: true)
            try await fixture.origin.waitForRequests()
            let names = ["first", "second", "third"]
            let loaders = names.enumerated().map { number, name in
                let url = fixture.serve(Images.face(number), at: "/\(name).png")
                return AvatarLoader(url: url, from: fixture.store, startsAtOnce: true)
            }
            try await waitUntil { fixture.store.requests.waitingCount >= 3 }
            loaders[2].priority = .high
            loaders[0].priority = .background
            #expect(busy.isLoading)

            busy.cancel()

            await become { loaders.allSatisfy { $0.image != nil } }
            #expect(fixture.origin.requests.map(\.path) == ["/busy.png", "/third.png", "/second.png", "/first.png"])
        }
    }

    @Test(arguments: ["progressive.jpg", "interlaced.png", "interlaced.gif"])
    func previewsArriveBeforeTheImage(name: String) async throws {
        try await StoreFixture.withStore({ $0.timeout = longEnough }) { fixture in
            let image = try Images.named(name)
            try await moreAndMoreSlowly { milliseconds in
                let path = "/\(milliseconds)"
                let drip = LoopbackOrigin.Behaviour.drip(
                    byteCount: image.count / 12,
                    interval: .milliseconds(milliseconds)
                )
                fixture.origin.setResponse(.image(image).behaving(drip), for: path)
                let loader = AvatarLoader(url: fixture.origin.url(path), from: fixture.store, startsAtOnce: true)
                var previews: [[UInt8]] = []
                await become {
                    if let preview = loader.preview, preview != previews.last { previews.append(preview) }
                    return loader.image != nil || loader.error != nil
                }
                #expect(loader.error == nil)
                #expect(previews.allSatisfy { image.starts(with: $0) && $0.count < image.count })
                #expect(loader.preview == nil && loader.image?.bytes == image)
                return previews.count > 1
            }
        }
    }

    /// The time limit of an image that comes in pieces, the slowest in 26 s.
    private let longEnough = Duration.seconds(60)

    /// A busy machine may deliver several chunks of an image as one. So the origin sends them more and more slowly,
    /// until `body` has seen them one by one.
    private func moreAndMoreSlowly(_ body: (Int) async throws -> Bool) async throws {
        for milliseconds in [80, 400, 2000] {
            if try await body(milliseconds) { return }
        }
        Issue.record("The pieces were not seen one by one.")
    }

    @Test func imagesDrawnTopToBottomHaveNoPreview() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.image(face).behaving(slowly), for: "/a.png")
            let loader = AvatarLoader(url: fixture.origin.url("/a.png"), from: fixture.store, startsAtOnce: true)
            await become {
                #expect(loader.preview == nil)
                return loader.image != nil
            }
        }
    }
}
