import AvatarFileSystem
import AvatarCore
import AvatarReports
import AvatarSQLite
import Foundation
import Synchronization
import Testing

@testable import AvatarIndex

/// The files beside an index while it is upgraded, and after a step that failed.
@Suite(.timeLimit(.minutes(5))) struct SchemaUpgradeTests {
    /// One step more than there is.
    private static func next(_ sql: String) -> Migration {
        Migration(version: Migration.latestVersion + 1, name: "next", sql: sql)
    }

    @Test(arguments: 1..<Migration.latestVersion)
    func aCopyOfTheStartLiesThereUntilTheLastStepIsIn(version: Int) throws {
        try withGolden(version) { path in
            let seen = try PlainSQL.rows(GoldenIndex.overview, in: path)
            let told = Mutex<[WorkProgress]>([])
            let copies = Mutex<[[String]]>([])

            let copy = path + ".version-\(version)"
            let note: ProgressHandler = { progress in
                told.withLock { $0.append(progress) }
                guard progress.phase == .migrating, progress.done < progress.total ?? 0 else { return }
                let rows = Result {
                    try PlainSQL.rows(GoldenIndex.overview, in: copy) + PlainSQL.rows("PRAGMA user_version", in: copy)
                        + ["\(FileState.permissions(of: copy) ?? 0)"]
                }
                copies.withLock { $0.append((try? rows.get()) ?? ["no copy"]) }
            }
            let index = try AvatarIndex.open(path: path, fileMode: 0o600, migrating: note)
            try index.close()

            let steps = Migration.all.dropFirst(version)
            let expected = seen + ["\(version)", "\(0o600)"]
            #expect(copies.withLock { $0 } == Array(repeating: expected, count: steps.count))
            let applied = told.withLock { $0.filter { $0.phase == .migrating } }
            #expect(
                applied == (0...steps.count).map { WorkProgress(.migrating, .steps, done: $0, of: steps.count) }
            )
            let copied = try #require(told.withLock { $0.last { $0.phase == .copyingIndex } })
            #expect(copied.total == copied.done && copied.done > 0)
            #expect(try files(beside: path) == [])
        }
    }

    @Test func anUpgradeThatBreaksOffGoesOnLater_andKeepsTheCopyOfWhereItBegan() throws {
        try withGolden(1) { path in
            let fresh = path + ".fresh"
            try AvatarIndex.open(path: fresh, fileMode: 0o600).close()
            let broken = Self.next("CREATE TABLE half (id INTEGER) STRICT; SELECT nothing FROM nowhere;")

            let code = thrownCode { try upgrade(path, Migration.all + [broken]) }

            #expect(code == .damagedIndex)
            #expect(try PlainSQL.rows(PlainSQL.schema, in: path) == PlainSQL.rows(PlainSQL.schema, in: fresh))
            #expect(try PlainSQL.rows("PRAGMA user_version", in: path) == ["\(Migration.latestVersion)"])
            try expectSound(path)
            #expect(try files(beside: path) == ["index.sqlite.version-1"])

            try upgrade(path, Migration.all + [Self.next("CREATE TABLE whole (id INTEGER) STRICT")])
            #expect(try PlainSQL.rows("PRAGMA user_version", in: path) == ["\(Migration.latestVersion + 1)"])
            #expect(try files(beside: path) == [])
        }
    }

    @Test func aNewIndexGetsAllStepsOrNone() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            let broken = Self.next("CREATE TABLE half (id INTEGER) STRICT; SELECT nothing FROM nowhere;")

            let code = thrownCode { try upgrade(path, Migration.all + [broken]) }

            #expect(code == .damagedIndex)
            #expect(try PlainSQL.rows(PlainSQL.schema, in: path) == [])
            #expect(try PlainSQL.rows("PRAGMA user_version", in: path) == ["0"])
            try upgrade(path, Migration.all)
            #expect(try PlainSQL.rows("PRAGMA user_version", in: path) == ["\(Migration.latestVersion)"])
        }
    }

    @Test func aFullDiskInsideAStepLeavesTheVersionBefore() throws {
        try withGolden(Migration.latestVersion) { path in
            let before = try PlainSQL.rows(GoldenIndex.overview, in: path)
            let step = Self.next("CREATE TABLE large AS SELECT zeroblob(1000000) AS bytes")
            let copy = UpgradeCopy(path: path, fileSystem: LocalFileSystem(), fileMode: 0o600)

            try Connection.using(path) { _ in }
            let connection = try Connection(path: path, access: .readWrite)
            let pages = try connection.integer("PRAGMA page_count") ?? 0
            try connection.execute("PRAGMA max_page_count = \(pages + 2)")
            let error = #expect(throws: SQLiteError.self) {
                try SchemaUpgrade(copy: copy, steps: Migration.all + [step]).run(on: connection)
            }
            try connection.close()

            #expect(error?.code == .full)
            #expect(try PlainSQL.rows("PRAGMA user_version", in: path) == ["\(Migration.latestVersion)"])
            #expect(try PlainSQL.rows(GoldenIndex.overview, in: path) == before)
            try expectSound(path)
            #expect(try files(beside: path) == ["index.sqlite.version-\(Migration.latestVersion)"])
        }
    }

    @Test func whoseCopyIsTakenAwayByAnotherThatFinishesGoesOn() throws {
        try withGolden(1) { path in
            // So much that the copy is told of before SQLite has written to it.
            try PlainSQL.run(
                """
                WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
                INSERT INTO avatar (key, storage_class) SELECT 'name:more-' || i, 0 FROM n
                """,
                in: path
            )
            let other = Mutex<Result<Void, any Error>?>(nil)
            let finishing: ProgressHandler = { progress in
                guard progress.phase == .copyingIndex else { return }
                other.withLock { other in
                    guard other == nil else { return }
                    other = Result { try AvatarIndex.open(path: path, fileMode: 0o600).close() }
                }
            }

            try AvatarIndex.open(path: path, fileMode: 0o600, migrating: finishing).close()

            try #require(other.withLock { $0 }).get()
            #expect(try PlainSQL.rows("PRAGMA user_version", in: path) == ["\(Migration.latestVersion)"])
            #expect(try files(beside: path) == [])
            try expectSound(path)
        }
    }

    /// The process that put in the last step was killed before it removed the copy, and one before it while it copied.
    @Test func leftoversGo() throws {
        try withGolden(1) { path in
            try Data([1]).write(to: URL(filePath: path + ".version-1-new-killed"))
            try AvatarIndex.open(path: path, fileMode: 0o600).close()
            #expect(try files(beside: path) == [])

            try Data([1]).write(to: URL(filePath: path + ".version-1"))
            try AvatarIndex.open(path: path, fileMode: 0o600).close()
            #expect(try files(beside: path) == [])
        }
    }

    /// A process that was still copying when another put in the last step, and was killed after that.
    @Test func anUnfinishedCopyGoesAtTheNextOpening_butNoneOfANewerProgram() throws {
        try withGolden(Migration.latestVersion) { path in
            let newer = ["index.sqlite.version-\(Migration.latestVersion)-new-live", "index.sqlite.version-mine"]
            let folder = (path as NSString).deletingLastPathComponent
            let old = ["index.sqlite.version-1-new-killed", "index.sqlite.version-1-new-killed-journal"]
            for name in old + newer { try Data([1]).write(to: URL(filePath: folder + "/" + name)) }

            try AvatarIndex.open(path: path, fileMode: 0o600).close()

            #expect(try files(beside: path) == newer)
        }
    }

    @Test(
        arguments: [
            ("a column of the next version", "ALTER TABLE store ADD COLUMN boot_id TEXT", "store"),
            ("a table that is gone", "DROP TABLE owner", "owner"),
            ("a trigger that is gone", "DROP TRIGGER file_inserted", "file_inserted"),
        ]
    )
    func aHalfMigratedIndexIsLeftAsItIs(name: String, sql: String, object: String) throws {
        try withGolden(1) { path in
            let trigger = try PlainSQL.rows("SELECT name FROM sqlite_schema WHERE type = 'trigger'", in: path)[0]
            let (sql, object) = object == "file_inserted" ? ("DROP TRIGGER \(trigger)", trigger) : (sql, object)
            try PlainSQL.run(sql, in: path)
            let before = try FileState(path)

            let error = #expect(throws: AvatarStoreError.self) { try AvatarIndex.open(path: path, fileMode: 0o600) }

            #expect(error?.code == .damagedIndex)
            #expect(error?.message.contains(object) == true, "\(error?.message ?? "")")
            #expect(try FileState(path) == before)
            #expect(try files(beside: path) == [])
        }
    }

    @Test func anIndexThatLacksATableOfThisVersionIsLeftAsItIs() throws {
        try withGolden(Migration.latestVersion) { path in
            try PlainSQL.run("DROP TABLE content_change_owner", in: path)
            let before = try FileState(path)

            #expect(thrownCode { _ = try AvatarIndex.open(path: path, fileMode: 0o600) } == .damagedIndex)
            #expect(thrownCode { _ = try AvatarIndex.openReadOnly(path: path, isImmutable: false) } == .damagedIndex)
            #expect(try FileState(path) == before)
        }
    }

    @Test func whatPeopleAddedThemselvesIsNoFault() throws {
        try withGolden(1) { path in
            try PlainSQL.run("CREATE INDEX mine ON avatar (etag); CREATE TABLE note (text)", in: path)

            try AvatarIndex.open(path: path, fileMode: 0o600).close()

            #expect(try PlainSQL.rows("PRAGMA user_version", in: path) == ["\(Migration.latestVersion)"])
        }
    }

    @Test func theNumberOfTablesIsThatOfAFreshIndex() throws {
        try withIndex { index in
            let count = try PlainSQL.rows(
                "SELECT count(*) FROM sqlite_schema WHERE type IN ('table', 'view')",
                in: index.path
            )
            #expect(count == ["\(SchemaStatus.expectedTableCount)"])
        }
    }

    // MARK: Support

    private func withGolden(_ version: Int, _ body: (String) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try GoldenIndex(version: version).load(into: path)
            try body(path)
        }
    }

    private func upgrade(_ path: String, _ steps: [Migration]) throws {
        try Connection.using(path) { connection in
            try SchemaUpgrade(
                copy: UpgradeCopy(path: path, fileSystem: LocalFileSystem(), fileMode: 0o600),
                steps: steps
            ).run(on: connection)
        }
    }

    /// The automatic copies.
    private func files(beside path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: (path as NSString).deletingLastPathComponent)
            .filter { $0.contains(".version-") }.sorted()
    }
}
