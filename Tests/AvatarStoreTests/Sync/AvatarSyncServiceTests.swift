import AvatarStore
import AvatarStoreService
import AvatarStoreTesting
import Logging
import ServiceLifecycle
import Synchronization
import Testing

/// The periodic sync of a host program.
@Suite(.timeLimit(.minutes(5)))
struct AvatarSyncServiceTests {
    private final class Reports: Sendable {
        private let all = Mutex<[SyncReport]>([])
        var count: Int { all.withLock { $0.count } }
        var first: SyncReport? { all.withLock { $0.first } }
        func add(_ report: SyncReport) { all.withLock { $0.append(report) } }
    }

    @Test func theServiceSyncsPeriodically_andEndsWithItsGroup() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(SampleImage.png(seed: 1, byteCount: 900), at: "/a.png")
            let reports = Reports()
            let service = AvatarSyncService(store: fixture.store, every: .milliseconds(20)) { report in
                reports.add(report)
            } contacts: {
                [Contact(id: "a", avatarURL: url)]
            }
            let group = ServiceGroup(services: [service], logger: Logger(label: "test"))
            let running = Task { try await group.run() }
            try await waitUntil { reports.count >= 3 }

            await group.triggerGracefulShutdown()
            try await running.value

            #expect(reports.count >= 3)
            #expect(reports.first?.fetched == 1)
            // The store is the host program's, and still open.
            #expect(try fixture.store.storedAvatar(for: url) != nil)
        }
    }

    @Test func theServiceTakesAStream() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(SampleImage.png(seed: 1, byteCount: 900), at: "/a.png")
            let (reports, reported) = AsyncStream.makeStream(of: SyncReport.self)
            let service = AvatarSyncService(store: fixture.store, every: .zero, onReport: { reported.yield($0) }) {
                let (people, source) = AsyncThrowingStream.makeStream(of: Contact.self)
                source.yield(Contact(id: "a", avatarURL: url))
                source.finish()
                return people.map(ContactRecord.contact)
            }
            let running = Task { try await service.run() }

            let both = await reports.prefix(2).reduce(into: []) { $0.append($1) }
            running.cancel()
            try await running.value

            #expect(both.map(\.fetched) == [1, 0] && both.map(\.contacts) == [1, 1])
            #expect(try fixture.store.avatar(forContact: "a") != nil)
        }
    }

    /// Dashboards are made of them.
    @Test func eachSyncIsLoggedWithItsCounts_byStableKeys() async throws {
        let log = SyncLog()
        try await StoreFixture.withStore({ $0.logger = Logger(label: "test") { _ in log } }) { fixture in
            let url = fixture.serve(SampleImage.png(seed: 1, byteCount: 900), at: "/a.png")
            let contacts = [
                Contact(id: "a", avatarURL: url), Contact(id: "b", avatarURL: fixture.origin.url("/none.png")),
            ]
            let service = AvatarSyncService(store: fixture.store, every: .seconds(60), contacts: { contacts })
            let running = Task { try await service.run() }
            try await waitUntil { log.synced != nil }
            running.cancel()
            try await running.value

            let counts = try #require(log.synced)
            #expect(
                counts.keys.sorted() == [
                    "bytesReceived", "changed", "contacts", "duplicates", "evicted", "failed", "fetched", "fresh",
                    "ignored", "keptLeavers", "notModified", "overBudget", "removed", "requests", "saved", "seconds",
                    "shared", "skipped", "unlinked", "unreadable", "unstored", "wanted", "withoutImage",
                ]
            )
            #expect(counts["contacts"] == "2" && counts["fetched"] == "1" && counts["failed"] == "1")
        }
    }

    @Test func aShutdownEndsTheRunningSync_andReceivedImagesAreStored() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = (0..<200).map { number in
                let bytes = SampleImage.png(seed: UInt64(number), byteCount: 900)
                let answer = LoopbackOrigin.Response.image(bytes, etag: nil).delayed(by: .milliseconds(100))
                fixture.origin.setResponse(answer, for: "/\(number).png")
                return Contact(id: "\(number)", avatarURL: fixture.origin.url("/\(number).png"))
            }
            var options = SyncOptions()
            options.connections = 4
            let reports = Reports()
            let service = AvatarSyncService(store: fixture.store, every: .seconds(60), options: options) {
                reports.add($0)
            } contacts: {
                contacts
            }
            let group = ServiceGroup(services: [service], logger: Logger(label: "test"))
            let running = Task { try await group.run() }
            try await fixture.origin.waitForRequests(20)

            await group.triggerGracefulShutdown()
            try await running.value

            #expect(reports.first?.wasCancelled == true)
            #expect(fixture.files(in: .caches).count == reports.first?.fetched)
            #expect(fixture.origin.requestCount < 200)
            try fixture.expectConsistent()
        }
    }
}

/// Keeps the metadata of the first finished sync.
private final class SyncLog: LogHandler, Sendable {
    private let first = Mutex<[String: String]?>(nil)

    var synced: [String: String]? { first.withLock { $0 } }

    func log(event: LogEvent) {
        guard event.message == "synced", event.level == .info else { return }
        let values = (event.metadata ?? [:]).mapValues(\.description)
        first.withLock { $0 = $0 ?? values }
    }

    subscript(metadataKey _: String) -> Logger.MetadataValue? {
        get { nil }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .info }
        set {}
    }
}
