import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Testing

/// A sync beside other processes that fetch images of its list.
@Suite(.timeLimit(.minutes(5)))
struct SyncLeaseTests {
    private let face = SampleImage.png(seed: 1, byteCount: 1000)

    private func contacts(_ fixture: StoreFixture, _ paths: [String]) -> [Contact] {
        paths.map { Contact(id: $0, avatarURL: fixture.origin.url($0)) }
    }

    private let paths = (0..<5).map { "/\($0).png" }

    /// Serves a different image at each path.
    private func serveAll(_ fixture: StoreFixture) {
        for (number, path) in paths.enumerated() {
            fixture.serve(SampleImage.png(seed: UInt64(number), byteCount: 800), at: path)
        }
    }

    @Test func imageThatAnotherProcessFetchesIsNotFetchedAgain() async throws {
        try await whileOneWaits { fixture, second, gate in
            serveAll(fixture)
            fixture.origin.setResponse(.image(face).held(by: gate), for: "/3.png")
            async let reading = second.avatar(for: fixture.origin.url("/3.png"))
            try await fixture.origin.waitForRequests()

            let report = try await fixture.store.sync(contacts: contacts(fixture, paths))

            #expect(try await reading.bytes == face)
            #expect(fixture.origin.requestCount(for: "/3.png") == 1)
            #expect(report.fresh == 1 && report.fetched == 4 && report.wanted == 5)
            #expect(report.requests == 4)
            #expect(try fixture.store.list(AvatarListQuery()).items.allSatisfy { $0.contacts.count == 1 })
        }
    }

    @Test func anImageThatFailedInAnotherProcessCountsAsFailed() async throws {
        try await whileOneWaits { fixture, second, gate in
            fixture.origin.setResponse(.status(500).held(by: gate), for: "/3.png")
            let url = fixture.origin.url("/3.png")
            let reading = Task { try await second.avatar(for: url) }
            try await fixture.origin.waitForRequests()

            let report = try await fixture.store.sync(contacts: contacts(fixture, ["/3.png"]))

            #expect(fixture.origin.requestCount == 1)
            #expect(report.failed == 1 && report.wanted == 1)
            #expect(report.failures.map(\.kind) == [.serverError])
            await #expect(throws: AvatarStoreError.self) { try await reading.value }
        }
    }

    /// A lease that another process holds does not delay other images.
    @Test func othersAreStoredWhileOneIsWaitedFor() async throws {
        try await withTwoStores { fixture, second in
            serveAll(fixture)
            fixture.origin.setResponse(.hang, for: "/0.png")
            let hanging = Task { try await second.avatar(for: fixture.origin.url("/0.png")) }
            try await fixture.origin.waitForRequests()
            fixture.serve(face, at: "/0.png")
            let sync = Task { try await fixture.store.sync(contacts: contacts(fixture, paths)) }

            for path in paths.dropFirst() {
                try await waitUntil { try fixture.store.storedAvatar(for: fixture.origin.url(path)) != nil }
            }
            #expect(fixture.origin.requestCount(for: "/0.png") == 1)
            hanging.cancel()

            let report = try await sync.value
            #expect(report.fetched == 5 && report.wanted == 5)
            #expect(try fixture.store.storedAvatar(for: fixture.origin.url("/0.png"))?.bytes == face)
        }
    }

    /// A response that waits for its batch is not in the index yet; still no second request is sent.
    @Test func imageThatWaitsForItsBatchIsNotFetchedAgain() async throws {
        try await withTwoStores { fixture, second in
            serveAll(fixture)
            fixture.origin.setResponse(.image(face).delayed(by: .milliseconds(900)), for: "/4.png")
            let sync = Task { try await fixture.store.sync(contacts: contacts(fixture, paths)) }
            try await fixture.origin.waitForRequests(5)

            for path in paths { _ = try await second.avatar(for: fixture.origin.url(path)) }

            #expect(fixture.origin.requestCount == 5)
            #expect(try await sync.value.fetched == 5)
        }
    }

    @Test func anImageStoredWhileItsRequestWasQueuedIsNotFetchedAgain() async throws {
        try await withTwoStores { fixture, second in
            let gate = LoopbackOrigin.Gate()
            serveAll(fixture)
            fixture.origin.setResponse(.image(face).held(by: gate), for: "/0.png")
            var options = SyncOptions()
            options.connections = 1
            let contacts = contacts(fixture, paths)
            let sync = Task { [options] in try await fixture.store.sync(contacts: contacts, options: options) }
            try await fixture.origin.waitForRequests()

            _ = try await second.avatar(for: fixture.origin.url("/4.png"))
            gate.open()

            let report = try await sync.value
            #expect(fixture.origin.requestCount(for: "/4.png") == 1)
            #expect(report.fresh == 1 && report.fetched == 4)
        }
    }

    @Test func imageOfAnotherProcessBecomesADocument() async throws {
        try await whileOneWaits { fixture, second, gate in
            fixture.origin.setResponse(.image(face).held(by: gate), for: "/0.png")
            async let reading = second.avatar(for: fixture.origin.url("/0.png"))
            try await fixture.origin.waitForRequests()
            var options = SyncOptions()
            options.storage = .documents

            let report = try await fixture.store.sync(contacts: contacts(fixture, ["/0.png"]), options: options)

            #expect(report.fresh == 1)
            #expect(try await reading.bytes == face)
            #expect(fixture.files(in: .caches).isEmpty)
            #expect(fixture.files(in: .documents).count == 1)
        }
    }

    @Test func aCancelledSyncDoesNotWaitForALease() async throws {
        try await withTwoStores { fixture, second in
            fixture.origin.setResponse(.hang, for: "/0.png")
            let hanging = Task { try await second.avatar(for: fixture.origin.url("/0.png")) }
            try await fixture.origin.waitForRequests()
            let begun = ContinuousClock.now
            let sync = Task { try await fixture.store.sync(contacts: contacts(fixture, ["/0.png"])) }

            sync.cancel()

            let report = try await sync.value
            #expect(report.skipped == report.wanted)
            #expect(ContinuousClock.now - begun < .seconds(9), "the time for one image is ten seconds")
            hanging.cancel()
            _ = await hanging.result
        }
    }
}
