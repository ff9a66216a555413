import AvatarStore
import AvatarStoreTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ReadingTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let otherFace = SampleImage.png(seed: 2, byteCount: 5000)

    @Test func firstReadFetchesAndStores() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/ada.png", etag: "\"1\"")

            let image = try await fixture.store.avatar(for: url)

            #expect(image.bytes == face)
            #expect(image.source == .origin)
            #expect(image.mediaType == "image/png")
            #expect(!image.isStale)
            #expect(image.localFile?.hasPrefix(fixture.directory + "/caches/") == true)
            try fixture.expectConsistent()
        }
    }

    @Test func laterReadsSendNoRequest_evenWhenStale() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/ada.png")
            _ = try await fixture.store.avatar(for: url)
            fixture.clock.advance(by: .seconds(4000))

            let image = try await fixture.store.avatar(for: url)

            #expect(image.bytes == face)
            #expect(image.isStale)
            #expect(image.source == .store)
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func anImageThatStrictForbidsToServeIsNotReportedMissing() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.image(face, cacheControl: "max-age=60, must-revalidate"), for: "/ada.png")
            let url = fixture.origin.url("/ada.png")
            _ = try await fixture.store.avatar(for: url)
            fixture.clock.advance(by: .seconds(61))
            var options = FetchOptions(policy: .offline)
            #expect(try await fixture.store.avatar(for: url, options: options).bytes == face)

            options.mode = .strict
            let error = await #expect(throws: AvatarStoreError.self) {
                try await fixture.store.avatar(for: url, options: options)
            }

            #expect(error?.failure == .offline)
            #expect(error?.message.contains("is stored but stale") == true, "\(error?.message ?? "")")
        }
    }

    @Test func offlinePolicySendsNoRequest() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/ada.png")

            await #expect {
                try await fixture.store.avatar(for: url, options: FetchOptions(policy: .offline))
            } throws: {
                ($0 as? AvatarStoreError)?.failure == .offline
            }
            #expect(fixture.origin.requestCount == 0)
        }
    }

    @Test func revalidatingAFreshImageSendsNoRequest_aStaleOneAConditionalRequest() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/ada.png", etag: "\"1\"")
            let revalidate = FetchOptions(policy: .revalidate)
            _ = try await fixture.store.avatar(for: url)
            _ = try await fixture.store.avatar(for: url, options: revalidate)
            #expect(fixture.origin.requestCount == 1)
            let files = fixture.files(in: .caches)

            fixture.clock.advance(by: .seconds(4000))
            let image = try await fixture.store.avatar(for: url, options: revalidate)

            #expect(image.source == .revalidated)
            #expect(!image.isStale)
            #expect(fixture.origin.requests.last?.headers["If-None-Match"] == "\"1\"")
            #expect(fixture.files(in: .caches) == files)
        }
    }

    @Test func changedImageReplacesTheOldFile() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/ada.png", etag: "\"1\"")
            let old = try await fixture.store.avatar(for: url)
            fixture.serve(otherFace, at: "/ada.png", etag: "\"2\"")
            fixture.clock.advance(by: .seconds(4000))

            let new = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .revalidate))

            #expect(new.bytes == otherFace)
            #expect(new.localFile != old.localFile)
            #expect(fixture.files(in: .caches).count == 1)
            try fixture.expectConsistent()
        }
    }

    @Test func equalBytesUnderANewTagWriteNoFile() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/ada.png", etag: "\"1\"")
            _ = try await fixture.store.avatar(for: url)
            let files = fixture.files(in: .caches)
            fixture.serve(face, at: "/ada.png", etag: "\"2\"")

            _ = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))

            #expect(fixture.files(in: .caches) == files)
            try fixture.expectConsistent()
        }
    }

    @Test func equalImagesOfTwoURLsShareOneFile() async throws {
        try await StoreFixture.withStore { fixture in
            let first = fixture.serve(face, at: "/logo-a.png")
            let second = fixture.serve(face, at: "/logo-b.png")

            let one = try await fixture.store.avatar(for: first)
            let two = try await fixture.store.avatar(for: second)

            #expect(one.localFile == two.localFile)
            #expect(try fixture.store.statistics().cachesBytes == face.count)
            try await fixture.store.remove(one.key)
            #expect(try fixture.store.storedAvatar(for: second)?.bytes == face)
            try fixture.expectConsistent()
        }
    }

    @Test func purgedFileIsFetchedAgain() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/ada.png", etag: "\"1\"")
            let image = try await fixture.store.avatar(for: url)
            try removeFile(#require(image.localFile))

            #expect(try fixture.store.storedAvatar(for: url) == nil)
            let again = try await fixture.store.avatar(for: url)

            #expect(again.bytes == face)
            #expect(fixture.origin.requests.last?.headers["If-None-Match"] == nil)
            try fixture.expectConsistent()
        }
    }

    @Test func purgedFileIsNotSharedWithEqualBytes() async throws {
        try await StoreFixture.withStore { fixture in
            let first = fixture.serve(face, at: "/a.png")
            let second = fixture.serve(face, at: "/b.png")
            let image = try await fixture.store.avatar(for: first)
            try removeFile(#require(image.localFile))

            #expect(try await fixture.store.avatar(for: second).bytes == face)
            #expect(try fixture.store.storedAvatar(for: first) == nil)
            #expect(try await fixture.store.avatar(for: first).bytes == face)
            try fixture.expectConsistent()
        }
    }

    @Test func manyReadersOfOneURLShareOneRequest() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.origin.url("/slow.png")
            fixture.origin.setResponse(.image(face, etag: nil).delayed(by: .milliseconds(200)), for: "/slow.png")

            let images = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for _ in 0..<20 { group.addTask { try await fixture.store.avatar(for: url).bytes } }
                return try await group.reduce(into: []) { $0.append($1) }
            }

            #expect(images == Array(repeating: face, count: 20))
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func aCancelledReaderDoesNotCancelTheFetchOfOthers() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.origin.url("/slow.png")
            let gate = LoopbackOrigin.Gate()
            fixture.origin.setResponse(.image(face, etag: nil).held(by: gate), for: "/slow.png")

            let first = Task { try await fixture.store.avatar(for: url) }
            let second = Task { try await fixture.store.avatar(for: url) }
            try await fixture.origin.waitForRequests()
            first.cancel()

            await #expect(throws: CancellationError.self) { try await first.value }
            gate.open()
            let image = try await second.value
            #expect(image.bytes == face)
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func documentsArePromotedAndNeverDemoted() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/ada.png", etag: "\"1\"")
            _ = try await fixture.store.avatar(for: url)

            let promoted = try await fixture.store.avatar(for: url, options: FetchOptions(storage: .documents))
            #expect(promoted.storageClass == .documents)
            #expect(fixture.files(in: .caches).isEmpty)

            fixture.serve(otherFace, at: "/ada.png", etag: "\"2\"")
            let reloaded = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))
            #expect(reloaded.bytes == otherFace)
            #expect(reloaded.storageClass == .documents)
            try fixture.expectConsistent()
        }
    }

    @Test func aTransientReadChangesNothing() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/ada.png")

            let image = try await fixture.store.avatar(for: url, options: FetchOptions(storage: .transient))

            #expect(image.bytes == face)
            #expect(image.localFile == nil)
            #expect(try fixture.store.list().items.isEmpty)
            #expect(try fixture.store.statistics().stagingBytes == 0)
        }
    }

    @Test func aLentFileStaysReadableWhenItIsRemoved() async throws {
        try await StoreFixture.withStore(endsSound: false) { fixture in
            let image = try await fixture.store.avatar(for: fixture.serve(face, at: "/ada.png"))

            let lent = try fixture.store.withFile(for: image.key) { descriptor in
                try removeFile(#require(image.localFile))
                return try #require(length(of: descriptor))
            }

            #expect(lent == face.count)
            #expect(try fixture.store.withFile(for: image.key) { _ in true } == nil)
        }
    }

    @Test func keysOfTheCallersOwnKeepTheLatestURL() async throws {
        try await StoreFixture.withStore { fixture in
            let key = try AvatarKey(custom: "person/42")
            fixture.serve(face, at: "/signed", cacheControl: "max-age=0")
            let first = fixture.origin.url("/signed?signature=1")
            let second = fixture.origin.url("/signed?signature=2")

            _ = try await fixture.store.avatar(for: key, from: first)
            _ = try await fixture.store.avatar(for: key, from: second, options: FetchOptions(policy: .revalidate))

            let items = try fixture.store.list().items
            #expect(items.map(\.sourceURL) == [second])
            #expect(items.map(\.key.rawValue) == ["person/42"])
        }
    }
}
