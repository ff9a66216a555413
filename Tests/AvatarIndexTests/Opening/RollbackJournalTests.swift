import AvatarCore
import AvatarSQLite
import Foundation
import Testing

@testable import AvatarIndex

/// A process was killed in a transaction outside the write-ahead log, while it made an index or opened a copy.
@Suite(.timeLimit(.minutes(5))) struct RollbackJournalTests {
    /// Copies a database with its journal while `sql` runs on it, as a kill would leave them.
    ///
    /// - Parameter prepare: makes the database at a path, not in WAL mode.
    private func interrupted(_ sql: String, at path: String, _ prepare: (String) throws -> Void) throws {
        let live = path + ".live"
        try prepare(live)
        let connection = try Connection(path: live, access: .readWrite)
        try connection.execute("PRAGMA cache_size = 1; BEGIN; \(sql)")
        for ending in ["", "-journal"] {
            try FileManager.default.copyItem(atPath: live + ending, toPath: path + ending)
        }
        try connection.execute("ROLLBACK")
        try connection.close()
    }

    /// Many changed pages, so that some are written before the end.
    private static let settings = """
        INSERT INTO setting SELECT 'lost-' || value, value FROM
            (WITH RECURSIVE number (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number WHERE value < 5000)
             SELECT value FROM number)
        """

    private func makeCopy(at path: String) throws {
        try GoldenIndex(version: Migration.latestVersion).load(into: path)
        try PlainSQL.run("PRAGMA journal_mode = DELETE", in: path)
    }

    @Test func openingForWritingRollsBack() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try interrupted(Self.settings, at: path, makeCopy)

            let index = try AvatarIndex.open(path: path, fileMode: 0o600)

            #expect(try index.statistics().entries > 0)
            try index.close()
            #expect(try PlainSQL.rows("SELECT * FROM setting WHERE name LIKE 'lost%'", in: path) == [])
            try expectSound(path)
        }
    }

    @Test func openingForReadingRollsBack() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try interrupted(Self.settings, at: path, makeCopy)

            let index = try AvatarIndex.openReadOnly(path: path, isImmutable: false)

            #expect(try index.statistics().entries > 0)
            try index.close()
            try expectSound(path)
        }
    }

    /// The kill came while the empty file got its mode.
    @Test func aNewIndexIsFinished() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try interrupted("PRAGMA user_version = 0", at: path) { path in
                try PlainSQL.run("PRAGMA page_size = 512; PRAGMA auto_vacuum = INCREMENTAL", in: path)
            }
            let journal = try Data(contentsOf: URL(filePath: path + "-journal"))
            #expect(!journal.isEmpty)

            try AvatarIndex.open(path: path, fileMode: 0o600).close()

            try expectSound(path)
        }
    }

    @Test(arguments: [false, true])
    func anotherProgramsTransactionIsLeftAsItIs(isReadOnly: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try interrupted(Self.settings, at: path) { path in
                try PlainSQL.run("CREATE TABLE setting (name, value)", in: path)
            }
            let before = try (FileState(path), FileState(path + "-journal"))

            let code = thrownCode {
                if isReadOnly {
                    try AvatarIndex.openReadOnly(path: path, isImmutable: false).close()
                } else {
                    try AvatarIndex.open(path: path, fileMode: 0o600).close()
                }
            }

            #expect(code == .foreignIndex)
            #expect(try (FileState(path), FileState(path + "-journal")) == before)
        }
    }
}
