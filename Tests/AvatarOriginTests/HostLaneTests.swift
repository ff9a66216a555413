import AvatarCore
import AvatarOriginRules
import Testing

@testable import AvatarOrigin

/// The requests of one origin that may begin, without a connection.
@Suite(.timeLimit(.minutes(5))) struct HostLaneTests {
    /// A lane with 500 requests.
    ///
    /// - Parameter isMultiplexed: whether the store knows that the origin has answered over HTTP/2.
    private static func lane(isMultiplexed: Bool) throws -> HostLane {
        let hop = Hop(
            url: try AvatarKey(url: "https://images.example/1.png"),
            origin: "https://images.example",
            target: "/1.png",
            fields: [],
            route: .direct,
            pins: [],
            hasAddress: false,
            isMultiplexed: isMultiplexed
        )
        let driver = CurlDriver(try EngineSettings(OriginConfiguration()), makeThread: { _ in 0 }, wake: { _ in true })
        let transfer = Transfer(hop, on: driver, willSend: {})
        let lane = HostLane("https://images.example", connections: 16)
        for _ in 0..<500 { lane.add(transfer) }
        return lane
    }

    /// Begins all requests that may begin, and counts them.
    private static func begin(_ lane: HostLane) -> Int {
        var count = 0
        while lane.next() != nil { count += 1 }
        return count
    }

    /// A host that answered over HTTP/2 before gets as many at once as then, as soon as the first connection is there.
    @Test(arguments: [(true, 99), (false, 15)])
    func knownHostNeedsNoResponse(isMultiplexed: Bool, count: Int) throws {
        let lane = try Self.lane(isMultiplexed: isMultiplexed)
        #expect(Self.begin(lane) == 1, "The others wait for the first connection.")
        lane.hasConnected()
        #expect(Self.begin(lane) == count)
        // It answers over HTTP/1.1 after all.
        lane.hasAnswered(version: 1)
        for _ in 0..<85 where isMultiplexed { lane.end(hasConnected: true) }
        #expect(Self.begin(lane) == (isMultiplexed ? 1 : 0))
    }

    @Test func lostConnectionLeavesOneRequestAtATime() throws {
        let lane = try Self.lane(isMultiplexed: true)
        #expect(Self.begin(lane) == 1)
        lane.hasConnected()
        #expect(Self.begin(lane) == 99)
        lane.hasAnswered(version: 2)
        lane.hasLostStream()
        for _ in 0..<100 { lane.end(hasConnected: true) }
        #expect(Self.begin(lane) == 1)
    }
}
