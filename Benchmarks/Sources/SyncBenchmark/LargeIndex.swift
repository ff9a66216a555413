import AvatarStore
import Foundation
import GRDB

/// Stores with a given number of entries, made by SQL.
enum LargeIndex {
    /// The properties of the entries.
    struct Shape {
        var count: Int
        var hosts = 1000
        /// Whether nine of ten entries belong to one host, which is paused.
        var isMostlyBlocked = false
        /// Whether all entries are due; otherwise all are fresh.
        var isDue = true
        /// Whether the files exist and each image has a contact.
        var isInUse = false
        /// Whether each image has a contact with a name. The files need not exist.
        var hasNames = false
    }

    static func url(_ number: Int, hosts: Int) -> String { "https://h\(number % hosts).example/p/\(number).png" }

    /// Makes a store at `directory`.
    static func make(_ shape: Shape, at directory: String) async throws {
        try await AvatarStore.open(directory: directory).close()
        let index = try DatabaseQueue(path: directory + "/index.sqlite")
        try await index.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000")
            try database.inTransaction {
                try fill(database, shape)
                return .commit
            }
            try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try index.close()
        if shape.isInUse { try makeFiles(shape.count, in: directory + "/caches") }
    }

    private static func fill(_ database: Database, _ shape: Shape) throws {
        // Without the triggers that would update the hosts row by row. Those of `file` also fill the table of accesses.
        let ofOthers = "FROM sqlite_schema WHERE type = 'trigger' AND tbl_name <> 'file'"
        let triggers = try String.fetchAll(database, sql: "SELECT sql \(ofOthers)")
        for name in try String.fetchAll(database, sql: "SELECT name \(ofOthers)") {
            try database.execute(sql: "DROP TRIGGER \(name)")
        }
        let now = Int64(Date.now.timeIntervalSince1970 * 1000)
        try insert(database, "setting (name, value)", "'budget', 1 << 40", 1)
        try insert(
            database,
            "host (name, next_check_ms, blocked_until_ms)",
            """
            'h' || i || '.example:443', \(shape.isDue ? now - 3_600_000 : now + 86_400_000),
            \(shape.isMostlyBlocked ? "CASE i WHEN 0 THEN \(now + 3_600_000) ELSE 0 END" : "0")
            """,
            shape.hosts
        )
        try insert(
            database,
            "file (storage_class, sha256, path, size_bytes, media_type, width, height, last_access_us)",
            "0, randomblob(32), \(path("i")), 260, 'image/png', 1, 1, \(now) * 1000 - i",
            shape.count
        )
        let host =
            shape.isMostlyBlocked
            ? "CASE WHEN i % 10 = 0 THEN 1 + (i / 10) % (\(shape.hosts) - 1) ELSE 0 END" : "i % \(shape.hosts)"
        let check = shape.isDue ? "\(now) - 1 - (i * 7919) % 3000000" : "\(now) + 86400000"
        try insert(
            database,
            """
            avatar (key, host_id, storage_class, file_id, etag, checked_ms, fetched_ms, fresh_until_ms, next_check_ms,
                response_ms, response_delay_ms)
            """,
            """
            'https://h' || (\(host)) || '.example/p/' || i || '.png', (\(host)) + 1, 0, i + 1, '"' || i || '"',
            \(now) - 7200000, \(now) - 7200000, \(check), \(check), \(now) - 7200000, 5
            """,
            shape.count
        )
        if shape.isInUse || shape.hasNames {
            try insert(database, "owner (contact, avatar_id)", "'p' || i, i + 1", shape.count)
            let firstNames = "AdaBenCleDanEvaFayGusHalIdaJoeKayLeaMaxNedOlaPiaRayRoySueTom"
            let name = "substr('\(firstNames)', 1 + i % 20 * 3, 3) || ' ' || i"
            try insert(
                database,
                "contact (contact, name, sort_name, is_listed)",
                "'p' || i, " + (shape.hasNames ? "\(name), lower(\(name)), 1" : "NULL, 'p' || i, 1"),
                shape.count
            )
            if shape.hasNames {
                // The program writes these with the names.
                try database.execute(
                    sql: """
                        INSERT INTO contact_word (words, contact)
                        SELECT substr(sort_name, 5) || ' ' || substr(sort_name, 1, 3) AS words, contact
                        FROM contact ORDER BY words, contact
                        """
                )
            }
        }
        try database.execute(
            sql: "UPDATE total SET files = ?, bytes = ? WHERE storage_class = 0",
            arguments: [shape.count, shape.count * 260]
        )
        for trigger in triggers { try database.execute(sql: trigger) }
    }

    private static func insert(_ database: Database, _ columns: String, _ values: String, _ count: Int) throws {
        try database.execute(
            sql: """
                WITH RECURSIVE number(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM number WHERE i + 1 < \(count))
                INSERT INTO \(columns) SELECT \(values) FROM number
                """
        )
    }

    private static func path(_ number: String) -> String { "printf('%02x/%016x.png', \(number) % 256, \(number))" }

    private static func makeFiles(_ count: Int, in root: String) throws {
        let bytes = [UInt8](repeating: 7, count: 260)
        func hexadecimal(_ value: Int, digits: Int) -> String {
            let text = String(value, radix: 16)
            return String(repeating: "0", count: digits - text.count) + text
        }
        for number in 0..<count {
            let folder = root + "/" + hexadecimal(number % 256, digits: 2)
            if number < 256 { mkdir(folder, 0o700) }
            let file = open("\(folder)/\(hexadecimal(number, digits: 16)).png", O_WRONLY | O_CREAT, 0o600)
            guard write(file, bytes, bytes.count) == bytes.count else {
                throw BenchmarkError("Cannot write a file in \"\(folder)\".")
            }
            close(file)
        }
    }
}
