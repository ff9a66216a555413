import AvatarCore
import Testing

@testable import AvatarIndex

/// The answers and erasures that wait for a shared tier.
@Suite(.timeLimit(.minutes(5))) struct TierQueueTests {
    private func key(_ number: Int) throws -> AvatarKey { try AvatarKey(url: "https://example.org/\(number)") }

    private func addEntries(_ count: Int, to index: AvatarIndex) throws {
        try index.write { transaction in
            for number in 0..<count {
                let key = try key(number)
                _ = try transaction.insertEntry(key, sourceURL: nil, host: "example.org", storageClass: .caches)
            }
        }
    }

    private func queue(_ number: Int, _ transaction: IndexTransaction) throws {
        let url = TierURL(sha256: Array(repeating: UInt8(number), count: 32))
        try transaction.queueUpload(of: key(number), url, answered: Timestamp(milliseconds: Int64(number)), atMost: 10)
    }

    @Test func theQueueKeepsTheOrderOfTheAnswers() throws {
        try withIndex { index in
            try addEntries(4, to: index)
            _ = try index.tierMachine(orNew: String(repeating: "a", count: 32))
            try index.write { transaction in
                for number in [2, 0, 1, 2] { try queue(number, transaction) }
                // Without an entry there is nothing to put.
                try queue(9, transaction)
            }
            let waiting = try index.tierUploads(after: 0, limit: 10)
            #expect(waiting.map(\.answered.milliseconds) == [0, 1, 2])
            #expect(try waiting.map(\.entry.key) == [0, 1, 2].map(key))
            #expect(try index.tierUploads(after: waiting[0].id, limit: 1).map(\.entry.key) == [key(1)])
            try index.write { try $0.finishUploads([waiting[1].id]) }
            #expect(try index.tierUse()?.waiting == 2)
            #expect(try index.tierUse()?.dropped == 0)
        }
    }

    @Test func theQueueIsBounded_andDropsTheOldest() throws {
        try withIndex { index in
            try addEntries(30, to: index)
            _ = try index.tierMachine(orNew: String(repeating: "a", count: 32))
            try index.write { transaction in
                for number in 0..<30 { try queue(number, transaction) }
            }
            let waiting = try index.tierUploads(after: 0, limit: 100).map(\.entry.key)
            #expect(try waiting == (20..<30).map(key))
            #expect(try index.tierUse()?.dropped == 20)
        }
    }

    @Test func aRemovedEntryLeavesTheQueue() throws {
        try withIndex { index in
            try addEntries(2, to: index)
            try index.write { transaction in
                for number in 0..<2 { try queue(number, transaction) }
            }
            try index.write { transaction in
                try transaction.removeEntry(id: #require(try transaction.state(of: key(0))).id)
            }
            #expect(try index.tierUploads(after: 0, limit: 10).map(\.entry.key) == [key(1)])
        }
    }

    @Test func anErasureWaitsOnlyInAStoreThatUsedATier() throws {
        try withIndex { index in
            let url = TierURL(sha256: Array(repeating: 5, count: 32))
            let digest: [UInt8] = Array(repeating: 6, count: 32)
            let time = Timestamp(milliseconds: 7)
            try index.write { try $0.queueTierErasure(of: url, digest: digest, at: time) }
            #expect(try index.tierErasures().isEmpty)
            #expect(try index.tierUse() == nil)
            let machine = try index.tierMachine(orNew: String(repeating: "a", count: 32))
            #expect(try index.tierMachine(orNew: String(repeating: "b", count: 32)) == machine)
            try index.write { try $0.queueTierErasure(of: url, digest: nil, at: time) }
            let first = try #require(try index.tierErasures().first)
            try index.write { try $0.noteTierDeletion(of: first.name, at: time) }
            #expect(try !index.hasTierWork())
            #expect(try index.tierUse()?.erasures == 0)

            // A later erasure of the same URL is another one.
            try index.write { try $0.queueTierErasure(of: url, digest: digest, at: time) }
            let second = try #require(try index.tierErasures().first)
            #expect(second.name != first.name)
            #expect(second.digest == digest)
            #expect(second.deleted == nil)
            #expect(try index.hasTierWork())
            try index.write { try $0.finishTierErasure(first.name) }
            #expect(try index.tierErasures().count == 1)
            try index.write { try $0.finishTierErasure(second.name) }
            #expect(try index.tierErasures().isEmpty)
        }
    }

    /// Two stores with one name would count as one machine, for which an erasure does not wait.
    @Test func aCopyIsAnotherMachineWithNothingToPut() throws {
        try withIndex { index in
            try addEntries(1, to: index)
            let name = try index.tierMachine(orNew: String(repeating: "a", count: 32))
            try index.write { transaction in
                try queue(0, transaction)
                try transaction.setTierRegistration(20_000)
                try transaction.forgetWork()
            }
            #expect(try index.tierMachine(orNew: String(repeating: "b", count: 32)) != name)
            #expect(try index.tierRegistration() == nil)
            #expect(try index.tierUse()?.waiting == 0)
        }
    }

    @Test func countsAddUp_andASuccessEndsTheFailure() throws {
        try withIndex { index in
            _ = try index.tierMachine(orNew: String(repeating: "a", count: 32))
            var counts = TierCounts()
            (counts.taken, counts.put) = (3, 1)
            try index.write { try $0.note(counts, failure: ("It fails.", Timestamp(milliseconds: 5))) }
            #expect(try index.tierUse()?.failure?.message == "It fails.")
            try index.write { try $0.note(counts, failure: nil) }
            let use = try index.tierUse()
            #expect(use?.counts.taken == 6)
            #expect(use?.counts.put == 2)
            #expect(use?.failure == nil)
        }
    }
}
