import AvatarCore
import AvatarSQLite
import Foundation
import Testing

@testable import AvatarIndex

/// A file that is not an index, is damaged or has a newer schema is refused and not changed.
@Suite(.timeLimit(.minutes(5))) struct RefusedIndexTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let sql: String
        let code: AvatarStoreError.Code

        init(_ testDescription: String, _ sql: String, _ code: AvatarStoreError.Code) {
            self.testDescription = testDescription
            self.sql = sql
            self.code = code
        }
    }

    static let cases = [
        Case("another program's tables", "CREATE TABLE note (text)", .foreignIndex),
        Case("another program's id", "PRAGMA application_id = 252006673; CREATE TABLE note (text)", .foreignIndex),
        Case("another program's id, no tables yet", "PRAGMA application_id = 252006673", .foreignIndex),
        Case("another program's version, no tables yet", "PRAGMA user_version = 1", .foreignIndex),
        Case("another program's WAL", "PRAGMA journal_mode = WAL; CREATE TABLE note (text)", .foreignIndex),
        Case("a table of the same name", "CREATE TABLE avatar (id); PRAGMA user_version = 1", .foreignIndex),
        Case(
            "a newer schema",
            "PRAGMA application_id = 1096171860; PRAGMA user_version = \(Migration.latestVersion + 1);"
                + "CREATE TABLE avatar (key)",
            .newerIndex
        ),
        Case(
            "a newer schema with a WAL",
            "PRAGMA journal_mode = WAL; PRAGMA application_id = 1096171860;"
                + "PRAGMA user_version = \(Migration.latestVersion + 1); CREATE TABLE avatar (key)",
            .newerIndex
        ),
    ]

    @Test(arguments: cases)
    func aDatabaseThatIsNotOursIsLeftAsItIs(_ example: Case) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try PlainSQL.run(example.sql, in: path)

            try expectRefusal(of: path, example.code)
        }
    }

    /// A program that died left its WAL: nothing of that is moved into the file.
    @Test func aForeignWALIsLeftAsItIs() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try makeForeignDatabaseWithWAL(at: path, in: directory)

            let wal = try #require(try FileState(path + "-wal"))
            #expect(!wal.bytes.isEmpty)
            try expectRefusal(of: path, .foreignIndex)

            #expect(try FileState(path + "-wal") == wal)
        }
    }

    @Test(arguments: ["# Notes\n", String(repeating: "not a database\n", count: 1000)])
    func aTextFileIsADamagedIndex(text: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try Data(text.utf8).write(to: URL(filePath: path))

            try expectRefusal(of: path, .damagedIndex)
        }
    }

    @Test(arguments: [16, 100, 4096, 20_000])
    func anIndexCutShortIsDamaged(length: Int) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try AvatarIndex.open(path: path, fileMode: 0o600).close()
            let whole = try Data(contentsOf: URL(filePath: path))
            try #require(whole.count > length)
            try whole.prefix(length).write(to: URL(filePath: path))

            try expectRefusal(of: path, .damagedIndex)
        }
    }

    /// Expects `code` however the index is opened, and no change to the file.
    private func expectRefusal(
        of path: String,
        _ code: AvatarStoreError.Code,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try FileState(path)
        let codes = [
            thrownCode { _ = try AvatarIndex.open(path: path, fileMode: 0o600) },
            thrownCode { _ = try AvatarIndex.openReadOnly(path: path, isImmutable: false) },
            thrownCode { _ = try AvatarIndex.migrationStatus(path: path) },
        ]
        #expect(codes == [code, code, code], sourceLocation: sourceLocation)
        #expect(try FileState(path) == before, sourceLocation: sourceLocation)
    }

    private func makeForeignDatabaseWithWAL(at path: String, in directory: String) throws {
        let live = directory + "/live.sqlite"
        try PlainSQL.run("PRAGMA journal_mode = WAL; CREATE TABLE note (text)", in: live)
        try Connection.using(live) { database in
            try database.execute("INSERT INTO note VALUES ('pending')")
            try FileManager.default.copyItem(atPath: live, toPath: path)
            try FileManager.default.copyItem(atPath: live + "-wal", toPath: path + "-wal")
        }
    }
}
