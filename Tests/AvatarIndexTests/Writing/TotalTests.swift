import AvatarCore
import Testing

@testable import AvatarIndex

@Suite(.timeLimit(.minutes(5))) struct TotalTests {
    private struct Undone: Error {}

    @Test func totalsCountFilesAndPendingFilesOfEachClass() throws {
        try withIndex { index in
            try index.write { transaction in
                try transaction.addFile(1, bytes: 100)
                try transaction.addFile(2, bytes: 20)
                try transaction.addFile(1, bytes: 100, storageClass: .documents)
                try transaction.addPending(.sample(3, bytes: 7))
                try transaction.addPending(.sample(3, bytes: 5, storageClass: .documents))
                try transaction.addPending(.sample(4, bytes: 1, storageClass: .documents))
            }

            let caches = try index.total(of: .caches)
            #expect(caches == ClassTotal(files: 2, bytes: 120, pendingBytes: 7))
            #expect(caches.accountedBytes == 127)
            let documents = try index.total(of: .documents)
            #expect(documents == ClassTotal(files: 1, bytes: 100, pendingBytes: 6))
            #expect(try index.write { try $0.total(of: .documents) } == documents)
        }
    }

    @Test func aTransactionSeesTheTotalsThatItChanges() throws {
        try withIndex { index in
            try index.write { transaction in
                let file = try transaction.addFile(1, bytes: 100)
                try transaction.addPending(.sample(2, bytes: 7))
                #expect(
                    try transaction.total(of: .caches)
                        == ClassTotal(files: 1, bytes: 100, pendingBytes: 7)
                )
                _ = try transaction.retireFile(id: file, absence: nil, holder: "me")
                #expect(
                    try transaction.total(of: .caches)
                        == ClassTotal(files: 0, bytes: 0, pendingBytes: 107)
                )
                // A recount includes what this transaction did before it, and loses nothing that it does after.
                try transaction.recountTotal(of: .caches)
                try transaction.dropPending(.sample(2, bytes: 7))
                #expect(try transaction.total(of: .caches).pendingBytes == 100)
            }
            #expect(
                try index.total(of: .caches) == ClassTotal(files: 0, bytes: 0, pendingBytes: 100)
            )
        }
    }

    /// Another program changed rows without the totals. The store must stay usable: the rows are counted.
    @Test func aTotalThatWouldBecomeNegativeIsCounted() throws {
        try withIndex { index in
            let file = try index.write { transaction in
                try transaction.addFile(2, bytes: 20)
                return try transaction.addFile(1, bytes: 100)
            }
            try PlainSQL.run("UPDATE total SET bytes = 50 WHERE storage_class = 0", in: index.path)

            _ = try index.write { try $0.retireFile(id: file, absence: nil, holder: "me") }

            #expect(
                try index.total(of: .caches) == ClassTotal(files: 1, bytes: 20, pendingBytes: 100)
            )
        }
    }

    @Test func totalsFollowEveryChange() throws {
        let seed = UInt64.random(in: .min ... .max)
        var walk = RandomChanges(seed: seed)
        try withIndex { index in
            for step in 0..<300 {
                do {
                    try index.write { transaction in
                        try walk.change(transaction)
                        if step % 7 == 0 { throw Undone() }
                    }
                } catch is Undone {
                    walk.forget()
                }
                let totals = try index.readers.read { connection in
                    try (
                        connection.connection.lines(PlainSQL.totals),
                        connection.connection.lines(PlainSQL.recountedTotals)
                    )
                }
                try #require(totals.0 == totals.1, "step \(step), seed \(seed)")
                let wrongBatches = try PlainSQL.rows(PlainSQL.wrongBatches, in: index.path)
                try #require(wrongBatches == [], "step \(step), seed \(seed)")
            }
            #expect(try index.total(of: .caches).accountedBytes > 0)
        }
    }

    @Test(arguments: ["storage_class = 1", "path = 'x'", "size_bytes = 1", "sha256 = zeroblob(32)"])
    func aPublishedFileDoesNotChange(assignment: String) throws {
        try withIndex { index in
            try index.write { _ = try $0.addFile(1) }

            #expect(
                thrownCode { try index.write { try $0.run(ChangesHits("UPDATE file SET \(assignment)")) } } == .storage
            )
        }
    }

    @Test(arguments: ["storage_class = 1", "path = 'x'", "size_bytes = 1"])
    func aPendingFileDoesNotChange(assignment: String) throws {
        try withIndex { index in
            try index.write { try $0.addPending(.sample(1)) }

            let code = thrownCode { try index.write { try $0.run(KeepsHits("UPDATE pending_file SET \(assignment)")) } }
            #expect(code == .storage)
        }
    }

    @Test func aPendingBatchDoesNotChange() throws {
        try withIndex { index in
            _ = try index.write { try $0.addPending([.sample(1)], of: "me") }

            let code = thrownCode { try index.write { try $0.run(KeepsHits("UPDATE pending_batch SET holder = 'x'")) } }
            #expect(code == .storage)
        }
    }

    @Test func aNameIsPendingOnce() throws {
        try withIndex { index in
            try index.write { try $0.addPending(.sample(1, holder: "one")) }

            #expect(thrownCode { try index.write { try $0.addPending(.sample(1, holder: "two")) } } == .storage)
            #expect(try index.write { try $0.pendingFiles(of: "one") } == [.sample(1, holder: "one")])
        }
    }
}
