package import AvatarCore
import AvatarSQLite

/// An answer that waits to be put into the shared tier.
package struct TierUpload: Sendable {
    /// Its place in the queue.
    package let id: Int64
    /// The entry as it is now.
    package let entry: AvatarEntry
}

/// How a store used its shared tier.
package struct TierUse: Sendable {
    /// The counts since the first use.
    package var counts: TierCounts
    /// Answers dropped because too many waited.
    package var dropped: Int
    /// Answers that wait.
    package var waiting: Int
    /// Erasures that wait.
    package var erasures: Int
    /// The last failure and its time; `nil` after a success.
    package var failure: (message: String, time: Timestamp)?
}

extension AvatarIndex {
    /// The name of the store in its shared tier, made from `candidate` at the first use.
    package func tierMachine(orNew candidate: String) throws -> String {
        try write { try $0.tierMachine(orNew: candidate) }
    }

    /// The first answers that wait, in the order of the queue, after the one with the id `last`.
    package func tierUploads(after last: Int64, limit: Int) throws -> [TierUpload] {
        try readers.read { connection in
            try connection.rows(
                """
                SELECT \(Self.entryColumns), tier_upload.id AS upload_id
                FROM tier_upload CROSS JOIN \(Self.entryTables) WHERE avatar.id = tier_upload.avatar_id AND tier_upload.id > ?
                ORDER BY tier_upload.id LIMIT ?
                """,
                [last, Int64(limit)]
            ) { TierUpload(id: $0.integer("upload_id"), entry: AvatarEntry($0)) }
        }
    }

    /// Whether an answer or an erasure waits.
    package func hasTierWork() throws -> Bool {
        try readers.read { connection in
            try connection.hasRow("SELECT 1 FROM tier_upload UNION ALL SELECT 1 FROM tier_erasure LIMIT 1")
        }
    }

    /// The erasures that wait.
    package func tierErasures() throws -> [TierURL] {
        try readers.read { connection in
            try connection.rows("SELECT url_sha256 FROM tier_erasure") { TierURL(sha256: $0.blob("url_sha256")) }
        }
    }

    /// How the store used its tier; `nil` if it never did.
    package func tierUse() throws -> TierUse? {
        try readers.read { connection in
            try connection.firstRow(
                """
                SELECT taken, confirmed, put, dropped, failure, failed_ms,
                    (SELECT count(*) FROM tier_upload) AS waiting, (SELECT count(*) FROM tier_erasure) AS erasures
                FROM tier
                """
            ) { row in
                var counts = TierCounts()
                (counts.taken, counts.confirmed) = (Int(row.integer("taken")), Int(row.integer("confirmed")))
                counts.put = Int(row.integer("put"))
                var record = TierUse(
                    counts: counts,
                    dropped: Int(row.integer("dropped")),
                    waiting: Int(row.integer("waiting")),
                    erasures: Int(row.integer("erasures"))
                )
                if let message = row.optionalText("failure"), let time = row.timestamp("failed_ms") {
                    record.failure = (message, time)
                }
                return record
            }
        }
    }

    /// The keys and URLs of the entries with an origin, after the entry with the id `last`, at most `limit`.
    package func sources(after last: Int64, limit: Int) throws -> [(id: Int64, key: AvatarKey, urls: [String])] {
        try readers.read { connection in
            try connection.rows(
                """
                SELECT id, key, coalesce(source_url, key) AS url, low_data_url FROM avatar
                WHERE id > ? AND host_id IS NOT NULL ORDER BY id LIMIT ?
                """,
                [last, Int64(limit)]
            ) { row in
                let urls = [row.text("url")] + [row.optionalText("low_data_url")].compactMap(\.self)
                return (row.integer("id"), AvatarKey(stored: row.text("key")), urls)
            }
        }
    }
}
