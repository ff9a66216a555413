import AvatarStore
import AvatarStoreTesting
import Testing

/// Images that swap places, and budgets and readers that change during a sync.
@Suite(.timeLimit(.minutes(5)))
struct SyncInterplayTests {
    private let one = SampleImage.png(seed: 1, byteCount: 1000)
    private let two = SampleImage.png(seed: 2, byteCount: 1000)

    @Test func twoContactsCanSwapTheirImages() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = [
                Contact(id: "a", avatarURL: fixture.serve(one, at: "/a.png", etag: "\"1\"")),
                Contact(id: "b", avatarURL: fixture.serve(two, at: "/b.png", etag: "\"2\"")),
            ]
            _ = try await fixture.store.sync(contacts: contacts)
            fixture.serve(two, at: "/a.png", etag: "\"2\"")
            fixture.serve(one, at: "/b.png", etag: "\"1\"")
            fixture.clock.advance(by: .seconds(5000))

            let report = try await fixture.store.sync(contacts: contacts)

            #expect(report.changed == 2)
            #expect(try fixture.store.storedAvatar(for: fixture.origin.url("/a.png"))?.bytes == two)
            #expect(try fixture.store.storedAvatar(for: fixture.origin.url("/b.png"))?.bytes == one)
            try fixture.expectConsistent()
        }
    }

    /// A program may close a store without knowing who still uses it.
    @Test(.timeLimit(.minutes(5)), arguments: [true, false])
    func syncOfAStoreThatIsClosedComesToAnEnd(isStored: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = (0..<40).map { number in
                Contact(id: "\(number)", avatarURL: fixture.serve(one, at: "/\(number).png", etag: "\"1\""))
            }
            if isStored { _ = try await fixture.store.sync(contacts: contacts) }
            for number in contacts.indices { fixture.origin.setResponse(.hang, for: "/\(number).png") }
            fixture.clock.advance(by: .seconds(8 * 86_400))
            fixture.origin.resetCounts()
            let other = try await fixture.openAgain { $0.timeout = .seconds(600) }
            let sync = Task { try await other.sync(contacts: contacts) }
            try await fixture.origin.waitForRequests()

            try await other.close()

            // Too late to store anything: an error, or nothing was left to store.
            let report = try? await sync.value
            #expect(report?.fetched ?? 0 == 0)
            let kept = try contacts.filter { try fixture.store.storedAvatar(for: $0.avatarURL ?? "") != nil }
            #expect(kept.count == (isStored ? contacts.count : 0))
        }
    }

    @Test func budgetThatIsLoweredDuringAFetchHoldsForIt() async throws {
        try await StoreFixture.withStore { fixture in
            let big = SampleImage.png(seed: 3, byteCount: 4000)
            fixture.origin.setResponse(.image(big, etag: nil).delayed(by: .milliseconds(300)), for: "/big.png")
            let reading = Task { try await fixture.store.avatar(for: fixture.origin.url("/big.png")) }
            try await fixture.origin.waitForRequests()

            try await fixture.store.set(.budget, to: 2000)

            await #expect { try await reading.value } throws: { ($0 as? AvatarStoreError)?.code == .overBudget }
            #expect(fixture.files(in: .caches).isEmpty)
            try fixture.expectConsistent()
        }
    }

    @Test func syncIntoDocumentsPromotesWhatDidNotChange() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = [
                Contact(id: "fresh", avatarURL: fixture.serve(one, at: "/a.png", etag: "\"1\"")),
                Contact(
                    id: "stale",
                    avatarURL: fixture.serve(two, at: "/b.png", etag: "\"2\"", cacheControl: "max-age=1")
                ),
            ]
            _ = try await fixture.store.sync(contacts: contacts)
            fixture.clock.advance(by: .seconds(10))
            var options = SyncOptions()
            options.storage = .documents

            let report = try await fixture.store.sync(contacts: contacts, options: options)

            #expect(report.fresh == 1 && report.notModified == 1)
            #expect(fixture.files(in: .caches).isEmpty)
            #expect(fixture.files(in: .documents).count == 2)
            try fixture.expectConsistent()
        }
    }

    @Test func readerOutlivesTheSyncWhoseFetchItJoined() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.image(one, etag: nil).delayed(by: .milliseconds(300)), for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let sync = Task { try await fixture.store.sync(contacts: [Contact(id: "a", avatarURL: url)]) }
            try await fixture.origin.waitForRequests()
            let reading = Task { try await fixture.store.avatar(for: url) }

            sync.cancel()
            _ = try await sync.value

            let image = try await reading.value
            #expect(image.bytes == one)
        }
    }

    @Test func anUnstorableImageReachesAReaderThatWaitsForTheSync() async throws {
        try await StoreFixture.withStore({ $0.respectsNoStore = true }) { fixture in
            let response = LoopbackOrigin.Response.image(one, etag: nil, cacheControl: "no-store")
            fixture.origin.setResponse(response.delayed(by: .milliseconds(200)), for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let sync = Task { try await fixture.store.sync(contacts: [Contact(id: "a", avatarURL: url)]) }
            try await fixture.origin.waitForRequests()

            let image = try await fixture.store.avatar(for: url)

            #expect(image.bytes == one)
            #expect(image.localFile == nil)
            #expect(try await sync.value.fetched == 1)
            try fixture.expectConsistent()
        }
    }

    @Test func theListIsCountedToItsEnd_evenUnderALimit() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = (0..<1000).map { Contact(id: "\($0)", avatarURL: fixture.origin.url("/\($0).png")) }
            var options = SyncOptions()
            options.limit = 3

            let report = try await fixture.store.sync(contacts: contacts, options: options)

            #expect(report.contacts == 1000)
            #expect(report.wanted == 1000)
            #expect(report.skipped == 997)
            #expect(fixture.origin.requestCount == 3)
        }
    }

    @Test func cachesDirectoryThatWasRemovedIsMadeAgain() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await fixture.store.avatar(for: fixture.serve(one, at: "/a.png"))
            try removeFile(fixture.directory + "/caches")

            let image = try await fixture.store.avatar(for: fixture.origin.url("/a.png"))

            #expect(image.bytes == one)
            #expect(try fixture.store.storedAvatar(for: fixture.origin.url("/a.png"))?.bytes == one)
            try fixture.expectConsistent()
        }
    }

    @Test func reloadUnderAFullBudgetSparesTheImageThatItReplaces() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.set(.budget, to: 3000)
            let keep = fixture.serve(one, at: "/keep.png")
            _ = try await fixture.store.avatar(for: keep)
            for number in 10..<12 {
                let bytes = SampleImage.png(seed: UInt64(number), byteCount: 1000)
                _ = try await fixture.store.avatar(for: fixture.serve(bytes, at: "/\(number).png"))
            }
            fixture.serve(two, at: "/keep.png")

            let image = try await fixture.store.avatar(for: keep, options: FetchOptions(policy: .reload))

            #expect(image.bytes == two)
            #expect(try fixture.store.storedAvatar(for: fixture.origin.url("/10.png")) == nil)
            #expect(try fixture.store.storedAvatar(for: fixture.origin.url("/11.png")) != nil)
            try fixture.expectConsistent()
        }
    }
}
