import AvatarMaintenance
import AvatarSQLite
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// Numbers in the index that no program writes. The store calculates with none of them: a sum beyond 64 bits ends the process.
///
/// A test that fails by a trap ends its process, and with it the run of all tests.
@Suite(.timeLimit(.minutes(5)))
struct DamagedNumberTests {
    /// The number in the place of a sound one.
    static let numbers: [Int64] = [.max, .min, -1]

    private static let face = SampleImage.png(seed: 1, byteCount: 3000)

    private static let isThorough = ProcessInfo.processInfo.environment["AVATARS_THOROUGH"] == "1"

    /// Every fourth column gets one of the numbers; with `scripts/test --thorough`, each column all of them in turn.
    @Test(
        "a wrong number in any column is reported, and repaired without losing contacts",
        arguments: 0..<(isThorough ? numbers.count : 1)
    )
    func columns(turn: Int) async throws {
        try await StoreFixture.withStore { fixture in
            let template = try await Self.makeTemplate(fixture)
            defer { Self.remove(template.layout.documentsRoot + "/..") }
            let columns = try Connection.using(template.layout.indexPath) {
                try $0.lines(
                    """
                    SELECT tables.name, columns.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
                    WHERE tables.type = 'table' AND (columns.type = 'INTEGER' OR tables.name = 'sqlite_sequence')
                        AND columns.name <> 'name'
                    """
                )
            }
            #expect(columns.count > 80)
            for (index, line) in columns.enumerated() where Self.isThorough || index % 4 == 0 {
                let names = line.split(separator: "|").map(String.init)
                try await check(names[0], names[1], Self.numbers[(index + turn) % Self.numbers.count], template)
            }
        }
    }

    @Test("numbers are reported before they are repaired, and no command calculates with them")
    func report() async throws {
        try await StoreFixture.withStore { fixture in
            var configuration = fixture.store.configuration
            configuration.layout = StoreLayout(directory: fixture.directory + "-numbers")
            defer { Self.remove(fixture.directory + "-numbers") }
            try await AvatarStore.withStore(configuration) { _ = try await $0.save(Self.face, named: "me") }
            try Self.damage(
                configuration.layout.indexPath,
                """
                UPDATE total SET bytes = 9223372036854775807;
                INSERT INTO setting (name, value) VALUES ('budget', -5);
                INSERT INTO pending_batch (holder, files) VALUES (
                    '00112233aabbccdd',
                    '[[0,"41/424344-00000000000000b4.png",9223372036854775807],
                        [0,"41/424344-00000000000000b5.png",9223372036854775807]]');
                """
            )

            let reported = try await AvatarStore.verify(configuration)
            #expect(reported.faults.allSatisfy { $0.kind == .wrongNumber } && !reported.isSound)
            #expect(
                reported.faults.map(\.detail) == [
                    "pending_batch.files is a size that no file has",
                    "total.bytes is 9223372036854775807 and 1 more",
                    "the setting `budget` is -5",
                ]
            )
            let store = try await AvatarStore.open(configuration)
            for call in [{ _ = try store.statistics() }, { _ = try store.value(of: .budget) }] {
                #expect {
                    try call()
                } throws: {
                    ($0 as? AvatarStoreError)?.code == .damagedIndex
                }
            }
            await #expect(throws: AvatarStoreError.self) { try await store.save(Self.face, named: "new", in: .caches) }
            try await store.close()

            let repaired = try await AvatarStore.verify(configuration, repair: true)
            #expect(repaired.isSound && repaired.lost == nil && repaired.repaired >= 2)
        }
    }

    /// Uses a copy of the store with `number` in a column, then repairs it.
    private func check(
        _ table: String,
        _ column: String,
        _ number: Int64,
        _ template: AvatarStore.Configuration
    ) async throws {
        let name = Comment("\(table).\(column) = \(number)")
        var configuration = template
        let copy = template.layout.documentsRoot.replacing(/\/documents$/, with: "-copy")
        defer { Self.remove(copy) }
        try FileManager.default.copyItem(atPath: String(copy.dropLast("-copy".count)), toPath: copy)
        configuration.layout = StoreLayout(directory: copy)
        try Self.damage(configuration.layout.indexPath, "UPDATE \(table) SET \(column) = \(number)")

        await use(configuration, name)
        let report = try await AvatarStore.verify(configuration, repair: true)
        #expect(report.isSound, name)
        // Only rows that refer to a row under its former id cost the index.
        let ids = ["id", "avatar_id", "host_id", "file_id", "original_id", "sequence"]
        #expect(report.lost == nil || ids.contains(column), name)
        #expect(try await AvatarStore.verify(configuration, quick: true).faults == [], name)

        let store = try await AvatarStore.open(configuration)
        #expect(throws: Never.self, name) { try store.statistics() }
        await #expect(throws: Never.self, name) { try await store.save(Self.face, named: "after") }
        #expect(throws: Never.self, name) { try store.changes(since: store.lastChange()) }
        await #expect(throws: Never.self, name) { try await store.trim(to: 0) }
        try await store.close()
    }

    /// Calls what the commands call. Each call may fail.
    private func use(_ configuration: AvatarStore.Configuration, _ name: Comment) async {
        do {
            let store = try await AvatarStore.open(configuration)
            let url = "http://127.0.0.1:1/a.png"
            let calls: [(String, () async throws -> Void)] = [
                ("statistics", { _ = try store.statistics() }),
                ("list", { _ = try store.list() }),
                ("details", { for key in try store.keys(AvatarListQuery()) { _ = try store.details(for: key) } }),
                ("read", { for key in try store.keys(AvatarListQuery()) { _ = try store.storedAvatar(for: key) } }),
                ("changes", { _ = try store.changes() }),
                (
                    "settings",
                    { for setting in [Setting.budget, .goneConfirmations] { _ = try store.value(of: setting) } }
                ),
                ("save", { try await store.save(Self.face, named: "new") }),
                ("sync", { _ = try await store.sync(contacts: [Contact(id: "ann", avatarURL: url)]) }),
                ("fetch", { _ = try await store.avatar(for: url) }),
                ("budget", { try await store.set(.budget, to: 100_000) }),
                ("trim", { try await store.trim(to: 1000) }),
                ("remove", { _ = try await store.remove(contact: "ann", erasing: true) }),
            ]
            for (call, body) in calls {
                do {
                    try await body()
                } catch let error as AvatarStoreError {
                    // A row id of 2⁶³ − 1 leaves no room for another row, which SQLite takes for a full disk.
                    let codes: [AvatarStoreError.Code] = [.damagedIndex, .fetchFailed, .startOver, .diskFull]
                    #expect(codes.contains(error.code), "\(name) \(call): \(error.message)")
                }
            }
            try await store.close()
        } catch let error as AvatarStoreError {
            #expect(error.code == .damagedIndex, "\(name): \(error.message)")
        } catch {
            Issue.record("\(name): \(error)")
        }
    }

    /// A closed store with a row in every table.
    private static func makeTemplate(_ fixture: StoreFixture) async throws -> AvatarStore.Configuration {
        var configuration = fixture.store.configuration
        configuration.layout = StoreLayout(directory: fixture.directory + "-template")
        let store = try await AvatarStore.open(configuration)
        let urls = (0..<3).map {
            fixture.serve(SampleImage.png(seed: UInt64($0 + 2), byteCount: 900), at: "/\($0).png", etag: "\"\($0)\"")
        }
        _ = try await store.sync(contacts: urls.enumerated().map { Contact(id: "c\($0)", avatarURL: $1) })
        try await store.save(face, named: "me")
        try await store.save(face, named: "cached", in: .caches)
        try await store.set(.goneConfirmations, to: 2)
        try await store.close()
        try damage(
            configuration.layout.indexPath,
            """
            UPDATE store SET clock_ms = 1, durable_file_id = 1;
            INSERT INTO pending_file (storage_class, path, size_bytes, holder)
            VALUES (0, '41/424344-00000000000000b1.png', 700, '00112233aabbccdd');
            INSERT INTO pending_batch (holder, files)
            VALUES ('00112233aabbccdd', '[[0,"41/424344-00000000000000b4.png",40]]');
            INSERT INTO partial_download (key, storage_class, name, url, etag, size_bytes, total_bytes, updated_ms)
            VALUES ('http://a/', 0, '00112233aabbccdd', 'http://a/', '"1"', 5000, 6000, 0);
            INSERT INTO eviction_queue_end (id, queued_before_us) SELECT 1, max(last_access_us) + 1 FROM access;
            INSERT INTO eviction_queue SELECT last_access_us, file_id, size_bytes FROM access WHERE storage_class = 0;
            INSERT INTO undecodable VALUES (1, 1, 1, 'It is damaged.');
            INSERT INTO rendition VALUES (1, 'jpeg 32 square', 2);
            INSERT INTO ignored_picture VALUES (randomblob(32), 0, 1);
            INSERT INTO tier_upload (avatar_id, url_sha256, answered_ms) VALUES (1, randomblob(32), 0);
            INSERT INTO tier_erasure VALUES (randomblob(32), NULL, '0011223344556677', 0, 0);
            INSERT INTO source (id, name, kind, synced_at, keeps) VALUES (5, 'https://dav.example/', 1, 1, 1);
            INSERT INTO source_book (id, source, path) VALUES (1, 5, '/a/');
            INSERT INTO source_card (book, path, records) VALUES (1, '/a/b.vcf', x'01');
            INSERT INTO source_erased (book, path_sha256) VALUES (1, randomblob(32));
            INSERT INTO tier (id, machine, registered_day, failed_ms) VALUES (1, '0123456789abcdef0123456789abcdef', 1, 1);
            """
        )
        #expect(try await AvatarStore.verify(configuration).faults == [])
        return configuration
    }

    /// Runs `sql` without the checks and triggers of the schema.
    private static func damage(_ path: String, _ sql: String) throws {
        try Connection.using(path) { connection in
            let triggers = try connection.rows("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'") {
                ($0.text("name"), $0.text("sql"))
            }
            try connection.execute("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
            for (name, _) in triggers { try connection.execute("DROP TRIGGER \(name)") }
            // In tables with several rows only one is damaged.
            try connection.execute(
                sql.hasPrefix("UPDATE") && !sql.contains(";") ? sql + " WHERE \(firstRow(of: sql))" : sql
            )
            for (_, create) in triggers { try connection.execute(create) }
        }
    }

    /// A condition for the first row of the table that `sql` updates, by the columns of its primary key.
    private static func firstRow(of sql: String) -> String {
        let table = String(sql.split(separator: " ")[1])
        let keys = [
            "owner": "contact, avatar_id", "setting": "name", "total": "storage_class",
            "pending_file": "storage_class, path",
            "partial_download": "key", "content_change_owner": "sequence, contact", "contact": "contact",
            "eviction_queue": "last_access_us, file_id", "rendition": "original_id, spec", "ignored_picture": "sha256",
            "tier_erasure": "url_sha256", "source_card": "book, path", "source_erased": "book, path_sha256",
        ]
        let key = keys[table] ?? "rowid"
        return "(\(key)) IN (SELECT \(key) FROM \(table) LIMIT 1)"
    }

    private static func remove(_ path: String) {
        let url = URL(filePath: path).standardized
        #expect(throws: Never.self) { try FileManager.default.removeItem(at: url) }
    }
}
