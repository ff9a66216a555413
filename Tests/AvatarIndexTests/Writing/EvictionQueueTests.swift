import AvatarCore
import Testing

@testable import AvatarIndex

/// The queue holds only the files that go next. The order of eviction is that of all files.
@Suite(.timeLimit(.minutes(5))) struct EvictionQueueTests {
    /// More files than the queue takes at once.
    private static let count = 50_000
    /// All files of `caches`, the least recently used first.
    private static let order = """
        SELECT file_id FROM access WHERE storage_class = 0 ORDER BY last_access_us, file_id
        """
    private static let queued = "SELECT count(*) FROM eviction_queue"

    @Test func theUpgradeKeepsTheTimes() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try GoldenIndex(version: 9).load(into: path)
            let accesses = "SELECT * FROM access ORDER BY file_id"
            let before = try PlainSQL.rows(accesses, in: path)
            #expect(before.count == 5)

            let index = try AvatarIndex.open(path: path, fileMode: 0o600)

            #expect(try walk(index) == ["1", "2", "3"])
            #expect(try index.isTotalRight(of: .caches))
            try index.close()
            #expect(try PlainSQL.rows(accesses, in: path) == before)
        }
    }

    @Test func aWalkOverAllFilesIsInTheOrderOfTheirUse() throws {
        try withFiles { index in
            let expected = try PlainSQL.rows(Self.order, in: index.path)
            #expect(expected.count > 40_000)

            #expect(try read(index) == expected)
            #expect(try walk(index) == expected)
            // Now the queue holds all of them.
            #expect(try read(index) == expected)
            #expect(try index.isTotalRight(of: .caches))
        }
    }

    @Test func anEvictionQueuesAPartOfTheFiles() throws {
        try withFiles { index in
            let expected = try PlainSQL.rows(Self.order, in: index.path)

            #expect(try walk(index, first: 10) == Array(expected.prefix(10)))

            let queued = try #require(Int(PlainSQL.rows(Self.queued, in: index.path)[0]))
            #expect((4000..<40_000).contains(queued))
            #expect(try index.isTotalRight(of: .caches))
            #expect(try read(index) == expected)
        }
    }

    @Test func theQueueFollowsTheFiles() throws {
        try withFiles { index in
            try walk(index, first: 1)
            var random = SeededGenerator(seed: 3)
            var time: Int64 = 1_000_000
            for step in 0..<20 {
                try index.write { transaction in
                    for _ in 0..<50 {
                        let file = Int64.random(in: 1...Int64(Self.count), using: &random)
                        time += 1
                        // Some times are earlier than the end of the queue: another process wrote them late.
                        let used = Bool.random(using: &random) ? time : .random(in: 0..<1000, using: &random)
                        try transaction.touch(fileID: file, microseconds: used)
                    }
                    let victims = try candidates(transaction, first: 20)
                    _ = try transaction.retireFiles(ids: victims, absence: .evicted, holder: "me")
                    try transaction.addFile(Self.count + 2 * step, lastAccess: .random(in: 0..<1000, using: &random))
                    try transaction.addFile(Self.count + 2 * step + 1, lastAccess: time)
                }
                try #require(try index.isTotalRight(of: .caches), "step \(step)")
            }
            let expected = try PlainSQL.rows(Self.order, in: index.path)
            #expect(try read(index) == expected)
            #expect(try walk(index) == expected)
        }
    }

    @Test func aUsedFileLeavesTheQueue() throws {
        try withIndex { index in
            let ids = try index.write { transaction in try (1...3).map { try transaction.addFile($0, lastAccess: 10) } }
            #expect(try walk(index) == ids.map { "\($0)" })
            #expect(try PlainSQL.rows(Self.queued, in: index.path) == ["3"])

            try index.write { try $0.touch(fileID: ids[0], microseconds: 30) }

            #expect(try PlainSQL.rows(Self.queued, in: index.path) == ["2"])
            #expect(try walk(index) == [ids[1], ids[2], ids[0]].map { "\($0)" })
        }
    }

    @Test(arguments: [
        "DELETE FROM eviction_queue WHERE file_id = 1", "INSERT INTO eviction_queue VALUES (1, 99, 5)",
        "UPDATE eviction_queue SET size_bytes = 9 WHERE file_id = 1",
        "UPDATE eviction_queue_end SET queued_before_us = 1", "DELETE FROM eviction_queue_end",
    ])
    func aQueueThatContradictsTheFilesIsFoundAndRepaired(sql: String) throws {
        try withIndex { index in
            let ids = try index.write { transaction in
                try [20, 10].map { try transaction.addFile($0, lastAccess: Int64($0)) }
            }
            try walk(index)
            #expect(try index.isTotalRight(of: .caches))
            try PlainSQL.run(sql, in: index.path)
            #expect(try !index.isTotalRight(of: .caches))

            try index.write { try $0.repairAccesses() }

            #expect(try index.isTotalRight(of: .caches))
            #expect(try walk(index) == ids.reversed().map { "\($0)" })
        }
    }

    /// A time after which no time follows must not end the process.
    @Test func anImpossibleTimeEndsTheWalk() throws {
        try withIndex { index in
            let id = try index.write { transaction in
                _ = try transaction.addFile(1, lastAccess: .max)
                return try transaction.addFile(2, lastAccess: 1)
            }
            #expect(try walk(index) == ["\(id)"])
        }
    }

    // MARK: Parts

    /// Runs `body` with an index of many files, a tenth of them documents, some used at the same time.
    private func withFiles(_ body: (AvatarIndex) throws -> Void) throws {
        try withIndex { index in
            try PlainSQL.run(
                """
                WITH RECURSIVE number(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM number WHERE i + 1 < \(Self.count))
                INSERT INTO file (storage_class, sha256, path, size_bytes, media_type, width, height, last_access_us)
                SELECT i % 10 = 0, randomblob(32), 'ab/' || i || '.png', 1000, 'image/png', 40, 30, i * 7919 % 30011
                FROM number;
                UPDATE total SET (files, bytes) = (
                    SELECT count(*), sum(size_bytes) FROM file WHERE file.storage_class = total.storage_class);
                """,
                in: index.path
            )
            try body(index)
        }
    }

    /// The candidates that a write transaction walks over.
    @discardableResult
    private func walk(_ index: AvatarIndex, first limit: Int = .max) throws -> [String] {
        try index.write { try candidates($0, first: limit).map { "\($0)" } }
    }

    private func candidates(_ transaction: IndexTransaction, first limit: Int) throws -> [Int64] {
        var files: [Int64] = []
        try transaction.forEachEvictionCandidate(accessedBefore: .max) { candidate in
            files.append(candidate.fileID)
            return files.count < limit
        }
        return files
    }

    /// The candidates that a reader walks over.
    private func read(_ index: AvatarIndex) throws -> [String] {
        var files: [String] = []
        try index.forEachEvictionCandidate { candidate in
            files.append("\(candidate.fileID)")
            return true
        }
        return files
    }
}
