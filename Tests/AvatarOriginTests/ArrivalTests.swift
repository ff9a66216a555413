import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import HTTPTypes
import Synchronization
import Testing

/// The first response to a begun request: small bodies arrive with their head.
@Suite(.eachClient)
struct ArrivalTests {
    private static let limit = OriginArrival.wholeBodyLimit

    @Test(arguments: [0, 1, 8_192, limit])
    func smallBodyArrivesWhole(count: Int) async throws {
        try await withClient { client, origin in
            origin.setResponse(LoopbackOrigin.Response(body: .generated(byteCount: count)), for: "/a.png")

            let (arrival, begun) = try await arrival(client, origin.url("/a.png"))
            let whole = try await read(client, origin.url("/a.png")).body

            #expect(arrival.head.status == 200)
            #expect(arrival.body == whole)
            #expect(whole.count == count)
            // The body can still be read.
            let again = try await begun.finish { try await Self.bytes($0.body) }
            #expect(again == whole)
        }
    }

    @Test(arguments: [limit + 1, 1_000_000])
    func largeBodyFollowsFromItsFirstByte(count: Int) async throws {
        try await withClient { client, origin in
            origin.setResponse(LoopbackOrigin.Response(body: .generated(byteCount: count)), for: "/a.png")

            let (arrival, begun) = try await arrival(client, origin.url("/a.png"))
            let bytes = try await begun.finish { try await Self.bytes($0.body) }

            #expect(arrival.body == nil)
            #expect(bytes.count == count)
            #expect(try await read(client, origin.url("/a.png")).body == bytes)
        }
    }

    @Test func notModifiedHasAnEmptyBody() async throws {
        try await withClient { client, origin in
            origin.setResponse(.status(304, headers: ["ETag": "\"1\""]), for: "/a.png")

            let (arrival, _) = try await arrival(client, origin.url("/a.png"))

            #expect(arrival.head.status == 304)
            #expect(arrival.head.fields[.eTag] == "\"1\"")
            #expect(arrival.body == [])
        }
    }

    @Test func redirectArrivesAsAHead_andFinishFollowsIt() async throws {
        try await withClient { client, origin in
            origin.setResponse(.redirect(to: "/b.png"), for: "/a.png")
            origin.setResponse(LoopbackOrigin.Response(body: .text("here")), for: "/b.png")

            let (arrival, begun) = try await arrival(client, origin.url("/a.png"))
            #expect(arrival.head.status == 302)
            #expect(arrival.body == nil)
            #expect(origin.requestCount == 1)

            let bytes = try await begun.finish { try await Self.bytes($0.body) }
            #expect(bytes == Array("here".utf8))
        }
    }

    /// A connection is free again after an arrival with its body, so one is enough for all.
    @Test func connectionIsFreeAfterAWholeBody() async throws {
        try await withClient({ $0.connectionsPerHost = 1 }) { client, origin in
            origin.setResponse(LoopbackOrigin.Response(body: .generated(byteCount: 8_192)), for: "/a.png")
            var kept: [any BegunRequest] = []
            for _ in 0..<20 { kept.append(try await arrival(client, origin.url("/a.png")).1) }
            #expect(kept.count == 20)
            #expect(origin.connectionCount == 1)
        }
    }

    @Test func bodyThatIsCutShortIsAnErrorWhereItIsRead() async throws {
        try await withClient { client, origin in
            let response = LoopbackOrigin.Response(body: .text("face")).behaving(.cutShort(after: 2))
            origin.setResponse(response, for: "/a.png")

            let (arrival, begun) = try await arrival(client, origin.url("/a.png"))

            #expect(arrival.body == nil)
            #expect(await kind { _ = try await begun.finish { try await Self.bytes($0.body) } } == .truncated)
        }
    }

    @Test func slowBodyIsReadAsItComes() async throws {
        try await withClient { client, origin in
            let response = LoopbackOrigin.Response(body: .generated(byteCount: 40))
                .behaving(.drip(byteCount: 10, interval: .milliseconds(400)))
            origin.setResponse(response, for: "/a.png")

            let (arrival, begun) = try await arrival(client, origin.url("/a.png"))

            #expect(arrival.head.status == 200)
            #expect(arrival.body == nil)
            #expect(try await begun.finish { try await Self.bytes($0.body) }.count == 40)
        }
    }

    @Test func cancelledRequestArrivesAsCancelled() async throws {
        try await withClient { client, origin in
            origin.setResponse(.hang, for: "/a.png")
            let told = AsyncStream<Bool>.makeStream()
            let begun = client.begin(OriginRequest(url: origin.url("/a.png"))) { result in
                var isCancelled = false
                if case .failure(let error) = result { isCancelled = error is CancellationError }
                told.continuation.yield(isCancelled)
                told.continuation.finish()
            }
            client.flush()
            while origin.requestCount == 0 { await Task.yield() }
            begun?.cancel()
            for await isCancelled in told.stream { #expect(isCancelled) }
            while origin.openConnections > 0 { await Task.yield() }
        }
    }

    private static func bytes(_ body: OriginBody) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let chunk = try await body.next() { bytes += chunk }
        return bytes
    }
}
