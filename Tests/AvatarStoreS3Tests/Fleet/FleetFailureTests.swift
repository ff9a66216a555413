import AvatarCore
import AvatarDigest
import AvatarMaintenance
import AvatarProviders
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

@testable import AvatarStoreS3

/// A shared tier is optional by nature: whatever it does, images come from their origins.
@Suite(.enabled("needs an S3 engine: scripts/start-seaweedfs") { Fleet.engine != nil }, .timeLimit(.minutes(5)))
struct FleetFailureTests {
    private static let failures: [(WatchedTier.Call, SharedTierError.Kind)] = [
        (.list, .denied), (.get, .unavailable), (.put, .full), (.create, .denied), (.list, .slowDown), (.put, .denied),
        (.get, .invalidObject), (.create, .invalidObject),
    ]

    @Test(arguments: failures)
    func aFailingTierCostsOneWarning(_ call: WatchedTier.Call, _ kind: SharedTierError.Kind) async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(30)
            _ = try await fleet.sync("other", people)
            fleet.clock.advance(by: .seconds(4000))
            var tier = WatchedTier(base: fleet.tier)
            tier.failure = { $0 == call ? SharedTierError(kind, "It fails.") : nil }
            let log = WarningLog()

            let report = try await fleet.sync("a", people, tier: tier) { $0.logger = log.logger }

            #expect(report.fetched == 30)
            #expect(report.failed == 0)
            #expect(log.warnings.count == 1, "\(log.warnings)")
            #expect(log.warnings.first?.contains("It fails.") == true)
            let stats = try #require(try await fleet.withMachine("a", tier: tier) { try $0.statistics().sharedTier })
            #expect(stats.failure?.contains("It fails.") == true)
        }
    }

    /// The images that were to come from the tier are asked for at their own host, and count for its health.
    @Test func aTierThatFailsAfterTheListingGivesWayToTheOrigins() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(30)
            _ = try await fleet.sync("other", people)
            var tier = WatchedTier(base: fleet.tier)
            tier.failure = { $0 == .get ? SharedTierError(.unavailable, "It fails.") : nil }
            let report = try await fleet.sync("a", people, tier: tier)
            #expect(report.fetched == 30)
            #expect(report.requests == 30)
            #expect(report.shared == 0)
            let stats = try await fleet.withMachine("a") { try $0.statistics() }
            #expect(stats.hosts == 1)
            #expect(try await fleet.sync("b", people).shared == 30)
        }
    }

    @Test func aReadOnlyTierStillGivesImages() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(20)
            _ = try await fleet.sync("other", Array(people.prefix(15)))
            var tier = WatchedTier(base: fleet.tier)
            tier.failure = { [.put, .create, .delete].contains($0) ? SharedTierError(.denied, "Read-only.") : nil }
            let log = WarningLog()
            let report = try await fleet.sync("a", people, tier: tier) { $0.logger = log.logger }
            #expect(report.shared == 15)
            #expect(report.fetched == 20)
            #expect(log.warnings.count == 1, "\(log.warnings)")
            let image = try await fleet.withMachine("b", tier: tier) {
                try await $0.avatar(for: fleet.origin.url("/3.png"))
            }
            #expect(image.bytes.count == 1000)
            #expect(fleet.origin.requestCount == 20)
        }
    }

    @Test func answersWaitForATierThatIsAway_andARestartLosesNone() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(20)
            let away = try S3Tier(
                S3Configuration(
                    bucket: "fleet",
                    endpoint: "http://127.0.0.1:1",
                    credentials: S3Credentials(accessKey: "k", secretKey: "s")
                )
            )
            let report = try await fleet.sync("a", people, tier: away)
            #expect(report.fetched == 20)
            let waiting = try await fleet.withMachine("a", tier: away) { try $0.statistics().sharedTier }
            #expect(waiting?.waiting == 20)
            #expect(waiting?.failure?.contains("127.0.0.1:1") == true)

            #expect(try await fleet.sync("a", people).fresh == 20)

            let drained = try await fleet.withMachine("a") { try $0.statistics().sharedTier }
            #expect(drained?.waiting == 0)
            #expect(drained?.put == 20)
            #expect(drained?.failure == nil)
            #expect(try await fleet.sync("b", people).shared == 20)
        }
    }

    @Test func anEngineWithoutConditionsHasNoClaims() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(10)
            var tier = WatchedTier(base: fleet.tier)
            tier.hasConditions = false
            let report = try await fleet.sync("a", people, tier: tier)
            #expect(report.fetched == 10)
            #expect(tier.counts[.create] <= 8)
            #expect(try await fleet.keys("claims/").isEmpty)
            #expect(try await fleet.sync("b", people, tier: tier).shared == 10)
        }
    }

    // MARK: Objects that are not as they must be

    private static let damages: [@Sendable ([UInt8]) -> [UInt8]] = [
        { Array($0.dropLast(10)) }, { _ in [] }, { _ in Array("<html>not yours</html>".utf8) },
        { bytes in bytes.enumerated().map { $0 == 500 ? $1 ^ 1 : $1 } }, { $0 + [0] },
    ]

    @Test(arguments: 0..<5)
    func damagedBytesAreNotTaken(_ damage: Int) async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(1)
            _ = try await fleet.sync("a", people)
            let key = try #require(try await fleet.keys("bytes/").first)
            let bytes = try #require(try await fleet.tier.get(key, limit: 2000))
            try await fleet.tier.put(key, Self.damages[damage](bytes))

            let report = try await fleet.sync("b", people)

            #expect(report.requests == 1)
            let image = try await fleet.withMachine("b") { try $0.storedAvatar(for: fleet.origin.url("/0.png")) }
            #expect(image?.bytes == SampleImage.png(seed: 0, byteCount: 1000))
            // The machine that found the damage has put the image there again.
            #expect(try await fleet.tier.get(key, limit: 2000) == bytes)
            #expect(try await fleet.sync("c", people).requests == 0)
        }
    }

    @Test(arguments: 0..<5)
    func damagedRecordsAreNotTaken(_ damage: Int) async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(1)
            _ = try await fleet.sync("a", people)
            let key = try #require(try await fleet.keys("meta/").first)
            let bytes = try #require(try await fleet.tier.get(key, limit: 2000))
            // A digit of a hash at its middle; the last damage leaves white space, which JSON allows.
            try await fleet.tier.put(
                key,
                damage == 3 ? bytes.map { $0 == 0x3A ? 0x3B : $0 } : Self.damages[damage](bytes)
            )
            _ = try await fleet.sync("b", people)
            let image = try await fleet.withMachine("b") { try $0.storedAvatar(for: fleet.origin.url("/0.png")) }
            #expect(image?.bytes == SampleImage.png(seed: 0, byteCount: 1000))
        }
    }

    /// A record under another URL's key must not give one contact the face of another.
    @Test func aRecordCopiedToAnotherURLIsNotTaken() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(2)
            _ = try await fleet.sync("a", [people[0]])
            let key = try #require(try await fleet.keys("meta/").first)
            let record = try #require(try await fleet.tier.get(key, limit: 65_536))
            let other = TierURL(sha256: SHA256.hash(fleet.origin.url("/1.png").utf8))
            let name = try #require(key.split(separator: "/").last)
            try await fleet.tier.put(TierLayout.records(of: other) + name, record)

            let report = try await fleet.sync("b", people)

            #expect(report.shared == 1)
            #expect(report.requests == 1)
            let image = try await fleet.withMachine("b") { try $0.storedAvatar(for: fleet.origin.url("/1.png")) }
            #expect(image?.bytes == SampleImage.png(seed: 1, byteCount: 1000))
        }
    }

    @Test func objectsOfOthersUnderThePrefixDoNotCount() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(3)
            let foreign = [
                "bytes/readme.txt", "meta/\(String(repeating: "a", count: 64))/notes", "meta/x/y", "zoo/a",
                "erased/\(String(repeating: "b", count: 64))/x", "machines/a/b",
            ]
            for key in foreign { try await fleet.tier.put(key, [1, 2, 3]) }
            _ = try await fleet.sync("a", people)
            #expect(try await fleet.sync("b", people).shared == 3)
            let report = try await SharedTierCheck(fleet.tier).run()
            #expect(report.isSound)
            #expect(report.faults.filter { $0.kind == .foreignObject }.count == 3)
            #expect(try await fleet.keys().filter(foreign.contains).count >= 5)
        }
    }

    /// A URL with very many records costs no more than a few pages.
    @Test func manyRecordsOfOneURLAreSkipped() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(4)
            _ = try await fleet.sync("a", people)
            let key = try #require(try await fleet.keys("meta/").first)
            let (url, _) = try #require(TierLayout.split(key, prefix: TierLayout.records))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<2500 {
                    if number >= 32 { try await group.next() }
                    let time = Timestamp(milliseconds: 1_000_000 + Int64(number))
                    let old = TierGeneration(time: time, freshUntil: time, content: .gone)
                    group.addTask { try await fleet.tier.put(TierLayout.record(of: url, old), [1]) }
                }
                try await group.waitForAll()
            }
            let tier = WatchedTier(base: fleet.tier)
            let report = try await fleet.sync("b", people, tier: tier)
            #expect(report.shared == 4)
            #expect(tier.counts[.list] <= 6, "\(tier.counts[.list])")
        }
    }
}
