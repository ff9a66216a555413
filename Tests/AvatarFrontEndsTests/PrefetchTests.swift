import AvatarFrontEnds
import AvatarStoreTesting
import Testing

@testable import AvatarStore

@Suite(.timeLimit(.minutes(5)))
struct PrefetchTests {
    private func serve(_ fixture: StoreFixture, _ names: [String]) -> [String] {
        names.enumerated().map { fixture.serve(Images.face($0), at: "/\($1).png") }
    }

    @Test func prefetchedImagesAreStored() async throws {
        try await StoreFixture.withStore { fixture in
            let urls = serve(fixture, (0..<30).map { "\($0)" })
            let prefetcher = AvatarPrefetcher(store: fixture.store)

            prefetcher.prefetch(urls + ["no URL", fixture.origin.url("/missing.png")] + urls)
            await prefetcher.waitUntilDone()

            #expect(prefetcher.pendingCount == 0)
            for (number, url) in urls.enumerated() {
                let stored = try fixture.store.storedAvatar(for: url)
                #expect(stored?.bytes == Images.face(number))
            }
            #expect(fixture.origin.requestCount == 31)
            prefetcher.prefetch(urls)
            await prefetcher.waitUntilDone()
            #expect(fixture.origin.requestCount == 31, "a stored image costs no request")
        }
    }

    /// Prefetches `hang` and then `more` in a store with one connection, which `hang` occupies.
    private func withBusyPrefetch(
        limit: Int = 1,
        _ more: [String],
        _ body: (StoreFixture, AvatarPrefetcher, _ hang: String, _ urls: [String]) async throws -> Void
    ) async throws {
        try await StoreFixture.withStore({ $0.connections = 1 }) { fixture in
            fixture.origin.setResponse(.hang, for: "/hang.png")
            let hang = fixture.origin.url("/hang.png")
            let urls = serve(fixture, more)
            let prefetcher = AvatarPrefetcher(store: fixture.store, limit: limit)
            // Start it alone, so that it gets the connection.
            prefetcher.prefetch([hang])
            try await fixture.origin.waitForRequests()
            prefetcher.prefetch(urls)
            try await body(fixture, prefetcher, hang, urls)
        }
    }

    @Test func readOvertakesThePrefetch() async throws {
        try await withBusyPrefetch(limit: 4, ["a", "b", "c"]) { fixture, prefetcher, hang, urls in
            try await waitUntil { fixture.store.requests.waitingCount >= 3 }
            let other = fixture.serve(Images.face(9), at: "/other.png")
            // One image that is also in the queue, and one that is not.
            async let wanted = fixture.store.avatar(for: urls[2])
            try await waitUntil { fixture.store.waiterCount(of: try AvatarKey(url: urls[2])) >= 2 }
            async let unexpected = fixture.store.avatar(for: other)
            try await waitUntil { fixture.store.requests.waitingCount >= 4 }

            prefetcher.cancel([hang])

            _ = try await (wanted, unexpected)
            await prefetcher.waitUntilDone()
            let paths = fixture.origin.requests.map(\.path)
            #expect(paths.count == 5, "an image that was read meanwhile is not fetched again: \(paths)")
            #expect(Set(paths[1...2]) == ["/c.png", "/other.png"])
        }
    }

    @Test func cancelledImagesAreNotFetched() async throws {
        try await withBusyPrefetch(["a", "b", "c"]) { fixture, prefetcher, hang, urls in
            prefetcher.cancel([urls[0], urls[1]])
            #expect(prefetcher.pendingCount == 2)
            prefetcher.cancel([hang])
            await prefetcher.waitUntilDone()
            #expect(fixture.origin.requests.map(\.path) == ["/hang.png", "/c.png"])
        }
    }

    @Test func cancelAllEndsAllFetches_andPrefetchCanStartAgain() async throws {
        try await withBusyPrefetch(["a", "b"]) { fixture, prefetcher, _, urls in
            prefetcher.cancelAll()
            await prefetcher.waitUntilDone()
            try await fixture.origin.waitForNoConnection()
            #expect(fixture.origin.requestCount == 1)
            prefetcher.prefetch(urls)
            await prefetcher.waitUntilDone()
            #expect(fixture.origin.requestCount == 3)
        }
    }

    @Test func cancelledImageCanBePrefetchedAgain() async throws {
        try await withBusyPrefetch(["a"]) { fixture, prefetcher, hang, urls in
            fixture.serve(Images.face(7), at: "/hang.png")
            for _ in 0..<200 {
                prefetcher.cancel([hang, urls[0]])
                prefetcher.prefetch([hang, urls[0]])
            }
            #expect(prefetcher.pendingCount == 2)
            await prefetcher.waitUntilDone()
            let stored = try [hang, urls[0]].map { try fixture.store.storedAvatar(for: $0)?.bytes }
            #expect(stored == [Images.face(7), Images.face(0)])
        }
    }

    @Test func fetchWithAnotherReaderContinues() async throws {
        try await StoreFixture.withStore { fixture in
            let gate = LoopbackOrigin.Gate()
            fixture.origin.setResponse(.image(Images.face(1)).held(by: gate), for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let prefetcher = AvatarPrefetcher(store: fixture.store)
            prefetcher.prefetch([url])
            try await fixture.origin.waitForRequests()
            let wanted = Task { try await fixture.store.avatar(for: url).bytes }
            try await waitUntil { try fixture.store.waiterCount(of: AvatarKey(url: url)) >= 2 }

            prefetcher.cancelAll()
            gate.open()

            #expect(try await wanted.value == Images.face(1))
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func releasingThePrefetcherCancelsItsFetches() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.hang, for: "/hang.png")
            var prefetcher: AvatarPrefetcher? = AvatarPrefetcher(store: fixture.store)
            prefetcher?.prefetch([fixture.origin.url("/hang.png")])
            try await fixture.origin.waitForRequests()
            prefetcher = nil
            try await fixture.origin.waitForNoConnection()
        }
    }
}
