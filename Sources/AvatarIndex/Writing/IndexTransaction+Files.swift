package import AvatarCore
import Foundation
import GRDB

/// A file that may exist without being published.
package struct PendingFile: Hashable, Sendable {
    package var storageClass: StorageClass
    /// Relative to the root of the class.
    package var path: String
    package var sizeBytes: Int
    package var holder: String

    package init(storageClass: StorageClass, path: String, sizeBytes: Int, holder: String) {
        self.storageClass = storageClass
        self.path = path
        self.sizeBytes = sizeBytes
        self.holder = holder
    }
}

/// The sums of one class, pending files apart.
package struct ClassTotal: Hashable, Sendable {
    package var files: Int
    package var bytes: Int
    package var pendingFiles: Int
    package var pendingBytes: Int

    /// What counts against the budget: every byte that may be on disk.
    package var accountedBytes: Int { bytes + pendingBytes }

    package init(files: Int, bytes: Int, pendingFiles: Int, pendingBytes: Int) {
        self.files = files
        self.bytes = bytes
        self.pendingFiles = pendingFiles
        self.pendingBytes = pendingBytes
    }
}

/// A candidate for eviction.
package struct EvictionCandidate: Hashable, Sendable {
    package let fileID: Int64
    package let sizeBytes: Int
}

extension IndexTransaction {
    /// The sums of `storageClass`: one row, whatever the number of files.
    package func total(of storageClass: StorageClass) throws -> ClassTotal {
        let row = try fetchRow(
            "SELECT files, bytes, pending_files, pending_bytes FROM total WHERE storage_class = ?",
            [storageClass.code]
        )
        guard let row else { throw AvatarStoreError(.damagedIndex, "The index has lost its totals.") }
        return ClassTotal(files: row[0], bytes: row[1], pendingFiles: row[2], pendingBytes: row[3])
    }

    /// Names `file` as one that may exist from now on.
    package func addPending(_ file: PendingFile) throws {
        try executeUnwatched(
            "INSERT INTO pending_file (storage_class, path, size_bytes, holder) VALUES (?, ?, ?, ?)",
            [
                .integer(file.storageClass.code), .text(file.path), .integer(Int64(file.sizeBytes)),
                .text(file.holder),
            ]
        )
    }

    /// Says that `file` is published, or gone from the disk.
    package func dropPending(_ file: PendingFile) throws {
        try executeUnwatched(
            "DELETE FROM pending_file WHERE storage_class = ? AND path = ?",
            [.integer(file.storageClass.code), .text(file.path)]
        )
    }

    /// What `holder` has pending.
    package func pendingFiles(of holder: String) throws -> [PendingFile] {
        try rows(
            "SELECT storage_class, path, size_bytes FROM pending_file WHERE holder = ?",
            [.text(holder)]
        ) { row in
            PendingFile(
                storageClass: StorageClass(code: row.integer(0)),
                path: row.text(1),
                sizeBytes: Int(row.integer(2)),
                holder: holder
            )
        }
    }

    /// Drops all pending rows of `holder`, and leaves the files as they are.
    package func dropPending(of holder: String) throws {
        try executeUnwatched("DELETE FROM pending_file WHERE holder = ?", [.text(holder)])
    }

    /// Whether a file is published at `path`, whose digest begins with `prefix`.
    package func isPublished(_ path: String, in storageClass: StorageClass, digestPrefix prefix: [UInt8]) throws -> Bool
    {
        let rest = 32 - prefix.count
        let values: [Statement.Value] = [
            .integer(storageClass.code), .blob(prefix + Array(repeating: 0, count: rest)),
            .blob(prefix + Array(repeating: 255, count: rest)), .text(path),
        ]
        let sql = "SELECT 1 FROM file WHERE storage_class = ? AND sha256 BETWEEN ? AND ? AND path = ?"
        return try first(sql, values) { _ in true } != nil
    }

    /// The holders that have files pending.
    package func pendingHolders() throws -> [String] {
        try fetchRows("SELECT DISTINCT holder FROM pending_file").map { $0[0] }
    }

    /// The published file of `storageClass` with these bytes.
    package func file(withDigest sha256: [UInt8], in storageClass: StorageClass) throws -> FileRecord? {
        try first(
            """
            SELECT id, storage_class, path, size_bytes, media_type, width, height
            FROM file WHERE storage_class = ? AND sha256 = ?
            """,
            [.integer(storageClass.code), .blob(sha256)]
        ) { FileRecord($0, from: 0) }
    }

    /// Publishes `file`, whose `id` is not used, and gives its row id.
    package func insertFile(_ file: FileRecord, sha256: [UInt8], lastAccessMicroseconds: Int64) throws -> Int64 {
        try executeUnwatched(
            """
            INSERT INTO file (storage_class, sha256, path, size_bytes, media_type, width, height, last_access_us)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .integer(file.storageClass.code), .blob(sha256), .text(file.path), .integer(Int64(file.sizeBytes)),
                .text(file.mediaType), .integer(Int64(file.width)), .integer(Int64(file.height)),
                .integer(lastAccessMicroseconds),
            ]
        )
        return database.lastInsertedRowID
    }

    /// The highest row id of a file; 0 without files.
    package func lastFileID() throws -> Int64 {
        try first("SELECT max(id) FROM file", []) { $0.optionalInteger(0) ?? 0 } ?? 0
    }

    /// Publishes `file` in place of the file `damaged`, which was stored with the same digest. The entries that use that
    /// file use the new one, and keep what is known of them.
    ///
    /// - Returns: the row id, and the damaged file, which is pending for `holder` now.
    package func insertFile(
        _ file: FileRecord,
        sha256: [UInt8],
        lastAccessMicroseconds: Int64,
        inPlaceOf damaged: Int64,
        holder: String
    ) throws -> (id: Int64, retired: PendingFile?) {
        let users = try rows("SELECT id FROM avatar WHERE file_id = ?", [.integer(damaged)]) { $0.integer(0) }
        // The row of a file does not change, and no second one may have its digest.
        try execute("UPDATE avatar SET file_id = NULL WHERE file_id = ?", [damaged])
        let retired = try retireFile(id: damaged, absence: nil, holder: holder)
        let id = try insertFile(file, sha256: sha256, lastAccessMicroseconds: lastAccessMicroseconds)
        for user in users { try execute("UPDATE avatar SET file_id = ? WHERE id = ?", [id, user]) }
        return (id, retired)
    }

    /// Records that the file was used at `microseconds`; the later time wins.
    package func touch(fileID: Int64, microseconds: Int64) throws {
        try executeUnwatched(
            "UPDATE file SET last_access_us = ?1 WHERE id = ?2 AND last_access_us < ?1",
            [.integer(microseconds), .integer(fileID)]
        )
    }

    /// When the file was last used, in microseconds.
    package func lastAccess(ofFile id: Int64) throws -> Int64? {
        try first("SELECT last_access_us FROM file WHERE id = ?", [.integer(id)]) { $0.integer(0) }
    }

    /// Takes the file out of the index and names it as pending for `holder`, who unlinks it after the commit.
    ///
    /// Entries that used it stay, without file and validators, for the reason `absence`. `nil`: no entry uses it.
    package func retireFile(id: Int64, absence: Absence?, holder: String) throws -> PendingFile? {
        let found = try first(
            "SELECT storage_class, path, size_bytes, sha256 FROM file WHERE id = ?",
            [.integer(id)]
        ) { row in
            let file = PendingFile(
                storageClass: StorageClass(code: row.integer(0)),
                path: row.text(1),
                sizeBytes: Int(row.integer(2)),
                holder: holder
            )
            return (file, Data(row.optionalBlob(3) ?? []))
        }
        guard let (pending, sha256) = found else { return nil }
        if let absence {
            try execute(
                """
                UPDATE avatar SET file_id = NULL, absence = ?, absent_sha256 = ?, etag = NULL, last_modified = NULL
                WHERE file_id = ?
                """,
                [absence.rawValue, sha256, id]
            )
        }
        try executeUnwatched("DELETE FROM file WHERE id = ?", [.integer(id)])
        try addPending(pending)
        return pending
    }

    /// Retires the file if no entry uses it any more.
    package func retireFileIfUnused(id: Int64, holder: String) throws -> PendingFile? {
        let isUsed = try first("SELECT 1 FROM avatar WHERE file_id = ? LIMIT 1", [.integer(id)]) { _ in true } != nil
        return isUsed ? nil : try retireFile(id: id, absence: nil, holder: holder)
    }

    /// The path of the file if it is a document.
    package func documentPath(ofFile id: Int64) throws -> String? {
        try fetchRow("SELECT path FROM file WHERE id = ? AND storage_class = 1", [id]).map { $0[0] }
    }

    /// The entries that use the file, with what they are fetched from.
    package func users(ofFile id: Int64) throws -> [(key: AvatarKey, sourceURL: String?)] {
        try fetchRows(
            """
            SELECT key, CASE WHEN host_id IS NOT NULL THEN coalesce(source_url, key) END
            FROM avatar WHERE file_id = ? ORDER BY id
            """,
            [id]
        ).map { (AvatarKey(stored: $0[0]), $0[1]) }
    }

    /// Walks the files of `caches` from the least recently used on, until `visit` returns false.
    ///
    /// Relies on the index `file_by_last_access`; equal times are ordered by row id.
    package func forEachEvictionCandidate(
        accessedBefore microseconds: Int64,
        _ visit: (EvictionCandidate) throws -> Bool
    ) throws {
        let values: [Statement.Value] = [.integer(StorageClass.caches.code), .integer(microseconds)]
        try statements.statement(AvatarIndex.candidatesSQL, on: database).forEachRow(values) { row in
            try visit(EvictionCandidate(fileID: row.integer(0), sizeBytes: Int(row.integer(1))))
        }
    }

}

extension FileRecord {
    init(_ row: Row) {
        self.init(
            id: row[0],
            storageClass: StorageClass(code: row[1]),
            path: row[2],
            sizeBytes: row[3],
            mediaType: row[4],
            width: row[5],
            height: row[6]
        )
    }
}
