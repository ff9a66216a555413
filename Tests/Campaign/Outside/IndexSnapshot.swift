import AvatarSQLite
import AvatarStore
import Foundation

/// The rows of an index, read with plain SQL and without the code under test.
struct IndexSnapshot {
    struct File {
        let id: Int
        let storageClass: StorageClass
        let path: String
        let byteCount: Int
        let digest: String
        /// In microseconds.
        let lastAccess: Int64
    }

    struct Entry {
        let key: String
        let storageClass: StorageClass
        let file: Int?
        let absence: String?
        let etag: String?
        /// In milliseconds.
        let freshUntil: Int64?
        let owners: [String]
        /// The contacts that keep another image until this one arrives.
        let waiting: [String]
    }

    struct Total: Equatable {
        var files = 0
        var bytes = 0
    }

    let files: [File]
    let entries: [Entry]
    let totals: [StorageClass: Total]
    /// The path, with the storage class in front, and the bytes of each pending file.
    let pending: [String: Int]
    let budget: Int?
    /// The highest row id that a file ever had.
    let lastFile: Int

    /// Reads the index at `path` in one transaction.
    init(_ path: String) throws {
        self = try Connection.using(path) { connection in
            try connection.snapshot { try IndexSnapshot(connection) }
        }
    }

    private init(_ connection: Connection) throws {
        files = try connection.rows(
            """
            SELECT id, file.storage_class, path, file.size_bytes, lower(hex(sha256)) AS digest, access.last_access_us
            FROM file JOIN access ON access.file_id = file.id
            """
        ) { row in
            File(
                id: Int(row.integer("id")),
                storageClass: Self.storageClass(row.integer("storage_class")),
                path: row.text("path"),
                byteCount: Int(row.integer("size_bytes")),
                digest: row.text("digest"),
                lastAccess: row.integer("last_access_us")
            )
        }
        entries = try connection.rows(
            """
            SELECT key, storage_class, file_id, absence, etag, fresh_until_ms,
                (SELECT group_concat(contact) FROM owner WHERE avatar_id = avatar.id) AS owners,
                (SELECT group_concat(contact) FROM owner WHERE avatar_id = avatar.id AND replaces) AS waiting
            FROM avatar
            """
        ) { row in
            Entry(
                key: row.text("key"),
                storageClass: Self.storageClass(row.integer("storage_class")),
                file: row.optionalInteger("file_id").map { Int($0) },
                absence: row.optionalText("absence"),
                etag: row.optionalText("etag"),
                freshUntil: row.optionalInteger("fresh_until_ms"),
                owners: row.text("owners").split(separator: ",").map(String.init),
                waiting: row.text("waiting").split(separator: ",").map(String.init)
            )
        }
        let totals = try connection.rows("SELECT storage_class, files, bytes FROM total") { row in
            let total = Total(files: Int(row.integer("files")), bytes: Int(row.integer("bytes")))
            return (Self.storageClass(row.integer("storage_class")), total)
        }
        self.totals = Dictionary(uniqueKeysWithValues: totals)
        let pending = try connection.rows("SELECT storage_class, path, size_bytes FROM pending") { row in
            let folder = Self.storageClass(row.integer("storage_class")).rawValue
            return (folder + "/" + row.text("path"), Int(row.integer("size_bytes")))
        }
        self.pending = Dictionary(uniqueKeysWithValues: pending)
        budget = try connection.integer("SELECT value FROM setting WHERE name = 'budget'").map { Int($0) }
        lastFile = Int(try connection.integer("SELECT seq FROM sqlite_sequence WHERE name = 'file'") ?? 0)
    }

    private static func storageClass(_ code: Int64) -> StorageClass { code == 0 ? .caches : .documents }
}
