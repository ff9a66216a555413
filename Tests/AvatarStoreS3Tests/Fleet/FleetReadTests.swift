import AvatarCore
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Testing

/// A machine takes from the shared tier what another one has fetched.
@Suite(.enabled("needs an S3 engine: scripts/start-seaweedfs") { Fleet.engine != nil }, .timeLimit(.minutes(5)))
struct FleetReadTests {
    @Test func aSecondMachineAsksNoOrigin() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(60)
            let first = try await fleet.sync("a", people)
            #expect(first.fetched == 60)
            #expect(first.shared == 0)

            let second = try await fleet.sync("b", people)

            #expect(second.fetched == 60)
            #expect(second.shared == 60)
            #expect(second.requests == 0)
            #expect(fleet.origin.requestCount == 60)
            let image = try await fleet.withMachine("b") { try await $0.avatar(for: fleet.origin.url("/7.png")) }
            #expect(image.bytes == SampleImage.png(seed: 7, byteCount: 1000))
            let stats = try await fleet.withMachine("b") { try $0.statistics().sharedTier }
            #expect(stats?.taken == 60)
            #expect(stats?.failure == nil)
        }
    }

    @Test func aReadTakesTheImageFromTheTierToo() async throws {
        try await Fleet.run { fleet in
            fleet.serve(1, at: "/a")
            let url = fleet.origin.url("/a")
            _ = try await fleet.withMachine("a") { try await $0.avatar(for: url) }
            let image = try await fleet.withMachine("b") { try await $0.avatar(for: url) }
            #expect(image.bytes == SampleImage.png(seed: 1, byteCount: 1000))
            #expect(fleet.origin.requestCount == 1)
        }
    }

    /// Age counts: an image does not become fresh again because it is copied.
    @Test func freshnessIsThatOfTheFirstFetch() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(1, cacheControl: "max-age=1000")
            _ = try await fleet.sync("a", people)
            fleet.clock.advance(by: .seconds(900))
            #expect(try await fleet.sync("b", people).shared == 1)
            fleet.clock.advance(by: .seconds(90))
            #expect(try await fleet.sync("b", people).fresh == 1)
            fleet.clock.advance(by: .seconds(20))
            let report = try await fleet.sync("b", people)
            #expect(report.notModified == 1)
            #expect(report.shared == 0)
            #expect(fleet.origin.requestCount == 2)
        }
    }

    @Test func aStaleCopyIsConfirmedByTheOrigin_andItsBytesComeFromTheTier() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(3)
            _ = try await fleet.sync("a", people)
            fleet.clock.advance(by: .seconds(4000))
            let report = try await fleet.sync("b", people)
            #expect(report.fetched == 3)
            #expect(report.bytesReceived == 0)
            #expect(fleet.origin.requests.suffix(3).allSatisfy { $0.headers["If-None-Match"] != nil })
        }
    }

    @Test func aStaleCopyStandsInForAnOriginThatFails() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(2)
            _ = try await fleet.sync("a", people)
            fleet.clock.advance(by: .seconds(4000))
            for path in ["/0.png", "/1.png"] { fleet.origin.setResponse(.status(500), for: path) }
            _ = try await fleet.sync("b", people)
            try await fleet.withMachine("b") { store in
                for path in ["/0.png", "/1.png"] {
                    let image = try store.storedAvatar(for: fleet.origin.url(path))
                    #expect(image?.bytes.count == 1000)
                }
            }
        }
    }

    /// One machine revalidates; the others learn it from the listing, without a request for each image.
    @Test func aSyncLearnsFromTheListingWhatWasConfirmed() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(300)
            _ = try await fleet.sync("a", people)
            _ = try await fleet.sync("b", people)
            fleet.clock.advance(by: .seconds(4000))
            #expect(try await fleet.sync("a", people).notModified == 300)
            let tier = WatchedTier(base: fleet.tier)

            let report = try await fleet.sync("b", people, tier: tier)

            #expect(report.notModified == 300)
            #expect(report.shared == 300)
            #expect(fleet.origin.requestCount == 600)
            #expect(tier.counts.all <= 5, "\(tier.counts.all)")
            #expect(try await fleet.keys("meta/").count == 300)
            tier.counts.reset()
            #expect(try await fleet.sync("b", people, tier: tier).fresh == 300)
            #expect(tier.counts.all <= 3)
        }
    }

    @Test func aChangedImageIsTakenByTheOthers() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(2)
            _ = try await fleet.sync("a", people)
            _ = try await fleet.sync("b", people)
            fleet.clock.advance(by: .seconds(4000))
            fleet.serve(77, at: "/1.png")
            _ = try await fleet.sync("a", people)
            let report = try await fleet.sync("b", people)
            #expect(report.shared == 2)
            #expect(report.changed == 1)
            #expect(fleet.origin.requestCount == 4)
            #expect(try await fleet.keys("meta/").count == 2)
        }
    }

    @Test func aLackOfAImageIsSharedToo() async throws {
        try await Fleet.run { fleet in
            fleet.origin.setResponse(.status(404), for: "/none")
            let people = [Contact(id: "n", avatarURL: fleet.origin.url("/none"))]
            #expect(try await fleet.sync("a", people).failed == 1)
            let report = try await fleet.sync("b", people)
            #expect(report.failed == 1)
            #expect(report.shared == 1)
            #expect(report.failures.first?.kind == .gone)
            #expect(fleet.origin.requestCount == 1)
        }
    }

    /// A clock that runs ahead must not make an image fresh for longer.
    @Test func aRecordFromTheFutureIsNotFresh() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(1)
            let ahead = ManualClock(fleet.clock.now())
            ahead.advance(by: .seconds(1200))
            _ = try await fleet.sync("a", people) { $0.clock = ahead }
            let report = try await fleet.sync("b", people)
            #expect(report.fetched == 1)
            #expect(fleet.origin.requestCount == 2)
        }
    }

    @Test func whatTheOriginForbidsIsNotShared() async throws {
        try await Fleet.run { fleet in
            fleet.serve(1, at: "/private", cacheControl: "private, max-age=3600")
            fleet.serve(2, at: "/no-store", cacheControl: "no-store")
            fleet.serve(3, at: "/public")
            let people = ["/private", "/no-store", "/public"].map { Contact(id: $0, avatarURL: fleet.origin.url($0)) }
            _ = try await fleet.sync("a", people)
            #expect(try await fleet.keys("meta/").count == 1)
            #expect(try await fleet.keys("bytes/").count == 1)
            #expect(try await fleet.keys("claims/").isEmpty)
        }
    }

    /// RFC 9111 section 3.5.
    @Test func aImageBehindCredentialsIsNotShared() async throws {
        try await Fleet.run { fleet in
            fleet.serve(1, at: "/a")
            fleet.serve(2, at: "/b", cacheControl: "public, max-age=3600")
            let people = ["/a", "/b"].map { Contact(id: $0, avatarURL: fleet.origin.url($0)) }
            _ = try await fleet.sync("a", people) {
                $0.http.fieldsForHost = { _ in [("Authorization", "Bearer secret")] }
            }
            #expect(fleet.origin.requests.allSatisfy { $0.headers["Authorization"] == "Bearer secret" })
            #expect(try await fleet.keys("meta/").count == 1)
        }
    }

    @Test func noRecordHoldsAURL() async throws {
        try await Fleet.run { fleet in
            fleet.serve(1, at: "/target?token=secret")
            fleet.origin.setResponse(.redirect(to: "/target?token=secret", status: 301), for: "/r")
            _ = try await fleet.sync("a", [Contact(id: "r", avatarURL: fleet.origin.url("/r"))])
            let keys = try await fleet.keys("meta/")
            #expect(keys.count == 1)
            for key in keys {
                let text = String(decoding: try await fleet.tier.get(key, limit: 65_536) ?? [], as: UTF8.self)
                #expect(text.contains("\"digest\""))
                #expect(!text.contains("secret"))
                #expect(!text.contains("127.0.0.1"))
            }
            let report = try await fleet.sync("b", [Contact(id: "r", avatarURL: fleet.origin.url("/r"))])
            #expect(report.shared == 1)
        }
    }
}
