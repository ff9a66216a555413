import AvatarCore
import AvatarDigest
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// Of several machines that lack an image, one asks the origin.
@Suite(.enabled("needs an S3 engine: scripts/start-seaweedfs") { Fleet.engine != nil }, .timeLimit(.minutes(5)))
struct FleetSingleFlightTests {
    @Test func machinesThatSyncAtOnceAskEachOriginOnce() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(60)
            let reports = try await withThrowingTaskGroup(of: SyncReport.self) { group in
                for number in 0..<6 { group.addTask { try await fleet.sync("m\(number)", people) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(reports.allSatisfy { $0.fetched == 60 && $0.failed == 0 })
            #expect(fleet.origin.requestCount <= 66, "\(fleet.origin.requestCount)")
            #expect(try await SharedTierCheck(fleet.tier).run().faultCount == 0)
        }
    }

    @Test func machinesThatReadAtOnceAskOnce() async throws {
        try await Fleet.run { fleet in
            let bytes = SampleImage.png(seed: 5, byteCount: 1000)
            fleet.origin.setResponse(
                .image(bytes, cacheControl: "max-age=60").delayed(by: .milliseconds(300)),
                for: "/a"
            )
            let url = fleet.origin.url("/a")
            var impatient = 0
            try await withThrowingTaskGroup(of: (image: [UInt8], took: Duration).self) { group in
                for number in 0..<4 {
                    group.addTask {
                        let begun = ContinuousClock.now
                        let image = try await fleet.withMachine("m\(number)") { try await $0.avatar(for: url).bytes }
                        return (image, ContinuousClock.now - begun)
                    }
                }
                for try await (image, took) in group {
                    #expect(image == bytes)
                    // A read waits for the claim of another machine for two seconds, which a busy machine may need.
                    if took > .seconds(2) { impatient += 1 }
                }
            }
            #expect(fleet.origin.requestCount <= 2 + impatient)
        }
    }

    /// The machine with the claim was killed. A read waits for some seconds only.
    @Test func aReadDoesNotWaitForADeadMachine() async throws {
        try await Fleet.run { fleet in
            fleet.serve(1, at: "/a")
            let url = fleet.origin.url("/a")
            let hash = TierURL(sha256: SHA256.hash(url.utf8))
            let claim = TierLayout.claim(of: hash, after: nil, attempt: 0)
            try await fleet.tier.put(claim, Array(String(repeating: "a", count: 32).utf8))
            let begun = ContinuousClock.now
            let image = try await fleet.withMachine("b") { try await $0.avatar(for: url) }
            #expect(image.bytes.count == 1000)
            #expect(ContinuousClock.now - begun > .seconds(2))
            #expect(fleet.origin.requestCount == 1)
        }
    }

    /// A machine whose origin fails gives its claim up, so that the others need not wait.
    @Test func aFailedFetchGivesItsClaimUp() async throws {
        try await Fleet.run { fleet in
            fleet.origin.setResponse(.status(500), for: "/a")
            let people = [Contact(id: "a", avatarURL: fleet.origin.url("/a"))]
            let report = try await fleet.sync("a", people)
            #expect(report.failed == 1)
            #expect(try await fleet.keys("claims/").isEmpty)
            fleet.serve(1, at: "/a")
            #expect(try await fleet.sync("b", people).fetched == 1)
        }
    }
}
