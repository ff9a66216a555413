import AvatarCore
import Testing

@testable import AvatarIndex

/// The answers and erasures that wait for a shared tier.
@Suite struct TierQueueTests {
    private func key(_ number: Int) throws -> AvatarKey { try AvatarKey(url: "https://example.org/\(number)") }

    private func addEntries(_ count: Int, to index: AvatarIndex) throws {
        try index.write { transaction in
            for number in 0..<count {
                let key = try key(number)
                _ = try transaction.insertEntry(key, sourceURL: nil, host: "example.org", storageClass: .caches)
            }
        }
    }

    @Test func theQueueKeepsTheOrderOfTheAnswers() throws {
        try withIndex { index in
            try addEntries(4, to: index)
            _ = try index.tierMachine(orNew: String(repeating: "a", count: 32))
            try index.write { transaction in
                for number in [2, 0, 1, 2] { try transaction.queueUpload(of: key(number), atMost: 10) }
                // Without an entry there is nothing to put.
                try transaction.queueUpload(of: key(9), atMost: 10)
            }
            let waiting = try index.tierUploads(after: 0, limit: 10)
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
                for number in 0..<30 { try transaction.queueUpload(of: key(number), atMost: 10) }
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
                for number in 0..<2 { try transaction.queueUpload(of: key(number), atMost: 10) }
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
            try index.write { try $0.queueTierErasure(of: url) }
            #expect(try index.tierErasures().isEmpty)
            #expect(try index.tierUse() == nil)
            let machine = try index.tierMachine(orNew: String(repeating: "a", count: 32))
            #expect(try index.tierMachine(orNew: String(repeating: "b", count: 32)) == machine)
            for _ in 0..<2 { try index.write { try $0.queueTierErasure(of: url) } }
            #expect(try index.tierErasures() == [url])
            #expect(try index.hasTierWork())
            try index.write { try $0.finishTierErasure(of: url) }
            #expect(try !index.hasTierWork())
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
