import AvatarCore
import AvatarDigest
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

@testable import AvatarStoreS3

/// An answer that waits for the tier is put there only while it may be, and under the URL that gave it.
@Suite(.enabled("needs an S3 engine: scripts/start-seaweedfs") { Fleet.engine != nil }, .timeLimit(.minutes(5)))
struct FleetPrivacyTests {
    /// A tier to which no connection is possible.
    private static func away() throws -> S3Tier {
        try S3Tier(
            S3Configuration(
                bucket: "fleet",
                endpoint: "http://127.0.0.1:1",
                credentials: S3Credentials(accessKey: "k", secretKey: "s")
            )
        )
    }

    private static func url(_ text: String) -> TierURL {
        TierURL(sha256: SHA256.hash(text.utf8))
    }

    /// Else another URL would have this one's image.
    @Test func anEntryWithAnotherSourceSinceIsNotPut() async throws {
        try await Fleet.run { fleet in
            fleet.serve(1, at: "/one")
            fleet.serve(2, at: "/two")
            let key = try AvatarKey(custom: "me")
            try await fleet.withMachine("a", tier: Self.away()) { store in
                _ = try await store.avatar(for: key, from: fleet.origin.url("/one"))
                _ = try await store.avatar(for: key, from: fleet.origin.url("/two"))
            }
            _ = try await fleet.sync("a", [])
            // The image came from the second URL, or the entry has none of its answers.
            #expect(try await fleet.keys(TierLayout.records(of: Self.url(fleet.origin.url("/two")))).isEmpty)
            let waiting = try await fleet.withMachine("a") { try $0.statistics().sharedTier?.waiting }
            #expect(waiting == 0)
        }
    }

    @Test func anAnswerThatBecamePrivateIsNotPut() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(2)
            _ = try await fleet.sync("a", people, tier: Self.away())
            fleet.clock.advance(by: .seconds(4000))
            _ = fleet.people(1, cacheControl: "private, max-age=3600")
            _ = try await fleet.sync("a", people, tier: Self.away())
            _ = try await fleet.sync("a", people)
            #expect(try await fleet.keys("meta/").count == 1)
            #expect(try await fleet.keys("bytes/").count == 1)
        }
    }

    @Test func aSmallerImageThatIsGoneSaysNothingOfTheImage() async throws {
        try await Fleet.run { fleet in
            fleet.serve(1, at: "/large")
            fleet.origin.setResponse(.status(404), for: "/small")
            var contact = Contact(id: "1", avatarURL: fleet.origin.url("/large"))
            contact.lowDataURL = fleet.origin.url("/small")
            _ = try await fleet.sync("a", [contact]) { $0.isConstrained = { true } }
            #expect(try await fleet.keys(TierLayout.records(of: Self.url(fleet.origin.url("/large")))).isEmpty)
            #expect(try await fleet.sync("b", [contact]).fetched == 1)
        }
    }

    @Test(arguments: ["private", "no-store"])
    func aLackThatIsNotForOthersIsNotPut(_ cacheControl: String) async throws {
        try await Fleet.run { fleet in
            fleet.origin.setResponse(.status(404, headers: ["Cache-Control": cacheControl]), for: "/none")
            _ = try await fleet.sync("a", [Contact(id: "1", avatarURL: fleet.origin.url("/none"))])
            #expect(try await fleet.keys("meta/").isEmpty)
        }
    }

    /// A field of the program's own may be a key.
    @Test func aImageBehindAFieldOfTheCallersIsNotShared() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(1)
            _ = try await fleet.sync("a", people) { $0.http.fieldsForHost = { _ in [("X-Api-Key", "secret")] } }
            #expect(try await fleet.keys("meta/").isEmpty)
        }
    }

    // MARK: Erasures

    /// A machine with an answer that waits must not bring an erased image back.
    @Test func aLateAnswerOfAnErasedImageIsNotPut() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(3)
            let rest = Array(people.prefix(2))
            let url = fleet.origin.url("/2.png")
            for machine in ["a", "b"] { _ = try await fleet.sync(machine, rest) }
            _ = try await fleet.sync("b", people, tier: Self.away())
            _ = try await fleet.sync("a", people)
            let key = try AvatarKey(url: url)
            _ = try await fleet.withMachine("a") { try await $0.remove(key, erasing: true) }
            fleet.serve(9, at: "/9.png")

            // Closing the store puts what waits.
            _ = try await fleet.withMachine("b") { try await $0.avatar(for: fleet.origin.url("/9.png")) }

            #expect(try await fleet.keys("meta/").count == 3)
            #expect(try await fleet.keys(TierLayout.records(of: Self.url(url))).isEmpty)
            _ = try await fleet.sync("b", rest)
            let stored = try await fleet.withMachine("b") { try $0.storedAvatar(for: url) }
            #expect(stored == nil)
        }
    }

    /// The second erasure of an image is another one, also for a machine that has passed the first.
    @Test func aImageThatCameBackIsErasedAgain() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(2)
            let rest = Array(people.prefix(1))
            let key = try AvatarKey(url: fleet.origin.url("/1.png"))
            // The third machine is away, so tombstones stay.
            for machine in ["a", "b", "c"] { _ = try await fleet.sync(machine, people) }
            for _ in 0..<2 {
                _ = try await fleet.withMachine("a") { try await $0.remove(key, erasing: true) }
                _ = try await fleet.sync("b", rest)
                let stored = try await fleet.withMachine("b") { try $0.storedAvatar(for: key) }
                #expect(stored == nil)
                for machine in ["a", "b"] { _ = try await fleet.sync(machine, people) }
            }
        }
    }

    /// An erasure waits for a machine that has only read an image.
    @Test func aMachineThatOnlyReadsIsWaitedFor() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(1)
            let key = try AvatarKey(url: fleet.origin.url("/0.png"))
            _ = try await fleet.sync("a", people)
            _ = try await fleet.withMachine("c") { try await $0.avatar(for: fleet.origin.url("/0.png")) }
            _ = try await fleet.withMachine("a") { try await $0.remove(key, erasing: true) }
            _ = try await fleet.sync("a", [])
            #expect(try await !fleet.keys("erased/").isEmpty)
            _ = try await fleet.sync("c", [])
            let stored = try await fleet.withMachine("c") { try $0.storedAvatar(for: key) }
            #expect(stored == nil)
            #expect(try await fleet.keys("erased/").isEmpty)
        }
    }

    /// A machine may have put a record at the moment of the erasure. Some minutes later it is found, and all are told again.
    @Test func whatCameMeanwhileIsErasedAtTheSecondLook() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(2)
            let key = try AvatarKey(url: fleet.origin.url("/1.png"))
            for machine in ["a", "b"] { _ = try await fleet.sync(machine, people) }
            let record = try #require(
                try await fleet.keys(TierLayout.records(of: Self.url(fleet.origin.url("/1.png")))).first
            )
            let bytes = try #require(try await fleet.tier.get(record, limit: 65_536))
            fleet.clock.advance(by: .seconds(10))
            let rest = Array(people.prefix(1))
            _ = try await fleet.withMachine("a") { try await $0.remove(key, erasing: true) }
            for machine in ["b", "a"] { _ = try await fleet.sync(machine, rest) }
            #expect(try await fleet.keys("erased/").isEmpty)
            try await fleet.tier.put(record, bytes)

            fleet.clock.advance(by: .seconds(200))
            _ = try await fleet.sync("a", rest)
            #expect(try await fleet.keys("meta/").count == 1)
            _ = try await fleet.sync("a", rest)
            #expect(try await !fleet.keys("erased/").isEmpty)
            _ = try await fleet.sync("b", rest)
            #expect(try await fleet.keys("erased/").isEmpty)
        }
    }
}
