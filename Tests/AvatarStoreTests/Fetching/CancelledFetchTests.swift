import AvatarStoreTesting
import Foundation
import Testing

@testable import AvatarStore

/// Cancelled fetches leave nothing behind: no staged file, no open file, no row.
@Suite(.timeLimit(.minutes(20)))
struct CancelledFetchTests {
    /// 10,000 with `scripts/test --thorough`.
    private static let count = ProcessInfo.processInfo.environment["AVATARS_THOROUGH"] == "1" ? 10_000 : 300
    /// The number of fetches at once.
    private static let width = 40

    /// An origin of images that take 100 milliseconds. They are too large to arrive whole, so they are staged while they
    /// arrive. They have no validator, so a part of one is of no use later.
    private func slowOrigin() async throws -> LoopbackOrigin {
        let face = SampleImage.png(seed: 1, byteCount: 200_000)
        return try await LoopbackOrigin.start { request in
            if request.path.hasSuffix("/never.png") { return .hang }
            return LoopbackOrigin.Response.image(face).behaving(.drip(byteCount: 20_000, interval: .milliseconds(10)))
        }
    }

    /// Fails unless `fixture` has no file in staging, neither on disk nor open.
    private func expectNothingStaged(_ fixture: StoreFixture) async throws {
        // The end of a fetch without readers is awaited by no reader.
        let staging = fixture.store.configuration.layout.staging(of: .caches)
        try await waitUntil { try fixture.store.statistics().stagingBytes == 0 }
        #if os(Linux)
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            // A descriptor that was closed since has no path.
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
        }
        // The holder's folder and its lock are open as long as the store is.
        #expect(open.filter { $0.hasPrefix(staging + "/") && $0.dropFirst(staging.count + 1).contains("/") } == [])
        #endif
        try fixture.expectConsistent()
    }

    @Test func cancelledReadsLeaveNothing() async throws {
        let origin = try await slowOrigin()
        try await StoreFixture.withStore({ $0.connectionsPerHost = Self.width }) { fixture in
            let store = fixture.store
            let urls = (0..<Self.count).map { origin.url("/\($0).png") }
            let storedCount = try await withThrowingTaskGroup(of: Bool.self) { group in
                var storedCount = 0
                for (number, url) in urls.enumerated() {
                    if number >= Self.width, try await group.next() == true { storedCount += 1 }
                    group.addTask {
                        let read = Task { try await store.avatar(for: url) }
                        try await Task.sleep(for: .milliseconds(Int.random(in: 0..<60)))
                        read.cancel()
                        do {
                            _ = try await read.value
                            return true
                        } catch is CancellationError {
                            return false
                        }
                    }
                }
                return try await group.reduce(storedCount) { $0 + ($1 ? 1 : 0) }
            }

            // On a busy machine most fetches may end before their reader leaves.
            #expect(storedCount < Self.count)
            try await expectNothingStaged(fixture)
        }
        try await origin.stop()
    }

    @Test func cancelledSyncsLeaveNothing() async throws {
        let origin = try await slowOrigin()
        try await StoreFixture.withStore({ $0.connectionsPerHost = Self.width }) { fixture in
            var sent = 0
            for round in 0... {
                // The sync must not end by itself, however late it is cancelled.
                let names = (0..<200).map { "\($0)" } + ["never"]
                let contacts = names.map { Contact(id: $0, avatarURL: origin.url("/\(round)/\($0).png")) }
                let sync = Task { try await fixture.store.sync(contacts: contacts) }
                try await origin.waitForRequests(sent + 1)
                try await Task.sleep(for: .milliseconds(Int.random(in: 0..<60)))
                sync.cancel()
                #expect(try await sync.value.wasCancelled)
                sent = origin.requestCount
                guard sent < Self.count else { break }
            }

            try await expectNothingStaged(fixture)
        }
        try await origin.stop()
    }
}
