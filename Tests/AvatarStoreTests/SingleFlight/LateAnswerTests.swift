import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Testing

/// A process may be paused for longer than others wait for it. Its response is then older than what they stored.
@Suite(.timeLimit(.minutes(5)))
struct LateAnswerTests {
    private let old = SampleImage.png(seed: 1, byteCount: 1000)
    private let new = SampleImage.png(seed: 2, byteCount: 1000)
    private let key = "/a.png"

    /// One store requests and gets `late`. The other requests later, does not wait as long, gets `prompt` and stores it
    /// first.
    private func overtake(
        _ fixture: StoreFixture,
        _ second: AvatarStore,
        late: LoopbackOrigin.Response,
        _ policy: FetchOptions.Policy = .reload,
        prompt: LoopbackOrigin.Response
    ) async throws -> AvatarImage {
        let url = fixture.origin.url(key)
        let requests = fixture.origin.requestCount
        let gate = LoopbackOrigin.Gate()
        fixture.origin.setResponse(late.held(by: gate), for: key)
        let slow = Task { try await fixture.store.avatar(for: url, options: FetchOptions(policy: policy)) }
        try await fixture.origin.waitForRequests(requests + 1)
        fixture.clock.advance(by: .seconds(60))
        fixture.origin.setResponse(prompt, for: key)
        do {
            _ = try await second.avatar(for: url, options: .impatient(policy))
        } catch let error as AvatarStoreError where error.code == .fetchFailed {
            // `prompt` may be a failure.
        }
        fixture.clock.advance(by: .seconds(60))
        gate.open()
        return try await slow.value
    }

    private func details(_ fixture: StoreFixture) throws -> AvatarDetails {
        try #require(try fixture.store.details(for: AvatarKey(url: fixture.origin.url(key))))
    }

    @Test(arguments: [true, false])
    func olderImageDoesNotReplaceANewerOne(isStored: Bool) async throws {
        try await withTwoStores { fixture, second in
            if isStored { _ = try await fixture.store.avatar(for: fixture.serve(old, at: key, etag: "\"0\"")) }

            let late = try await overtake(
                fixture,
                second,
                late: .image(SampleImage.png(seed: 3, byteCount: 1500), etag: "\"1\""),
                prompt: .image(new, etag: "\"2\"")
            )

            #expect(late.bytes == new)
            #expect(try second.storedAvatar(for: late.key)?.bytes == new)
            #expect(try details(fixture).overview.etag == "\"2\"")
            #expect(fixture.files(in: .caches).values.map(\.self) == [1000])
        }
    }

    @Test func anOlderFailureDoesNotMarkANewerImage() async throws {
        try await withTwoStores { fixture, second in
            let late = try await overtake(fixture, second, late: .status(503), prompt: .image(new, etag: nil))

            #expect(late.bytes == new)
            #expect(try details(fixture).failure == nil)
            #expect(try details(fixture).failureCount == 0)
        }
    }

    @Test func anOlderConfirmationDoesNotRestoreItsValidators() async throws {
        try await withTwoStores { fixture, second in
            let url = fixture.serve(old, at: key, etag: "\"1\"", cacheControl: "max-age=1")
            _ = try await fixture.store.avatar(for: url)
            fixture.clock.advance(by: .seconds(10))

            let late = try await overtake(
                fixture,
                second,
                late: .image(old, etag: "\"1\"", cacheControl: "max-age=1"),
                .revalidate,
                prompt: .image(old, etag: "\"2\"", cacheControl: "max-age=9000")
            )

            #expect(late.bytes == old)
            #expect(try details(fixture).overview.etag == "\"2\"")
            #expect(try details(fixture).responseFields?.contains("9000") == true)
        }
    }

    /// Whatever the origin says now, an image that it once had is better than none.
    @Test func lateImageIsStoredIfOthersOnlyFailed() async throws {
        try await withTwoStores { fixture, second in
            let late = try await overtake(fixture, second, late: .image(new, etag: nil), prompt: .status(503))

            #expect(late.bytes == new)
            #expect(try second.storedAvatar(for: late.key)?.bytes == new)
        }
    }

    @Test func aClockSetBackDoesNotRejectANewImage() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await fixture.store.avatar(for: fixture.serve(old, at: key))
            fixture.clock.advance(by: .seconds(-86_400))
            fixture.serve(new, at: key)

            let image = try await fixture.store.avatar(
                for: fixture.origin.url(key),
                options: FetchOptions(policy: .reload)
            )

            #expect(image.bytes == new)
            try fixture.expectConsistent()
        }
    }

    /// Two images of a batch have the same bytes, and the first of them arrives too late.
    @Test func aLateImageStillServesAnEntryWithEqualBytes() async throws {
        try await withTwoStores { fixture, second in
            let gate = LoopbackOrigin.Gate()
            let slow = LoopbackOrigin.Response.image(old).held(by: gate)
            for path in [key, "/b.png"] { fixture.origin.setResponse(slow, for: path) }
            let contacts = [key, "/b.png"].map { Contact(id: $0, avatarURL: fixture.origin.url($0)) }
            let sync = Task { try await fixture.store.sync(contacts: contacts) }
            try await fixture.origin.waitForRequests(2)
            fixture.clock.advance(by: .seconds(60))
            fixture.serve(new, at: key)
            _ = try await second.avatar(for: fixture.origin.url(key), options: .impatient())

            gate.open()
            let report = try await sync.value

            #expect(report.fetched == 2)
            #expect(report.failures == [])
            #expect(try fixture.store.storedAvatar(for: fixture.origin.url(key))?.bytes == new)
            #expect(try fixture.store.storedAvatar(for: fixture.origin.url("/b.png"))?.bytes == old)
            #expect(try details(fixture).overview.contacts == [key])
        }
    }

    @Test func contactIsLinkedToAnImageThatBecameADocumentMeanwhile() async throws {
        try await withTwoStores { fixture, second in
            let url = fixture.serve(old, at: key, etag: "\"1\"", cacheControl: "max-age=1")
            let stored = try await fixture.store.avatar(for: url)
            fixture.clock.advance(by: .seconds(10))
            let gate = LoopbackOrigin.Gate()
            fixture.origin.setResponse(.image(new, etag: "\"2\"").held(by: gate), for: key)
            let sync = Task { try await fixture.store.sync(contacts: [Contact(id: "ada", avatarURL: url)]) }
            try await fixture.origin.waitForRequests(2)

            _ = try await second.move(stored.key, to: .documents)
            gate.open()

            #expect(try await sync.value.failures == [])
            #expect(try details(fixture).overview.contacts == ["ada"])
            #expect(fixture.files(in: .caches).isEmpty)
        }
    }
}
