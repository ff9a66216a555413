package import AvatarCore
import GRDB

extension IndexTransaction {
    /// Keeps a download that was interrupted, in place of an earlier one of the same key.
    package func keepPartial(_ record: PartialRecord) throws {
        try execute(
            """
            INSERT INTO partial_download (\(PartialRecord.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (key) DO UPDATE SET storage_class = excluded.storage_class, name = excluded.name,
                url = excluded.url, etag = excluded.etag, size_bytes = excluded.size_bytes,
                total_bytes = excluded.total_bytes, updated_ms = excluded.updated_ms
            """,
            [
                record.key.rawValue, record.storageClass.code, record.name, record.url, record.etag, record.sizeBytes,
                record.totalBytes, record.updated.milliseconds,
            ]
        )
    }

    /// What is kept for `key`.
    package func partial(of key: AvatarKey) throws -> PartialRecord? {
        // Asked with each image that comes; there seldom is one.
        let values: [Statement.Value] = [.text(key.rawValue)]
        guard try first("SELECT 1 FROM partial_download WHERE key = ?", values, { _ in true }) != nil else {
            return nil
        }
        return try fetchRow("SELECT \(PartialRecord.columns) FROM partial_download WHERE key = ?", [key.rawValue])
            .map(PartialRecord.init)
    }

    /// Forgets what is kept for `key`; its file is the caller's to unlink.
    package func dropPartial(of key: AvatarKey) throws {
        try execute("DELETE FROM partial_download WHERE key = ?", [key.rawValue])
    }

    /// The interrupted downloads that are older than `time`, or the oldest ones beyond `limit` bytes in all.
    package func surplusPartials(olderThan time: Timestamp, beyond limit: Int) throws -> [PartialRecord] {
        var bytes = 0
        return try fetchRows("SELECT \(PartialRecord.columns) FROM partial_download ORDER BY updated_ms DESC", [])
            .map(PartialRecord.init)
            .filter { record in
                bytes += record.sizeBytes
                return record.updated < time || bytes > limit
            }
    }
}

extension PartialRecord {
    fileprivate init(_ row: Row) {
        self.init(
            key: AvatarKey(stored: row[0]),
            storageClass: StorageClass(code: row[1]),
            name: row[2],
            url: row[3],
            etag: row[4],
            sizeBytes: row[5],
            totalBytes: row[6],
            updated: Timestamp(milliseconds: row[7])
        )
    }
}
