import AvatarCore
import Foundation
import Testing

@testable import AvatarIndex
import AvatarReports

@Suite(.timeLimit(.minutes(5))) struct ReadOnlyOpeningTests {
    private static let key = AvatarKey.stored("https://img.example.com/anna.png")

    @Test(arguments: [false, true])
    func readingChangesNothing(isImmutable: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try makeIndex(at: path)
            let before = try FileState(path)

            let index = try AvatarIndex.openReadOnly(path: path, isImmutable: isImmutable)
            #expect(try index.entry(for: Self.key)?.file?.sizeBytes == 1000)
            #expect(try index.hit(for: Self.key)?.file.sizeBytes == 1000)
            #expect(try index.list(AvatarListQuery()).items.count == 11)
            #expect(try index.statistics().entries == 11)
            #expect(try index.truncateWAL() == false)
            try index.close()

            #expect(try FileState(path) == before)
        }
    }

    @Test(arguments: [false, true])
    func nothingCanBeWritten(isImmutable: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try makeIndex(at: path)
            let index = try AvatarIndex.openReadOnly(path: path, isImmutable: isImmutable)

            var hasRun = false
            #expect(index.isReadOnly)
            #expect(thrownCode { try index.write { _ in hasRun = true } } == .readOnly)
            #expect(!hasRun)
            let code = thrownCode {
                try index.readers.read { _ = try $0.rows("DELETE FROM owner RETURNING contact") { $0.text("contact") } }
            }
            #expect(code == .readOnly)
            try index.close()
        }
    }

    @Test func aDiskThatCannotBeWrittenGetsNoCompanionFiles() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try makeIndex(at: path)

            let index = try AvatarIndex.openReadOnly(path: path, isImmutable: true)
            #expect(try index.entry(for: Self.key) != nil)

            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["index.sqlite"])
            try index.close()
        }
    }

    @Test func whatAnOpenWriterCommitsIsSeen() throws {
        try withIndex { writer in
            let reader = try AvatarIndex.openReadOnly(path: writer.path, isImmutable: false)
            try writer.write { _ = try $0.add(Self.key.rawValue) }

            #expect(try reader.entry(for: Self.key) != nil)
            try reader.close()
        }
    }

    @Test func anOlderSchemaIsNotUpgraded() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try PlainSQL.run(
                """
                PRAGMA application_id = 1096171860;
                PRAGMA user_version = \(Migration.latestVersion - 1);
                CREATE TABLE avatar (key);
                """,
                in: path
            )
            let before = try FileState(path)

            let error = #expect(throws: AvatarStoreError.self) {
                try AvatarIndex.openReadOnly(path: path, isImmutable: false)
            }
            #expect(error?.code == .olderIndex)
            #expect(error?.message.contains("`avatars migrate`") == true)
            #expect(try FileState(path) == before)

            let status = try AvatarIndex.migrationStatus(path: path)
            #expect(status.version == Migration.latestVersion - 1)
            #expect(status.pending == [Migration.all.last?.name])
            #expect(status.applied == Migration.all.dropLast().map(\.name))
        }
    }

    @Test func aMissingIndexIsNotMade() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"

            #expect(thrownCode { _ = try AvatarIndex.openReadOnly(path: path, isImmutable: false) } == .noStore)

            let files = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(files == [])
        }
    }

    /// An opening that failed, as on a full disk, may leave one.
    @Test func anEmptyIndexIsNoStore() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            #expect(FileManager.default.createFile(atPath: path, contents: nil))

            #expect(thrownCode { _ = try AvatarIndex.openReadOnly(path: path, isImmutable: false) } == .noStore)

            let files = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(files == ["index.sqlite"])
        }
    }

    @Test(arguments: ["with space", "50%41", "what?mode=memory", "a#b", "Zoë"])
    func thePathIsTakenLiterally(name: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/" + name
            try makeIndex(at: path)

            let index = try AvatarIndex.openReadOnly(path: path, isImmutable: true)
            #expect(try index.statistics().entries == 11)
            try index.close()
        }
    }

    /// A closed index without WAL, with the rows of the newest golden one.
    private func makeIndex(at path: String) throws {
        try GoldenIndex(version: Migration.latestVersion).load(into: path)
        try AvatarIndex.open(path: path, fileMode: 0o600).close()
        for companion in ["-wal", "-shm"] where FileManager.default.fileExists(atPath: path + companion) {
            try #require(try FileState(path + "-wal")?.bytes.isEmpty != false)
            try FileManager.default.removeItem(atPath: path + companion)
        }
    }
}
