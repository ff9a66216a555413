import AvatarDigest
import AvatarSQLite
import Foundation
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
        let files = try Connection.using(path + "/index.sqlite") { connection in
            try connection.execute(sqlWithRealDigests())
            return try connection.rows("SELECT storage_class, path, size_bytes FROM file") { row in
                let root = path + (row.integer("storage_class") == 0 ? "/caches/" : "/documents/")
                return (URL(filePath: root + row.text("path")), Int(row.integer("size_bytes")))
            }
        }
        for (file, size) in files {
            let folder = file.deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Self.bytes(size).write(to: file)
        }
    }

    /// The golden index with the digests of the files that `make` writes; its own digests belong to no file.
    private func sqlWithRealDigests() throws -> String {
        var sql = try String(contentsOf: Self.golden(version), encoding: .utf8)
        for (number, size) in [("01", 1000), ("02", 2000), ("03", 300), ("05", 50)] {
            let digest = SHA256.hash(Self.bytes(size)).map { byte in
                String(repeating: "0", count: byte < 16 ? 1 : 0) + String(byte, radix: 16)
            }
            sql.replace("CAST('0123456789abcdef0123456789abcd\(number)' AS BLOB)", with: "X'\(digest.joined())'")
        }
        return sql
    }

    private static func bytes(_ count: Int) -> Data { Data(repeating: UInt8(ascii: "a"), count: count) }

    /// The schema of its version, to the letter.
    static func schema(_ version: Int) throws -> [String] {
        // A database in memory has no WAL to turn on.
        let connection = try Connection()
        try connection.execute(String(contentsOf: golden(version), encoding: .utf8))
        return try connection.lines("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")
    }

    /// The rows of `sql` in the database at `path`.
    static func rows(_ sql: String, in path: String) throws -> [String] {
        try Connection.using(path) { try $0.lines(sql) }
    }

    private static func golden(_ version: Int) -> URL {
        URL(filePath: #filePath).appending(path: "../../../AvatarIndexTests/Golden/v\(version).sql").standardized
    }
}
