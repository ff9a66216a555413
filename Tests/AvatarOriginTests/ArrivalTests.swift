import AvatarCore
import AvatarOrigin
import AvatarProviders
import AvatarStoreTesting
import HTTPTypes
import Synchronization
import Testing

/// What our clients do beyond the conformance checks: small bodies always arrive with their head.
@Suite(.timeLimit(.minutes(5)))
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

    private static func bytes(_ body: OriginBody) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let chunk = try await body.next() { bytes += chunk }
        return bytes
    }
}
