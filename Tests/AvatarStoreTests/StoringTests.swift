import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// Images that the caller passes in as if they had come from their origin.
@Suite(.timeLimit(.minutes(5)))
struct StoringTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let other = SampleImage.gif(seed: 2)
    private let hour = Duration.seconds(3600)

    /// The time of the fixture's clock, `hours` earlier.
    private func time(_ fixture: StoreFixture, hoursAgo hours: Int64) -> Timestamp {
        Timestamp(milliseconds: fixture.clock.now().milliseconds - hours * 3_600_000)
    }

    @Test func suppliedImageIsReadWithoutARequest() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(other, at: "/ada.png")
            let fetched = time(fixture, hoursAgo: 1)

            #expect(try await fixture.store.store(face, for: url, fetched: fetched))

            #expect(try fixture.store.storedAvatar(for: url)?.bytes == face)
            #expect(try await fixture.store.avatar(for: url).bytes == face)
            #expect(fixture.origin.requestCount == 0)
            let details = try #require(try fixture.store.details(for: AvatarKey(url: url)))
            #expect(details.fetched == fetched && details.overview.sourceURL == url)
            #expect(details.overview.storageClass == .caches)
            try fixture.expectConsistent()
        }
    }

    @Test(arguments: [true, false])
    func nextSyncRevalidatesTheSuppliedImage(hasTag: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            let date = "Wed, 31 Dec 2025 08:00:00 GMT"
            let url = fixture.origin.url("/ada.png")
            let current = LoopbackOrigin.Response.image(
                face,
                etag: hasTag ? "\"1\"" : nil,
                lastModified: hasTag ? nil : date,
                cacheControl: "max-age=60"
            )
            fixture.origin.setResponse(current, for: "/ada.png")
            let validators = ImageValidators(
                etag: hasTag ? "\"1\"" : nil,
                lastModified: hasTag ? nil : date,
                maxAge: .seconds(60)
            )
            try await fixture.store.store(
                face,
                for: url,
                fetched: time(fixture, hoursAgo: 2),
                validators: validators
            )
            let files = fixture.files(in: .caches)

            let report = try await fixture.store.sync()

            #expect(report.notModified == 1 && report.fetched == 0)
            #expect(report.bytesReceived == 0)
            let request = try #require(fixture.origin.requests.first)
            #expect(request.headers["If-None-Match"] == (hasTag ? "\"1\"" : nil))
            #expect(request.headers["If-Modified-Since"] == (hasTag ? nil : date))
            #expect(fixture.files(in: .caches) == files)
        }
    }

    @Test func suppliedImageIsFreshForItsLifetime() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/ada.png", etag: "\"1\"")
            let validators = ImageValidators([.eTag: "\"1\"", .cacheControl: "max-age=7200", .contentType: "text/html"])
            let fetched = time(fixture, hoursAgo: 1)
            try await fixture.store.store(face, for: url, fetched: fetched, validators: validators)

            #expect(try await fixture.store.sync(contacts: [Contact(id: "a", avatarURL: url)]).fresh == 1)
            #expect(fixture.origin.requestCount == 0)
            #expect(
                try fixture.store.details(for: AvatarKey(url: url))?.responseFields == "cache-control: max-age=7200"
            )

            fixture.clock.advance(by: hour + .seconds(721))
            #expect(try await fixture.store.sync().notModified == 1)
        }
    }

    @Test func imageFromLongAgoIsDownloadedAtTheNextCheck() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(other, at: "/ada.png", etag: "\"1\"")
            let fetched = time(fixture, hoursAgo: 31 * 24)
            let validators = ImageValidators(etag: "\"1\"")
            try await fixture.store.store(face, for: url, fetched: fetched, validators: validators)

            #expect(try await fixture.store.sync().changed == 1)
            #expect(fixture.origin.requests.first?.headers["If-None-Match"] == nil)
            #expect(try fixture.store.storedAvatar(for: url)?.bytes == other)
        }
    }

    @Test func olderImageDoesNotReplaceAFetchedOne() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/ada.png", etag: "\"new\"")
            _ = try await fixture.store.avatar(for: url)
            let old = ImageValidators(etag: "\"old\"")

            #expect(
                try await !fixture.store.store(other, for: url, fetched: time(fixture, hoursAgo: 1), validators: old)
            )

            #expect(try fixture.store.storedAvatar(for: url)?.bytes == face)
            #expect(try fixture.store.details(for: AvatarKey(url: url))?.overview.etag == "\"new\"")
            #expect(fixture.files(in: .caches).count == 1)
            try fixture.expectConsistent()
        }
    }

    @Test func olderImageDoesNotReplaceARevalidatedOne() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/ada.png", etag: "\"1\"")
            _ = try await fixture.store.avatar(for: url)
            fixture.clock.advance(by: .seconds(7200))
            #expect(try await fixture.store.sync().notModified == 1)

            // It was fetched after the stored bytes, but before they were confirmed.
            #expect(try await !fixture.store.store(other, for: url, fetched: time(fixture, hoursAgo: 1)))

            #expect(try fixture.store.storedAvatar(for: url)?.bytes == face)
            try fixture.expectConsistent()
        }
    }

    @Test func newerImageReplacesAnOlderOne_withItsValidators() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/ada.png", etag: "\"1\"")
            _ = try await fixture.store.avatar(for: url)
            fixture.clock.advance(by: .seconds(7200))

            let isStored = try await fixture.store.store(
                other,
                for: url,
                fetched: time(fixture, hoursAgo: 1),
                validators: ImageValidators(etag: "\"2\"")
            )

            #expect(isStored)
            #expect(try fixture.store.storedAvatar(for: url)?.bytes == other)
            #expect(try fixture.store.details(for: AvatarKey(url: url))?.overview.etag == "\"2\"")
            #expect(try fixture.store.changes(since: 0).last?.kind == .changed)
            try fixture.expectConsistent()
        }
    }

    @Test func evictedImageIsReplacedByAnOlderOne() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/ada.png")
            _ = try await fixture.store.avatar(for: url)
            try await fixture.store.trim(to: 0)

            #expect(try await fixture.store.store(other, for: url, fetched: time(fixture, hoursAgo: 100)))

            #expect(try fixture.store.storedAvatar(for: url)?.bytes == other)
        }
    }

    @Test func imageWithoutItsFileIsReplacedByAnOlderOne() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/ada.png")
            let file = try #require(try await fixture.store.avatar(for: url).localFile)
            try FileManager.default.removeItem(atPath: file)

            #expect(try await fixture.store.store(other, for: url, fetched: time(fixture, hoursAgo: 100)))

            #expect(try fixture.store.storedAvatar(for: url)?.bytes == other)
            try fixture.expectConsistent()
        }
    }

    /// The later of two is stored, in whichever order they come.
    @Test func concurrentCallsKeepTheNewestImage() async throws {
        try await StoreFixture.withStore { fixture in
            let images = (0..<20).map { SampleImage.png(seed: UInt64($0), byteCount: 1000 + $0) }
            let url = fixture.origin.url("/ada.png")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, image) in images.enumerated().shuffled() {
                    let fetched = time(fixture, hoursAgo: Int64(number))
                    group.addTask { try await fixture.store.store(image, for: url, fetched: fetched) }
                }
                try await group.waitForAll()
            }

            #expect(try fixture.store.storedAvatar(for: url)?.bytes == images[0])
            try fixture.expectConsistent()
        }
    }

    @Test func timeInTheFutureCountsAsNow() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.origin.url("/ada.png")
            try await fixture.store.store(face, for: url, fetched: time(fixture, hoursAgo: -5))

            #expect(try fixture.store.details(for: AvatarKey(url: url))?.fetched == fixture.clock.now())
        }
    }

    @Test func keyOfYourOwnKeepsItsURL() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/signed.png", etag: "\"1\"")
            let key = try AvatarKey(custom: "account-42")
            let fetched = time(fixture, hoursAgo: 48)

            await #expect { try await fixture.store.store(face, for: key, fetched: fetched) } throws: {
                ($0 as? AvatarStoreError)?.code == .noSuchEntry
            }
            try await fixture.store.store(
                face,
                for: key,
                from: url,
                fetched: fetched,
                validators: ImageValidators(etag: "\"1\"", maxAge: .zero)
            )

            #expect(try await fixture.store.sync().notModified == 1)
            #expect(fixture.origin.requestCount(for: "/signed.png") == 1)
        }
    }

    @Test func ownImagesHaveNoOrigin() async throws {
        try await StoreFixture.withStore { fixture in
            let key = try AvatarKey(name: "me")
            await #expect {
                try await fixture.store.store(
                    face,
                    for: key,
                    from: "https://example.org/a",
                    fetched: time(fixture, hoursAgo: 1)
                )
            } throws: {
                ($0 as? AvatarStoreError)?.code == .invalidKey
            }
            #expect(try fixture.store.list().items.isEmpty)
        }
    }

    @Test func checksOfAFetchApply() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let now = fixture.clock.now()
            func code(_ bytes: [UInt8], _ url: String = "https://example.org/a.png") async -> AvatarStoreError.Code? {
                do {
                    try await store.store(bytes, for: url, fetched: now)
                    return nil
                } catch {
                    return (error as? AvatarStoreError)?.code
                }
            }

            #expect(await code(Array("<html>".utf8)) == .imageRefused)
            #expect(await code(Array(face.dropLast(100))) == .imageRefused)
            #expect(await code(face, "https://user:secret@example.org/a.png") == .unsupportedURL)
            try await store.set(.maximumImageBytes, to: 3999)
            #expect(await code(face) == .imageRefused)
            try await store.set(.maximumImageBytes, to: nil)
            try await store.set(.maximumPixels, to: 1)
            #expect(await code(face) == .imageRefused)
            try await store.set(.maximumPixels, to: nil)
            try await store.set(.budget, to: 3999)
            #expect(await code(face) == .overBudget)
            #expect(try store.list().items.isEmpty)
            #expect(fixture.files(in: .caches).isEmpty)
            try fixture.expectConsistent()
        }
    }

    @Test(arguments: [CachingMode.offlineFirst, .strict])
    func noStoreIsRespectedWhereAFetchRespectsIt(mode: CachingMode) async throws {
        try await StoreFixture.withStore({ $0.mode = mode }) { fixture in
            let validators = ImageValidators([.cacheControl: "no-store"])
            let url = "https://example.org/a.png"
            let now = fixture.clock.now()
            guard mode == .strict else {
                let isStored = try await fixture.store.store(face, for: url, fetched: now, validators: validators)
                #expect(isStored)
                return
            }
            await #expect {
                try await fixture.store.store(face, for: url, fetched: now, validators: validators)
            } throws: {
                ($0 as? AvatarStoreError)?.code == .imageRefused
            }
            let stored = try fixture.store.storedAvatar(for: url)
            #expect(stored == nil)
        }
    }

    @Test func documentStaysADocument() async throws {
        try await StoreFixture.withStore { fixture in
            let url = try #require(URL(string: "https://example.org/a.png"))
            let first = time(fixture, hoursAgo: 2)
            try await fixture.store.store(face, for: url, fetched: first, in: .documents)
            try await fixture.store.store(other, for: url, fetched: time(fixture, hoursAgo: 1))

            let image = try #require(try fixture.store.storedAvatar(for: url))
            #expect(image.bytes == other && image.storageClass == .documents)
            #expect(fixture.files(in: .documents).count == 1 && fixture.files(in: .caches).isEmpty)
            try fixture.expectConsistent()
        }
    }

    @Test func contactThatWaitsForTheImageGetsIt() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.origin.url("/ada.png")
            let report = try await fixture.store.sync(contacts: [Contact(id: "42", avatarURL: url)])
            #expect(report.failed == 1)
            #expect(try fixture.store.avatar(forContact: "42") == nil)

            try await fixture.store.store(face, for: url, fetched: fixture.clock.now())

            #expect(try fixture.store.avatar(forContact: "42")?.bytes == face)
        }
    }

    @Test func storeForReadingOnlyStoresNothing() async throws {
        try await StoreFixture.withStore { fixture in
            let reader = try await fixture.openAgain { $0.access = .readOnly }
            await #expect {
                try await reader.store(face, for: "https://example.org/a.png", fetched: fixture.clock.now())
            } throws: {
                ($0 as? AvatarStoreError)?.code == .readOnly
            }
            try await reader.close()
        }
    }
}
