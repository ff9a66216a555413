import Crypto
import Foundation
import GRDB
import ProgramRunning

/// A store as the program of an earlier schema version left it: its golden index, and the files that belong to it.
struct OlderStore {
    /// The queries that users may run in a `sqlite3` shell.
    static let overview = """
        SELECT key, source_url, local_file, storage_class, size_bytes, etag, last_access, fresh_until, checked_at, state
        FROM avatar_overview ORDER BY key
        """

    let version: Int

    /// The schema versions with a golden index.
    static let versions = 1...latest

    static let latest: Int = {
        var version = 1
        while FileManager.default.fileExists(atPath: golden(version + 1).path(percentEncoded: false)) { version += 1 }
        return version
    }()

    /// Makes the store in the directory `path`.
    func make(at path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let index = try DatabaseQueue(path: path + "/index.sqlite")
        try index.inDatabase { database in
            try database.execute(sql: sqlWithRealDigests())
            for row in try Row.fetchAll(database, sql: "SELECT storage_class, path, size_bytes FROM file") {
                let root = path + (row["storage_class"] == 0 ? "/caches/" : "/documents/")
                let file = URL(filePath: root + (row["path"] as String))
                let folder = file.deletingLastPathComponent()
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                try Self.bytes(row["size_bytes"]).write(to: file)
            }
        }
        try index.close()
    }

    /// The golden index with the digests of the files that `make` writes; its own digests belong to no file.
    private func sqlWithRealDigests() throws -> String {
        var sql = try String(contentsOf: Self.golden(version), encoding: .utf8)
        for (number, size) in [("01", 1000), ("02", 2000), ("03", 300), ("05", 50)] {
            let digest = SHA256.hash(data: Self.bytes(size)).map { byte in
                String(repeating: "0", count: byte < 16 ? 1 : 0) + String(byte, radix: 16)
            }
            sql.replace("CAST('0123456789abcdef0123456789abcd\(number)' AS BLOB)", with: "X'\(digest.joined())'")
        }
        return sql
    }

    private static func bytes(_ count: Int) -> Data { Data(repeating: UInt8(ascii: "a"), count: count) }

    /// The schema of its version, to the letter.
    static func schema(_ version: Int) throws -> [String] {
        let index = try DatabaseQueue()
        return try index.inDatabase { database in
            // A database in memory has no WAL to turn on.
            try database.execute(sql: String(contentsOf: golden(version), encoding: .utf8))
            return try rows("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name", database)
        }
    }

    /// The rows of `sql` in the database at `path`.
    static func rows(_ sql: String, in path: String) throws -> [String] {
        let index = try DatabaseQueue(path: path)
        let result = try index.inDatabase { try rows(sql, $0) }
        try index.close()
        return result
    }

    private static func rows(_ sql: String, _ database: Database) throws -> [String] {
        try Row.fetchAll(database, sql: sql).map { row in
            row.databaseValues.map { String.fromDatabaseValue($0) ?? $0.description }.joined(separator: "|")
        }
    }

    private static func golden(_ version: Int) -> URL {
        URL(filePath: #filePath).appending(path: "../../../AvatarIndexTests/Golden/v\(version).sql").standardized
    }
}
