import AvatarFileSystem
import AvatarCore
import Foundation
import Testing

@testable import AvatarIndex
import AvatarReports

/// The index of a backup.
@Suite(.timeLimit(.minutes(5))) struct IndexCopyTests {
    private static let everything = "SELECT * FROM avatar ORDER BY id"

    /// Copies the index at `path` and gives the copy's path.
    private func copy(_ path: String, isImmutable: Bool = false) throws -> String {
        let target = path + ".copy"
        let copy = try IndexCopy.make(
            of: path,
            on: LocalFileSystem(),
            isImmutable: isImmutable,
            at: target,
            fileMode: 0o600
        )
        try copy.write { try $0.forgetWork() }
        try copy.close()
        return target
    }

    @Test(arguments: [false, true])
    func aCopyHasEverythingThatAnIndexHas(isImmutable: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try GoldenIndex(version: Migration.latestVersion).load(into: path)

            let target = try copy(path, isImmutable: isImmutable)

            for question in [
                PlainSQL.schema, "PRAGMA user_version", "PRAGMA application_id", "PRAGMA auto_vacuum", Self.everything,
                GoldenIndex.overview, "SELECT * FROM owner", "SELECT * FROM setting", "SELECT store_id FROM store",
            ] {
                #expect(try PlainSQL.rows(question, in: target) == PlainSQL.rows(question, in: path))
            }
            #expect(try FileState.permissions(of: target) == 0o600)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: directory).sorted() == [
                    "index.sqlite", "index.sqlite.copy",
                ]
            )
            try expectSound(target)
        }
    }

    @Test func nobodyIsAtWorkInACopy() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try GoldenIndex(version: Migration.latestVersion).load(into: path)
            #expect(try PlainSQL.rows("SELECT 1 FROM pending_file", in: path).isEmpty == false)
            try PlainSQL.run("UPDATE store SET sync_holder = 'me'; UPDATE total SET bytes = bytes + 1", in: path)

            let target = try copy(path)

            #expect(try PlainSQL.rows("SELECT 1 FROM pending_file", in: target) == [])
            #expect(
                try PlainSQL.rows("SELECT 1 FROM store WHERE sync_holder IS NULL AND boot_id IS NULL", in: target) == [
                    "1"
                ]
            )
            try expectSound(target)
        }
    }

    /// The source is opened for writing, and the copy must not change it all the same.
    @Test func theLogOfAKilledProcessStays() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            let open = try AvatarIndex.open(path: directory + "/open.sqlite", fileMode: 0o600)
            try open.write { _ = try $0.add("https://example.com/a.png") }
            for end in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: open.path + end, toPath: path + end)
            }
            try open.close()
            let before = try [path, path + "-wal"].map { try Data(contentsOf: URL(filePath: $0)) }
            #expect(before[1].isEmpty == false)

            let target = try copy(path)

            #expect(try [path, path + "-wal"].map { try Data(contentsOf: URL(filePath: $0)) } == before)
            #expect(try PlainSQL.rows("SELECT key FROM avatar", in: target) == ["https://example.com/a.png"])
        }
    }

    @Test func whatWasDeletedIsNotCopied() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try GoldenIndex(version: Migration.latestVersion).load(into: path)
            try PlainSQL.run(
                """
                PRAGMA secure_delete = OFF;
                INSERT INTO owner (contact, avatar_id) SELECT 'nobody-' || id, id FROM avatar;
                DELETE FROM owner WHERE contact LIKE 'nobody-%';
                """,
                in: path
            )

            let target = try copy(path)

            let rows = try PlainSQL.rows("SELECT count(*) FROM owner", in: path)
            #expect(try PlainSQL.rows("SELECT count(*) FROM owner", in: target) == rows)
            #expect(try Data(contentsOf: URL(filePath: path)).range(of: Data("nobody-".utf8)) != nil)
            #expect(try Data(contentsOf: URL(filePath: target)).range(of: Data("nobody-".utf8)) == nil)
        }
    }

    @Test func aCopySeesWhatIsInTheLog_ofAnIndexThatIsOpen() throws {
        try withIndex { index in
            try index.write { try $0.setSetting("budget", to: 77) }
            #expect(try FileState.size(of: index.path + "-wal") ?? 0 > 0)

            let copy = try index.copy(to: index.path + ".copy", fileMode: 0o600)

            #expect(try copy.write { try $0.setting("budget") } == 77)
            try copy.close()
        }
    }

    @Test(arguments: 1..<Migration.latestVersion)
    func anOlderIndexIsUpgradedInTheCopyOnly(version: Int) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try GoldenIndex(version: version).load(into: path)

            let target = try copy(path)

            #expect(try PlainSQL.rows("PRAGMA user_version", in: path) == ["\(version)"])
            #expect(try PlainSQL.rows("PRAGMA user_version", in: target) == ["\(Migration.latestVersion)"])
            #expect(
                try PlainSQL.rows(GoldenIndex.overview, in: target) == PlainSQL.rows(GoldenIndex.overview, in: path)
            )
            try expectSound(target)
        }
    }

    @Test(arguments: [
        ("PRAGMA user_version = 9999", AvatarStoreError.Code.newerIndex),
        ("PRAGMA application_id = 7", .foreignIndex),
    ])
    func whatIsNotOursIsNotCopied(_ change: String, _ code: AvatarStoreError.Code) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try GoldenIndex(version: Migration.latestVersion).load(into: path)
            try PlainSQL.run(change, in: path)

            #expect(thrownCode { _ = try copy(path) } == code)
        }
    }

    /// A host is asked only once it has entries due, so the copy's host must know of the earlier time.
    @Test func carriedOverEntryIsDueInTheCopy() throws {
        try withIndex { index in
            let (early, late) = (AvatarKey(stored: "https://example.com/1"), AvatarKey(stored: "https://example.com/2"))
            try index.write { transaction in
                try transaction.add(early.rawValue, dueAt: 100)
                try transaction.add(late.rawValue, dueAt: 500)
            }
            let copy = try index.copy(to: index.path + ".copy", fileMode: 0o600)
            try copy.write { transaction in
                try transaction.settle(early, as: .nothing)
                try transaction.refreshDueTimes(ofHostsDueAt: Timestamp(milliseconds: 1000))
            }
            let due = "SELECT next_check_ms FROM host"
            #expect(try PlainSQL.rows(due, in: index.path + ".copy") == ["500"])

            let entry = try #require(try index.wholeEntry(for: early))
            try copy.write { try $0.settle(early, as: .entry(entry)) }

            #expect(try PlainSQL.rows(due, in: index.path + ".copy") == ["100"])
            try copy.close()
        }
    }

    @Test func anEntryIsCarriedOverWhole() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try GoldenIndex(version: Migration.latestVersion).load(into: path)
            let index = try AvatarIndex.open(path: path, fileMode: 0o600)
            let copy = try index.copy(to: path + ".copy", fileMode: 0o600)
            let keys = try index.list(AvatarListQuery()).items.map(\.key)
            #expect(keys.count == 11)

            try copy.write { transaction in
                for key in keys { try transaction.settle(key, as: .nothing) }
                for id in try transaction.files(after: 0, through: .max, limit: 100).map(\.file.id) {
                    try transaction.seekEntries(ofFile: id)
                }
            }
            try PlainSQL.run("DELETE FROM host", in: path + ".copy")
            for key in keys {
                let entry = try #require(try index.wholeEntry(for: key))
                let known = try copy.write {
                    try $0.file(withDigest: entry.sha256, in: entry.file?.storageClass ?? .caches)
                }
                try copy.write {
                    try $0.settle(key, as: entry.file == nil ? .entry(entry) : .file(entry, known: known?.id))
                }
            }

            try copy.close()
            try index.close()
            let rest = """
                SELECT avatar.key, host.name, host.blocked_until_ms, last_modified, response_fields, response_ms,
                    response_delay_ms, fetched_ms, avatar.next_check_ms, avatar.failure, avatar.failure_count, absence
                FROM avatar LEFT JOIN host ON host.id = avatar.host_id ORDER BY avatar.id
                """
            let files = "SELECT * FROM file WHERE id NOT IN (SELECT file_id FROM rendition) ORDER BY id"
            for question in [GoldenIndex.overview, rest, files, "SELECT * FROM owner"] {
                #expect(try PlainSQL.rows(question, in: path + ".copy") == PlainSQL.rows(question, in: path))
            }
            try expectSound(path + ".copy")
        }
    }
}
