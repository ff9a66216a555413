import AvatarCore
import AvatarStore
import AvatarStoreTesting
import Testing

/// The requests to the tier, which its service charges for. The guide "Several machines" computes its costs from them.
@Suite(.enabled("needs an S3 engine: scripts/start-seaweedfs") { Fleet.engine != nil }, .timeLimit(.minutes(5)))
struct FleetRequestCountTests {
    private static let people = 200

    /// The requests per image in steps: first fetch, taking it, revalidation, learning of it.
    @Test func requestsPerImage() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(Self.people)
            let tier = WatchedTier(base: fleet.tier)
            func perImage(_ call: WatchedTier.Call) -> Double { Double(tier.counts[call]) / Double(Self.people) }

            _ = try await fleet.sync("a", people, tier: tier)
            // Claim and record, with some lists of the sync itself.
            #expect(perImage(.get) == 2)
            #expect(perImage(.create) == 1)
            // Bytes and record, and one object of the machine.
            #expect(perImage(.put) <= 2.01)
            #expect(perImage(.list) <= 1.25)
            #expect(perImage(.delete) == 1)

            tier.counts.reset()
            _ = try await fleet.sync("b", people, tier: tier)
            #expect(perImage(.get) == 2)
            #expect(tier.counts[.list] <= 3)
            #expect(tier.counts.all - tier.counts[.get] <= 4)

            tier.counts.reset()
            fleet.clock.advance(by: .seconds(4000))
            _ = try await fleet.sync("a", people, tier: tier)
            #expect(perImage(.get) == 2)
            #expect(perImage(.create) == 1)
            #expect(perImage(.put) == 1)
            #expect(perImage(.list) <= 1.25)
            // The claim and the record before.
            #expect(perImage(.delete) == 2)

            tier.counts.reset()
            #expect(try await fleet.sync("b", people, tier: tier).shared == Self.people)
            #expect(tier.counts.all <= 3)
        }
    }

    /// A sync in which all is fresh, and one in which another machine has confirmed all.
    @Test(.enabled("takes 40 seconds: scripts/test --thorough") { Engine.isThorough })
    func aSyncOf10_000WithoutAChangeTakesAtMost15Requests() async throws {
        try await Fleet.run(onAll: false) { fleet in
            let people = fleet.people(10_000)
            _ = try await fleet.sync("a", people)
            _ = try await fleet.sync("b", people)
            let tier = WatchedTier(base: fleet.tier)
            #expect(try await fleet.sync("b", people, tier: tier).fresh == 10_000)
            #expect(tier.counts.all <= 15, "\(tier.counts.all)")
            fleet.clock.advance(by: .seconds(4000))
            _ = try await fleet.sync("a", people)
            tier.counts.reset()
            let report = try await fleet.sync("b", people, tier: tier)
            #expect(report.shared == 10_000)
            #expect(report.requests == 0)
            #expect(tier.counts.all <= 15, "\(tier.counts.all)")
        }
    }
}
