import AvatarCore
import AvatarMaintenance
import AvatarStoreTesting
import Testing

@testable import AvatarStore

/// The store's limits hold for reads and syncs; a sync may have lower ones.
@Suite(.timeLimit(.minutes(5)))
struct ConnectionLimitTests {
    /// Contacts whose images are held back by `gate`.
    private func contacts(_ count: Int, _ fixture: StoreFixture, heldBy gate: LoopbackOrigin.Gate) -> [Contact] {
        (0..<count).map { number in
            let path = "/\(number).png"
            let image = SampleImage.png(seed: UInt64(number), byteCount: 800)
            fixture.origin.setResponse(.image(image, cacheControl: "max-age=3600").held(by: gate), for: path)
            return Contact(id: "\(number)", avatarURL: fixture.origin.url(path))
        }
    }

    @Test func syncSendsAsManyRequestsAsTheStoreAllows() async throws {
        try await StoreFixture.withStore({ $0.connectionsPerHost = 12 }) { fixture in
            let (open, gate) = (LoopbackOrigin.Gate(), LoopbackOrigin.Gate())
            open.open()
            // The first sync finds out that the host bears them.
            _ = try await fixture.store.sync(contacts: contacts(60, fixture, heldBy: open))
            let contacts = contacts(12, fixture, heldBy: gate)
            fixture.origin.resetCounts()
            let sync = Task { [store = fixture.store] in
                try await store.sync(contacts: contacts, options: SyncOptions(policy: .reload))
            }

            try await fixture.origin.waitForRequests(12)
            gate.open()

            #expect(try await sync.value.fetched == 12)
        }
    }

    @Test func requestsAtOnceAreReported_andKeptWithTheHost() async throws {
        try await StoreFixture.withStore { fixture in
            let gate = LoopbackOrigin.Gate()
            gate.open()

            let report = try await fixture.store.sync(contacts: contacts(200, fixture, heldBy: gate))

            let host = try #require(report.details.hosts.first)
            #expect(report.details.hosts.count == 1 && host.requests == 200 && host.mostAtOnce == 16)
            #expect((1...16).contains(host.connections) && !host.isMultiplexed)
            let window = HostWindow(count: 16, isMultiplexed: false)
            #expect(try fixture.store.index.hostWindows() == [host.name: window])
            let details = try #require(try fixture.store.details(for: AvatarKey(url: fixture.origin.url("/0.png"))))
            #expect(details.reasons.contains("Its host, \(host.name), bears 16 requests at a time over HTTP/1.1."))
        }
    }

    /// Readers go first, and the sync waits for them.
    @Test func syncWaitsForTheRequestsOfReaders() async throws {
        try await StoreFixture.withStore({ $0.connectionsPerHost = 2 }) { fixture in
            let (slow, open) = (LoopbackOrigin.Gate(), LoopbackOrigin.Gate())
            open.open()
            let contacts = contacts(20, fixture, heldBy: open)
            let urls = (0..<4).map { number in
                let image = SampleImage.png(seed: UInt64(900 + number), byteCount: 800)
                fixture.origin.setResponse(
                    .image(image, cacheControl: "max-age=3600").held(by: slow),
                    for: "/r\(number)"
                )
                return fixture.origin.url("/r\(number)")
            }
            let readers = urls.map { url in Task { [store = fixture.store] in try await store.avatar(for: url) } }
            try await fixture.origin.waitForRequests(2)
            let store = fixture.store
            try await waitUntil { store.requests.waitingCount == 2 }
            let sync = Task { try await store.sync(contacts: contacts) }
            try await waitUntil { store.requests.withScheduler { scheduler, _ in scheduler.waitingCount == 20 } }

            slow.open()

            #expect(try await sync.value.fetched == 20)
            for reader in readers { _ = try await reader.value }
            #expect(store.requests.activeCount == 0)
        }
    }

    @Test func limitOfASyncIsItsOwn() async throws {
        try await StoreFixture.withStore { fixture in
            let (first, gate) = (LoopbackOrigin.Gate(), LoopbackOrigin.Gate())
            let contacts = contacts(6, fixture, heldBy: gate)
            let image = SampleImage.png(seed: 0, byteCount: 800)
            fixture.origin.setResponse(.image(image, cacheControl: "max-age=3600").held(by: first), for: "/0.png")
            let options = SyncOptions(connectionsPerHost: 2)
            let sync = Task { [store = fixture.store] in try await store.sync(contacts: contacts, options: options) }

            try await fixture.origin.waitForRequests(2)
            // Without the limit all six requests are sent before any response, and so before the third arrives.
            first.open()
            try await fixture.origin.waitForRequests(3)
            #expect(fixture.origin.requestCount == 3)
            gate.open()

            #expect(try await sync.value.fetched == 6)
        }
    }

    @Test(arguments: [("connections", 5, nil), ("connectionsPerHost", nil, 4)] as [(String, Int?, Int?)])
    func limitAboveTheStoresIsRefused(name: String, connections: Int?, perHost: Int?) async throws {
        try await StoreFixture.withStore({ ($0.connections, $0.connectionsPerHost) = (4, 3) }) { fixture in
            let options = SyncOptions(connections: connections, connectionsPerHost: perHost)
            for isPreview in [true, false] {
                await #expect {
                    if isPreview {
                        _ = try await fixture.store.syncPreview(options: options)
                    } else {
                        _ = try await fixture.store.sync(contacts: [], options: options)
                    }
                } throws: { error in
                    let error = error as? AvatarStoreError
                    return error?.code == .invalidConfiguration && error?.message.contains("`\(name)`") == true
                }
            }
            let highest = SyncOptions(connections: 4, connectionsPerHost: 3)
            let report = try await fixture.store.sync(contacts: [], options: highest)
            #expect(report.failed == 0)
        }
    }

    @Test(arguments: [0, -1])
    func limitBelowOneIsRefused(limit: Int) async throws {
        try await StoreFixture.withStore { fixture in
            let options = SyncOptions(connectionsPerHost: limit)
            await #expect {
                try await fixture.store.sync(contacts: [], options: options)
            } throws: {
                ($0 as? AvatarStoreError)?.message.contains("`connectionsPerHost` of a sync must be at least 1") == true
            }
        }
    }
}
