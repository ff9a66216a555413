import AvatarCore
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Testing

/// An image that one machine erases leaves the tier and the other machines.
@Suite(.enabled("needs an S3 engine: scripts/start-seaweedfs") { Fleet.engine != nil }, .timeLimit(.minutes(5)))
struct FleetErasureTests {
    @Test func anErasureReachesAllMachines() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(3)
            var lastChanges: [String: Int64] = [:]
            for name in ["a", "b", "c"] {
                _ = try await fleet.sync(name, people)
                lastChanges[name] = try await fleet.withMachine(name) { try $0.lastChange() }
            }
            let key = try AvatarKey(url: fleet.origin.url("/1.png"))

            let receipt = try await fleet.withMachine("a") { try await $0.remove(key, erasing: true) }

            // Bytes and record.
            #expect(receipt.tierErasure == .done(objects: 2))
            #expect(try await fleet.keys("bytes/").count == 2)
            #expect(try await fleet.keys("meta/").count == 2)
            #expect(try await fleet.keys("erased/").count == 2)

            let rest = [people[0], people[2]]
            for name in ["b", "c", "a"] {
                _ = try await fleet.sync(name, rest)
                try await fleet.withMachine(name) { store in
                    let stored = try store.storedAvatar(for: key)
                    #expect(stored == nil)
                    #expect(try store.list().items.count == 2)
                    // A mirror of any machine learns that the image is gone.
                    #expect {
                        try store.changes(since: lastChanges[name] ?? 0)
                    } throws: {
                        ($0 as? AvatarStoreError)?.code == .startOver
                    }
                }
            }
            #expect(try await fleet.keys("erased/").isEmpty)
            #expect(fleet.origin.requestCount == 3)
            #expect(try await SharedTierCheck(fleet.tier).run().faultCount == 0)
        }
    }

    /// The feed of a machine that removed the image itself still names it.
    @Test func anErasureTakesTheTracesOfAnImageThatWasRemovedBefore() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(2)
            let key = try AvatarKey(url: fleet.origin.url("/1.png"))
            for name in ["a", "b"] { _ = try await fleet.sync(name, people) }
            try await fleet.withMachine("b") { store in
                _ = try await store.remove(key)
                #expect(try store.changes(since: 0).contains { $0.key == key })
            }
            _ = try await fleet.withMachine("a") { try await $0.remove(key, erasing: true) }

            _ = try await fleet.sync("b", [people[0]])

            _ = try await fleet.withMachine("b") { store in
                #expect(throws: AvatarStoreError.self) { try store.changes(since: 1) }
            }
        }
    }

    @Test func anErasureWithoutTheTierIsCarriedOutAtTheNextSync() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(2)
            _ = try await fleet.sync("a", people)
            let key = try AvatarKey(url: fleet.origin.url("/1.png"))
            let receipt = try await fleet.withMachine("a") {
                $0.sharedTier = nil
            } _: {
                try await $0.remove(key, erasing: true)
            }
            #expect(receipt.tierErasure == .waits)
            #expect(try await fleet.keys("meta/").count == 2)
            _ = try await fleet.sync("a", [people[0]])
            #expect(try await fleet.keys("meta/").count == 1)
            #expect(try await fleet.keys("bytes/").count == 1)
            #expect(try await fleet.keys("erased/").isEmpty)
        }
    }

    @Test func bytesThatAnotherImageHasStay() async throws {
        try await Fleet.run { fleet in
            fleet.serve(1, at: "/a")
            fleet.serve(1, at: "/b")
            let people = ["/a", "/b"].map { Contact(id: $0, avatarURL: fleet.origin.url($0)) }
            _ = try await fleet.sync("a", people)
            #expect(try await fleet.keys("bytes/").count == 1)
            let key = try AvatarKey(url: fleet.origin.url("/a"))
            let receipt = try await fleet.withMachine("a") { try await $0.remove(key, erasing: true) }
            #expect(receipt.tierErasure == .done(objects: 1))
            #expect(try await fleet.keys("bytes/").count == 1)
            #expect(try await fleet.sync("b", [people[1]]).shared == 1)
        }
    }

    @Test func aRemovalThatIsNoErasureLeavesTheTierAsItIs() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(2)
            _ = try await fleet.sync("a", people)
            let key = try AvatarKey(url: fleet.origin.url("/1.png"))
            let receipt = try await fleet.withMachine("a") { try await $0.remove(key) }
            #expect(receipt.tierErasure == .none)
            #expect(try await fleet.keys("meta/").count == 2)
        }
    }

    /// A backup is another machine: else its pass of a tombstone would count for the original.
    @Test func aRestoredBackupIsAnotherMachine() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(2)
            _ = try await fleet.sync("a", people)
            try await fleet.withMachine("a") { _ = try await $0.backup(to: fleet.path("backup")) }
            let restored = AvatarStore.Configuration(directory: fleet.path("restored"))
            _ = try await AvatarStore.restore(from: fleet.path("backup"), to: restored)
            _ = try await fleet.sync("restored", people)
            #expect(try await fleet.keys("machines/").count == 2)
        }
    }

    // MARK: The check

    @Test func theCheckFindsAndRepairsFaults() async throws {
        try await Fleet.run { fleet in
            let people = fleet.people(6)
            _ = try await fleet.sync("a", people)
            var check = SharedTierCheck(fleet.tier)
            check.grace = .zero
            #expect(try await check.run().faultCount == 0)
            let images = try await fleet.keys("bytes/")
            try await fleet.tier.delete(images[0])
            try await fleet.tier.put(images[1], [1, 2, 3])
            try await fleet.tier.put("bytes/" + String(repeating: "0", count: 64), [9])
            let (record, name) = try #require(
                TierLayout.split(try await fleet.keys("meta/")[0], prefix: TierLayout.records)
            )
            let digest = try #require(TierGeneration(name: name)?.digest)
            let time = Timestamp(milliseconds: 1000)
            let old = TierGeneration(time: time, freshUntil: time, content: .image(digest))
            try await fleet.tier.put(TierLayout.record(of: record, old), [1])

            let found = try await check.run()
            #expect(!found.isSound)
            #expect(
                Set(found.faults.map(\.kind)) == [.missingBytes, .damagedBytes, .orphanedBytes, .replacedRecord]
            )
            #expect(try await fleet.keys("bytes/").count == 6)

            let repaired = try await check.run(repair: true)
            #expect(repaired.isSound)
            #expect(repaired.repaired == 4)
            // The record of the damaged image names no bytes now.
            _ = try await check.run(repair: true)
            #expect(try await check.run().faultCount == 0)
            #expect(try await fleet.sync("b", people).fetched == 6)
            #expect(try await check.run().urls == 6)
        }
    }
}
