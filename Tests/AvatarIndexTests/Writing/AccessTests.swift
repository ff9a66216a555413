import AvatarCore
import Testing

@testable import AvatarIndex

/// The table of last accesses: it follows the files, and an upgrade fills it.
@Suite(.timeLimit(.minutes(5))) struct AccessTests {
    private static let accesses = """
        SELECT file_id, storage_class, size_bytes, last_access_us FROM access ORDER BY file_id
        """

    @Test(arguments: 1..<9)
    func anUpgradeKeepsTheTimes(version: Int) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try GoldenIndex(version: version).load(into: path)
            let files = "SELECT id, storage_class, size_bytes, last_access_us FROM file ORDER BY id"
            let before = try PlainSQL.rows(files, in: path)
            #expect(before.count == 5)

            let index = try AvatarIndex.open(path: path, fileMode: 0o600)

            var order: [Int64] = []
            try index.forEachEvictionCandidate { candidate in
                order.append(candidate.fileID)
                return true
            }
            #expect(order == [1, 2, 3])
            for storageClass in StorageClass.allCases { #expect(try index.isTotalRight(of: storageClass)) }
            try index.close()
            #expect(try PlainSQL.rows(Self.accesses, in: path) == before)
        }
    }

    @Test func theTableFollowsTheFiles() throws {
        var walk = RandomChanges(seed: 7)
        try withIndex { index in
            for step in 0..<100 {
                try index.write { try walk.change($0) }
                try #require(try index.isTotalRight(of: .caches) && index.isTotalRight(of: .documents), "step \(step)")
            }
        }
    }

    /// A shell does not enforce foreign keys.
    @Test func aDeletedFileLeavesNoRow() throws {
        try withIndex { index in
            try index.write { _ = try $0.addFile(1) }

            try PlainSQL.run(
                "PRAGMA foreign_keys = OFF; DELETE FROM file; UPDATE total SET files = 0, bytes = 0",
                in: index.path
            )

            #expect(try PlainSQL.rows(Self.accesses, in: index.path) == [])
        }
    }

    @Test(arguments: [
        "DELETE FROM access WHERE file_id = 1", "UPDATE access SET size_bytes = 9 WHERE file_id = 1",
        "UPDATE access SET storage_class = 1 WHERE file_id = 1", "INSERT INTO access VALUES (99, 0, 5, 0)",
    ])
    func rowsThatContradictTheFilesAreFoundAndRepaired(sql: String) throws {
        try withIndex { index in
            try index.write { transaction in
                try transaction.addFile(1, lastAccess: 10)
                try transaction.addFile(2, lastAccess: 20)
                try transaction.touch(fileID: 2, microseconds: 30)
            }
            let before = try PlainSQL.rows(Self.accesses, in: index.path)
            try PlainSQL.run(sql, in: index.path)
            #expect(try !index.isTotalRight(of: .caches))

            try index.write { try $0.repairAccesses() }

            #expect(try index.isTotalRight(of: .caches))
            #expect(try PlainSQL.rows(Self.accesses, in: index.path) == before)
        }
    }

    @Test func aTouchLeavesTheRowOfTheFile() throws {
        try withIndex { index in
            let id = try index.write { try $0.addFile(1, lastAccess: 10) }
            let file = try PlainSQL.rows("SELECT * FROM file", in: index.path)

            try index.write { try $0.touch(fileID: id, microseconds: 30) }

            #expect(try PlainSQL.rows("SELECT * FROM file", in: index.path) == file)
            #expect(try PlainSQL.rows(Self.accesses, in: index.path) == ["\(id)|0|1000|30"])
            #expect(try index.changes(since: 0, limit: 10).isEmpty)
        }
    }

    @Test func aClockThatWasSetBackKeepsTheOrder() throws {
        try withIndex { index in
            let hour: Int64 = 3_600_000
            let ids = try index.write { transaction in
                _ = try transaction.storeID(orNew: String(repeating: "0", count: 32))
                _ = try transaction.noteClock(Timestamp(milliseconds: 100 * hour), tolerance: 60, longestBlock: 60)
                return try [100, 99, 1].map { try transaction.addFile($0, lastAccess: Int64($0) * hour * 1000) }
            }

            try index.write {
                _ = try $0.noteClock(Timestamp(milliseconds: 50 * hour), tolerance: 60, longestBlock: 60)
            }

            let times = try index.write { transaction in try ids.map { try transaction.lastAccess(ofFile: $0) } }
            #expect(times == [50 * hour * 1000, 49 * hour * 1000, hour * 1000])
        }
    }
}
