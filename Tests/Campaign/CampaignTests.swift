import ProgramRunning
import Testing
import Workload

@Suite(.serialized, .timeLimit(.minutes(5)))
struct CampaignTests {
    @Test("a process killed at any point loses nothing that it reported done")
    func campaign() async throws {
        let origin = try await VersionedOrigin.start()
        let campaign = Campaign(origin)
        let seed = TestMode.seed
        let series = TestMode.isThorough ? 50 : 4
        for number in 0..<series { try await campaign.runSeries(seed: seed + UInt64(number), rounds: 25) }
        try await origin.stop()
        let tally = await campaign.tally
        #expect(tally.findings.isEmpty)
        #expect(tally.kills >= series, "a campaign without kills tests nothing")
        let faults = Finding.Kind.allCases.map { "\($0.rawValue) \(tally.findings[$0] ?? 0)" }.joined(separator: ", ")
        print(
            "campaign: \(tally.kills) kills, \(tally.operations) operations, \(tally.looks) looks; \(faults); seed \(seed)"
        )
    }
}
