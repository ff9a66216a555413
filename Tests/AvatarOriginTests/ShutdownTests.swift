import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import Synchronization
import Testing

/// A client that is shut down fails its requests, in progress and later ones: no caller waits for ever, and no URL is
/// blamed.
@Suite("A client that was shut down", .eachClient, .timeLimit(.minutes(1)))
struct ShutdownTests {
    @Test("A request after it fails")
    func laterRequestFails() async throws {
        try await withOwnClient { client, origin in
            try await client.shutdown()

            #expect(await kind { _ = try await read(client, origin.url("/a.png")) } == .offline)
            #expect(origin.requestCount == 0)
        }
    }

    @Test("A request under way fails")
    func requestUnderWayFails() async throws {
        try await withOwnClient { client, origin in
            let asking = Task { await kind { _ = try await read(client, origin.url("/a.png")) } }
            while origin.requestCount == 0 { await Task.yield() }

            try await client.shutdown()

            #expect(await asking.value == .offline)
        }
    }

    @Test("A request that waits for others fails", arguments: [false, true])
    func begunRequestFails(isSentBefore: Bool) async throws {
        try await withOwnClient { client, origin in
            let told = AsyncStream<FailureKind?>.makeStream()
            let begun = client.begin(OriginRequest(url: origin.url("/a.png"))) { result in
                if case .failure(let error) = result { told.continuation.yield((error as? OriginError)?.kind) }
                told.continuation.finish()
            }
            #expect(begun != nil)
            if isSentBefore {
                client.flush()
                while origin.requestCount == 0 { await Task.yield() }
            }

            try await client.shutdown()
            client.flush()

            var kinds: [FailureKind?] = []
            for await kind in told.stream { kinds.append(kind) }
            #expect(kinds == [.offline])
        }
    }

    /// A client that the body shuts down, and an origin that never answers.
    private func withOwnClient(_ body: (any TestedOrigin, LoopbackOrigin) async throws -> Void) async throws {
        var configuration = OriginConfiguration()
        configuration.allowsPrivateNetworks = true
        let client = try ClientUnderTest.current.make(configuration)
        let origin = try await LoopbackOrigin.start()
        origin.setResponse(.hang, for: "/a.png")
        try await body(client, origin)
        try await origin.stop()
    }
}
