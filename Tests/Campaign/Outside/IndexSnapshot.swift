import AvatarStore
import Foundation
import GRDB

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
        var pendingFiles = 0
        var pendingBytes = 0
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
        let queue = try DatabaseQueue(path: path)
        defer {
            // A connection that only reads needs no error handling at its end.
            try? queue.close()
        }
        self = try queue.read { try IndexSnapshot($0) }
    }

    private init(_ database: Database) throws {
        files = try Row.fetchAll(
            database,
            sql: "SELECT id, storage_class, path, size_bytes, lower(hex(sha256)), last_access_us FROM file"
        ).map {
            File(
                id: $0[0],
                storageClass: Self.storageClass($0[1]),
                path: $0[2],
                byteCount: $0[3],
                digest: $0[4],
                lastAccess: $0[5]
            )
        }
        entries = try Row.fetchAll(
            database,
            sql: """
                SELECT key, storage_class, file_id, absence, etag, fresh_until_ms,
                    (SELECT group_concat(contact) FROM owner WHERE avatar_id = avatar.id),
                    (SELECT group_concat(contact) FROM owner WHERE avatar_id = avatar.id AND replaces)
                FROM avatar
                """
        ).map {
            Entry(
                key: $0[0],
                storageClass: Self.storageClass($0[1]),
                file: $0[2],
                absence: $0[3],
                etag: $0[4],
                freshUntil: $0[5],
                owners: ($0[6] as String? ?? "").split(separator: ",").map(String.init),
                waiting: ($0[7] as String? ?? "").split(separator: ",").map(String.init)
            )
        }
        let totals = try Row.fetchAll(
            database,
            sql: "SELECT storage_class, files, bytes, pending_files, pending_bytes FROM total"
        ).map {
            (Self.storageClass($0[0]), Total(files: $0[1], bytes: $0[2], pendingFiles: $0[3], pendingBytes: $0[4]))
        }
        self.totals = Dictionary(uniqueKeysWithValues: totals)
        let pending = try Row.fetchAll(database, sql: "SELECT storage_class, path, size_bytes FROM pending_file")
            .map { (Self.storageClass($0[0]).rawValue + "/" + ($0[1] as String), $0[2] as Int) }
        self.pending = Dictionary(uniqueKeysWithValues: pending)
        budget = try Int.fetchOne(database, sql: "SELECT value FROM setting WHERE name = 'budget'")
        lastFile = try Int.fetchOne(database, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'file'") ?? 0
    }

    private static func storageClass(_ code: Int) -> StorageClass { code == 0 ? .caches : .documents }
}
