import Testing

@testable import AvatarIndex

/// Every index that is in the field becomes one that a new program would have made, and keeps what it holds.
@Suite(.timeLimit(.minutes(5))) struct GoldenUpgradeTests {
    @Test(arguments: 1...Migration.latestVersion)
    func anUpgradedIndexHasTheSchemaOfAFreshOne(version: Int) throws {
        try withTemporaryDirectory { directory in
            let fresh = directory + "/fresh.sqlite"
            try AvatarIndex.open(path: fresh, fileMode: 0o600).close()

            let upgraded = try upgrade(version, in: directory)

            for question in [PlainSQL.schema, "PRAGMA user_version", "PRAGMA application_id", "PRAGMA auto_vacuum"] {
                #expect(try PlainSQL.rows(question, in: upgraded) == PlainSQL.rows(question, in: fresh))
            }
        }
    }

    @Test(arguments: 1...Migration.latestVersion)
    func anUpgradeKeepsWhatPeopleSee(version: Int) throws {
        try withTemporaryDirectory { directory in
            let before = directory + "/before.sqlite"
            try GoldenIndex(version: version).load(into: before)

            let upgraded = try upgrade(version, in: directory)

            let seen = try PlainSQL.rows(GoldenIndex.overview, in: before)
            #expect(seen.isEmpty == false)
            #expect(try PlainSQL.rows(GoldenIndex.overview, in: upgraded) == seen)
            try expectSound(upgraded)
        }
    }

    @Test(arguments: 1...Migration.latestVersion)
    func anUpgradedIndexIsReadAndWritten(version: Int) throws {
        try withTemporaryDirectory { directory in
            let index = try AvatarIndex.open(path: upgrade(version, in: directory), fileMode: 0o600)

            let entry = try #require(try index.entry(for: .stored("https://img.example.com/logo.png?size=96")))
            let file = try #require(entry.file)
            #expect(file.sizeBytes == 1000)
            #expect(try index.keys(usingFile: file.id).count == 2)
            try index.write { transaction in
                #expect(try transaction.pendingHolders().sorted() == ["00112233aabbccdd", "ddccbbaa33221100"])
                _ = try transaction.retireFile(id: file.id, absence: .evicted, holder: "me")
            }
            #expect(try index.overview(of: entry.key)?.state == .evicted)
            #expect(try index.overview(of: entry.key)?.contacts == ["ben", "dora"])
            try index.close()
            try expectSound(index.path)
        }
    }

    /// Migration 7 adds the last sync, migration 17 its images without room in the budget.
    @Test(arguments: 7...Migration.latestVersion)
    func anUpgradeKeepsTheLastSync(version: Int) throws {
        try withTemporaryDirectory { directory in
            let index = try AvatarIndex.open(path: upgrade(version, in: directory), fileMode: 0o600)

            let last = try #require(try index.statistics().lastSync)

            #expect(last.outcome == .incomplete && last.wanted == 9 && last.failed == 2 && last.skipped == 1)
            #expect(last.overBudget == (version < 17 ? 0 : 3))
            try index.close()
        }
    }

    /// The tests above rely on this.
    @Test(arguments: 1...Migration.latestVersion)
    func aGoldenIndexHoldsEveryState(version: Int) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/golden.sqlite"
            try GoldenIndex(version: version).load(into: path)

            let states = try PlainSQL.rows("SELECT DISTINCT state FROM avatar_overview ORDER BY state", in: path)

            // Migration 13 adds the state `ignored`.
            let ignored = version < 14 ? [] : ["ignored"]
            #expect(states == ["evicted", "failing", "fresh", "gone"] + ignored + ["missing", "own", "stale"])
            #expect(try PlainSQL.rows("PRAGMA user_version", in: path) == ["\(version)"])
            try expectSound(path)
        }
    }

    /// Another program, such as the shell of SQLite, may have left rows that this one would not.
    @Test func rowsOfAnotherProgramDoNotStopTheUpgrade() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/upgraded.sqlite"
            try GoldenIndex(version: 24).load(into: path)
            let changes = "SELECT sequence FROM content_change ORDER BY sequence"
            let before = try PlainSQL.rows(changes, in: path)
            try PlainSQL.run(
                """
                PRAGMA foreign_keys = OFF;
                PRAGMA ignore_check_constraints = ON;
                DELETE FROM content_change WHERE sequence = (SELECT min(sequence) FROM content_change_owner);
                UPDATE content_change SET kind = 'x' WHERE sequence = (SELECT max(sequence) FROM content_change);
                INSERT INTO pending_batch (holder, files) VALUES ('me', 'no JSON'), ('', '[]'), ('me', '[[0,"cd/1.png",8]]');
                """,
                in: path
            )

            try AvatarIndex.open(path: path, fileMode: 0o600).close()

            #expect(try PlainSQL.rows(changes, in: path).count == before.count - 2)
            let sums = "SELECT holder, caches_bytes, documents_bytes FROM pending_batch ORDER BY holder"
            #expect(try PlainSQL.rows(sums, in: path) == ["ddccbbaa33221100|40|5", "me|8|0"])
            try expectSound(path)
        }
    }

    /// Makes the golden index of `version`, opens and closes it, and gives its path.
    private func upgrade(_ version: Int, in directory: String) throws -> String {
        let path = directory + "/upgraded.sqlite"
        try GoldenIndex(version: version).load(into: path)
        try AvatarIndex.open(path: path, fileMode: 0o600).close()
        return path
    }
}
