import AvatarStoreTesting
import Synchronization
import Testing

@testable import AvatarStore

/// A reader watches a fetch in progress, even one that another reader began, and can change its priority.
@Suite(.timeLimit(.minutes(5)))
struct FetchWatchTests {
    private let face = SampleImage.png(seed: 1, byteCount: 20_000)

    private func options(_ watch: FetchWatch) -> FetchOptions {
        var options = FetchOptions()
        options.watch = watch
        return options
    }

    @Test func progressReportsTheBytesReceived() async throws {
        try await StoreFixture.withStore { fixture in
            let drip = LoopbackOrigin.Behaviour.drip(byteCount: 5000, interval: .milliseconds(1500))
            fixture.origin.setResponse(.image(face).behaving(drip), for: "/a.png")
            let seen = Mutex<[FetchProgress]>([])
            let watch = FetchWatch(priority: .normal) { progress, arrived in
                seen.withLock { $0.append(progress) }
                do {
                    let bytes = try arrived.bytes(at: 0, count: progress.completedBytes)
                    #expect(bytes == Array(face.prefix(progress.completedBytes)))
                } catch {
                    Issue.record(error)
                }
            }

            _ = try await fixture.store.avatar(for: fixture.origin.url("/a.png"), options: options(watch))

            let counts = seen.withLock { $0 }
            #expect(counts.count > 1 && counts.last?.completedBytes == 20_000)
            #expect(counts.allSatisfy { $0.totalBytes == 20_000 })
            #expect(counts.map(\.completedBytes) == counts.map(\.completedBytes).sorted())
        }
    }

    @Test func aLaterReaderGetsProgressToo_evenWithoutATotal() async throws {
        try await StoreFixture.withStore { fixture in
            let begun = AsyncStream.makeStream(of: Void.self)
            let joined = Mutex(false)
            let late = Mutex<[FetchProgress]>([])
            let drip = LoopbackOrigin.Behaviour.drip(byteCount: 2000, interval: .milliseconds(100))
            // Without a Content-Length the body ends with the connection.
            let response = LoopbackOrigin.Response(
                headers: ["Transfer-Encoding": "identity", "Connection": "close"],
                body: .bytes(face),
                behaviour: drip
            )
            fixture.origin.setResponse(response, for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let first = FetchWatch(priority: .normal) { _, _ in begun.continuation.yield() }
            let second = FetchWatch(priority: .normal) { progress, _ in
                joined.withLock { $0 = true }
                late.withLock { $0.append(progress) }
            }
            let one = Task { try await fixture.store.avatar(for: url, options: options(first)).bytes }
            for await _ in begun.stream { break }

            let two = try await fixture.store.avatar(for: url, options: options(second)).bytes

            #expect(try await one.value == face && two == face)
            let told = late.withLock { $0 }
            #expect(told.last?.completedBytes == 20_000)
            #expect(told.allSatisfy { $0.totalBytes == nil })
            #expect(fixture.origin.requestCount == 1)
        }
    }

    /// A store with one connection, which is taken by a response that never comes.
    private func withBusyStore(_ body: (StoreFixture, _ letGo: () async throws -> Void) async throws -> Void)
        async throws
    {
        try await StoreFixture.withStore({ $0.connections = 1 }) { fixture in
            fixture.origin.setResponse(.hang, for: "/busy.png")
            let busy = Task { try await fixture.store.avatar(for: fixture.origin.url("/busy.png")) }
            try await fixture.origin.waitForRequests()
            try await body(fixture) {
                busy.cancel()
                _ = await busy.result
            }
        }
    }

    private func get(_ fixture: StoreFixture, _ name: String, _ priority: FetchPriority) -> Task<Void, any Error> {
        let url = fixture.serve(SampleImage.png(seed: 1, byteCount: 500), at: "/\(name).png")
        var options = FetchOptions()
        options.priority = priority
        return Task { [options] in _ = try await fixture.store.avatar(for: url, options: options) }
    }

    @Test func aReaderRaisesTheQueuedFetchToItsPriority() async throws {
        try await withBusyStore { fixture, letGo in
            let all = [get(fixture, "prefetched", .background), get(fixture, "other", .normal)]
            try await waitUntil { fixture.store.requests.waitingCount >= 2 }
            let joined = get(fixture, "prefetched", .high)
            let key = try AvatarKey(url: fixture.origin.url("/prefetched.png"))
            try await waitUntil { fixture.store.requests.wish(for: key) == .high }

            try await letGo()

            for task in all + [joined] { try await task.value }
            #expect(fixture.origin.requests.map(\.path) == ["/busy.png", "/prefetched.png", "/other.png"])
        }
    }

    @Test func aCancelledReaderTakesItsPriorityAlong() async throws {
        try await withBusyStore { fixture, letGo in
            let all = [get(fixture, "prefetched", .background), get(fixture, "other", .normal)]
            try await waitUntil { fixture.store.requests.waitingCount >= 2 }
            let joined = get(fixture, "prefetched", .high)
            let key = try AvatarKey(url: fixture.origin.url("/prefetched.png"))
            try await waitUntil { fixture.store.requests.wish(for: key) == .high }
            joined.cancel()
            _ = await joined.result

            try await letGo()

            for task in all { try await task.value }
            #expect(fixture.origin.requests.map(\.path) == ["/busy.png", "/other.png", "/prefetched.png"])
            #expect(fixture.store.requests.wish(for: key) == nil)
        }
    }

    @Test func priorityChangesWhileItWaits() async throws {
        try await withBusyStore { fixture, letGo in
            let watch = FetchWatch(priority: .background)
            let url = fixture.serve(face, at: "/watched.png")
            let watched = Task { _ = try await fixture.store.avatar(for: url, options: options(watch)) }
            let other = get(fixture, "other", .normal)
            try await waitUntil { fixture.store.requests.waitingCount >= 2 }

            watch.priority = .high
            try await letGo()

            try await watched.value
            try await other.value
            #expect(fixture.origin.requests.map(\.path) == ["/busy.png", "/watched.png", "/other.png"])
        }
    }

    @Test func aHeldFetchContinuesWithoutReaders() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.image(face).delayed(by: .milliseconds(200)), for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let key = try AvatarKey(url: url)
            let first = Task { try await fixture.store.avatar(for: url) }
            try await fixture.origin.waitForRequests()
            let hold = fixture.store.holdFetch(of: key)
            #expect(hold != nil)
            first.cancel()
            _ = await first.result

            #expect(try await fixture.store.avatar(for: url).bytes == face)

            withExtendedLifetime(hold) {}
            #expect(fixture.origin.requestCount == 1)
            try await waitUntil { fixture.store.holdFetch(of: key) == nil }
        }
    }

    @Test func releasingTheLastHoldCancelsTheFetch() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.hang, for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let first = Task { try await fixture.store.avatar(for: url) }
            try await fixture.origin.waitForRequests()
            var hold = fixture.store.holdFetch(of: try AvatarKey(url: url))
            first.cancel()
            _ = await first.result
            #expect(fixture.origin.openConnections == 1)

            withExtendedLifetime(hold) {}
            hold = nil

            try await fixture.origin.waitForNoConnection()
        }
    }

    @Test func aFetchResumesTheDownloadCancelledJustBefore() async throws {
        try await StoreFixture.withStore { fixture in
            // Two responses break off after their first part.
            let image = LoopbackOrigin.Response.image(face, etag: "\"1\"")
            let stalling = image.behaving(.drip(byteCount: 6000, interval: .seconds(60)))
            fixture.origin.setResponse(for: "/a.png") { _ in fixture.origin.requestCount <= 2 ? stalling : image }
            let url = fixture.origin.url("/a.png")
            for _ in 0..<2 {
                let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
                let watch = FetchWatch(priority: .normal) { _, _ in continuation.finish() }
                let task = Task { try await fixture.store.avatar(for: url, options: options(watch)).bytes }
                for await _ in begun {}
                task.cancel()
                // No reader waits for the end of the cancelled fetch.
            }

            let whole = try await fixture.store.avatar(for: url)
            #expect(whole.bytes == face)
            let ranges = fixture.origin.requests.map { $0.headers["Range"] }
            #expect(ranges.first == .some(nil) && ranges.dropFirst().allSatisfy { $0 != nil })
            #expect(ranges.count == 3)
        }
    }

    @Test func concurrentTransientReadsShareOneRequest() async throws {
        try await StoreFixture.withStore { fixture in
            let gate = LoopbackOrigin.Gate()
            fixture.origin.setResponse(.image(face).held(by: gate), for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let key = try AvatarKey(url: url)
            let options = FetchOptions(storage: .transient)
            try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for _ in 0..<20 {
                    group.addTask { try await fixture.store.avatar(for: url, options: options).bytes }
                }
                try await waitUntil { fixture.store.waiterCount(of: key, isTransient: true) >= 20 }
                gate.open()
                for try await bytes in group { #expect(bytes == face) }
            }
            #expect(fixture.origin.requestCount == 1)
            #expect(fixture.files(in: .caches).isEmpty)
        }
    }
}
