import AvatarStore
import AvatarStoreTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MovingFromAnotherCacheExamples {
    /// One image of the cache that a program had before.
    private struct CachedImage {
        let url: String
        let bytes: [UInt8]
        let etag: String?
        let lastModified: String?
        let fetched: Timestamp
    }

    @Test func imagesMoveOverWithoutARequest() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let oldCache = ["/ada.png", "/ben.png"].map { path in
                let bytes = SampleImage.identicon(for: path)
                let url = fixture.serve(bytes, at: path, etag: "\"\(path)\"")
                let fetched = Timestamp(milliseconds: fixture.clock.now().milliseconds - 7_200_000)
                return CachedImage(url: url, bytes: bytes, etag: "\"\(path)\"", lastModified: nil, fetched: fetched)
            }

            for cached in oldCache {
                let validators = ImageValidators(
                    etag: cached.etag,
                    lastModified: cached.lastModified,
                    maxAge: .seconds(3600)
                )
                try await store.store(cached.bytes, for: cached.url, fetched: cached.fetched, validators: validators)
            }

            #expect(fixture.origin.requestCount == 0)
            #expect(try await store.sync().notModified == 2)
            #expect(try store.storedAvatar(for: oldCache[0].url)?.bytes == oldCache[0].bytes)
        }
    }
}
