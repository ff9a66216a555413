import AvatarStore
import AvatarStoreTesting
import Testing

/// Two processes that need the same URL send one request.
@Suite(.timeLimit(.minutes(5)))
struct SingleFlightTests {
    private let face = SampleImage.png(seed: 1, byteCount: 1000)
    private let other = SampleImage.png(seed: 2, byteCount: 1000)

    @Test func imageIsFetchedOnce() async throws {
        try await whileOneWaits { fixture, second, gate in
            let url = fixture.serve(face, at: "/a.png")
            fixture.origin.setResponse(.image(face).held(by: gate), for: "/a.png")

            async let one = fixture.store.avatar(for: url)
            async let two = second.avatar(for: url)

            let images = try await [one, two]
            #expect(images.map(\.bytes) == [face, face])
            #expect(images.map(\.source) == [.origin, .origin])
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func imageIsReloadedOnce() async throws {
        try await whileOneWaits { fixture, second, gate in
            let url = fixture.serve(face, at: "/a.png")
            _ = try await fixture.store.avatar(for: url)
            fixture.clock.advance(by: .seconds(1))
            fixture.origin.setResponse(.image(other).held(by: gate), for: "/a.png")
            let options = FetchOptions(policy: .reload)

            async let one = fixture.store.avatar(for: url, options: options)
            try await fixture.origin.waitForRequests(2)
            async let two = second.avatar(for: url, options: options)

            #expect(try await [one.bytes, two.bytes] == [other, other])
            #expect(fixture.origin.requestCount == 2)
        }
    }

    @Test func imageIsRevalidatedOnce() async throws {
        try await whileOneWaits { fixture, second, gate in
            let url = fixture.serve(face, at: "/a.png", etag: "\"1\"", cacheControl: "max-age=1")
            _ = try await fixture.store.avatar(for: url)
            fixture.clock.advance(by: .seconds(10))
            let response = LoopbackOrigin.Response.image(face, etag: "\"1\"", cacheControl: "max-age=1")
            fixture.origin.setResponse(response.held(by: gate), for: "/a.png")
            let options = FetchOptions(policy: .revalidate)

            async let one = fixture.store.avatar(for: url, options: options)
            async let two = second.avatar(for: url, options: options)

            let images = try await [one, two]
            #expect(images.allSatisfy { $0.bytes == face && !$0.isStale })
            #expect(images.map(\.source) == [.revalidated, .revalidated])
            #expect(fixture.origin.requestCount == 2)
        }
    }

    @Test func bothProcessesGetTheFailure() async throws {
        try await whileOneWaits { fixture, second, gate in
            fixture.origin.setResponse(.status(503).held(by: gate), for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let fail: @Sendable (AvatarStore) async throws -> Void = { store in
                await #expect { try await store.avatar(for: url) } throws: {
                    ($0 as? AvatarStoreError)?.failure == .serverError
                }
            }

            async let one: Void = fail(fixture.store)
            try await fixture.origin.waitForRequests()
            async let two: Void = fail(second)

            _ = try await (one, two)
            #expect(fixture.origin.requestCount == 1)
            #expect(try fixture.store.details(for: AvatarKey(url: url))?.failureCount == 1)
        }
    }

    @Test func aSharedFetchIsStoredAsADocumentForTheReaderThatWantsOne() async throws {
        try await whileOneWaits { fixture, second, gate in
            fixture.origin.setResponse(.image(face).held(by: gate), for: "/a.png")
            let url = fixture.origin.url("/a.png")

            async let one = fixture.store.avatar(for: url)
            try await fixture.origin.waitForRequests()
            async let two = second.avatar(for: url, options: FetchOptions(storage: .documents))

            #expect(try await one.bytes == face)
            #expect(try await two.storageClass == .documents)
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func aWaiterFetchesAfterItsTimeLimit() async throws {
        try await withTwoStores { fixture, second in
            fixture.origin.setResponse(.hang, for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let hanging = Task { try await fixture.store.avatar(for: url) }
            try await fixture.origin.waitForRequests()
            fixture.serve(face, at: "/a.png")

            // The limit is that of the wait, and then that of the request, which a busy machine may need a while for.
            let image = try await second.avatar(for: url, options: .impatient(after: .seconds(4)))

            #expect(image.bytes == face)
            #expect(fixture.origin.requestCount == 2)
            hanging.cancel()
            await #expect(throws: CancellationError.self) { try await hanging.value }
        }
    }

    @Test func aWaiterFetchesAsSoonAsTheOtherGivesUp() async throws {
        try await withTwoStores { fixture, second in
            fixture.origin.setResponse(.hang, for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let hanging = Task { try await fixture.store.avatar(for: url) }
            try await fixture.origin.waitForRequests()
            fixture.serve(face, at: "/a.png")
            let begun = ContinuousClock.now
            async let image = second.avatar(for: url)

            hanging.cancel()

            #expect(try await image.bytes == face)
            #expect(ContinuousClock.now - begun < .seconds(9), "the time for one image is ten seconds")
        }
    }

    @Test func aWaiterCanBeCancelled() async throws {
        try await withTwoStores { fixture, second in
            fixture.origin.setResponse(.hang, for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let hanging = Task { try await fixture.store.avatar(for: url) }
            try await fixture.origin.waitForRequests()
            let waiting = Task { try await second.avatar(for: url) }

            waiting.cancel()

            await #expect(throws: CancellationError.self) { try await waiting.value }
            #expect(fixture.origin.requestCount == 1)
            hanging.cancel()
            _ = await hanging.result
        }
    }

    @Test func aTransientReadDoesNotWaitForALease() async throws {
        try await withTwoStores { fixture, second in
            fixture.origin.setResponse(.hang, for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let hanging = Task { try await fixture.store.avatar(for: url) }
            try await fixture.origin.waitForRequests()
            fixture.serve(face, at: "/a.png")

            let image = try await second.avatar(for: url, options: FetchOptions(storage: .transient))

            #expect(image.bytes == face)
            #expect(!hanging.isCancelled)
            hanging.cancel()
            _ = await hanging.result
        }
    }

    @Test func imageThatMayNotBeStoredIsFetchedByEach() async throws {
        try await whileOneWaits({ $0.respectsNoStore = true }) { fixture, second, gate in
            fixture.origin.setResponse(.image(face, cacheControl: "no-store").held(by: gate), for: "/a.png")
            let url = fixture.origin.url("/a.png")

            async let one = fixture.store.avatar(for: url)
            async let two = second.avatar(for: url)

            let images = try await [one, two]
            #expect(images.map(\.bytes) == [face, face])
            #expect(fixture.origin.requestCount == 2)
        }
    }

    @Test func otherImagesAreFetchedAtTheSameTime() async throws {
        try await withTwoStores { fixture, second in
            fixture.origin.setResponse(.hang, for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let hanging = Task { try await fixture.store.avatar(for: url) }
            try await fixture.origin.waitForRequests()

            let image = try await second.avatar(for: fixture.serve(other, at: "/b.png"))

            #expect(image.bytes == other)
            hanging.cancel()
            _ = await hanging.result
        }
    }
}
