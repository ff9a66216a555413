package import AvatarCore
import AvatarSQLite

/// An answer that waits to be put into the shared tier.
package struct TierUpload: Sendable {
    /// Its place in the queue.
    package let id: Int64
    /// The URL that was requested.
    package let url: TierURL
    /// The time of the answer.
    package let answered: Timestamp
    /// The entry as it is now. It may have another answer.
    package let entry: AvatarEntry
}

/// An erasure to carry out in the shared tier.
package struct WaitingErasure: Sendable {
    /// The URL of the erased image.
    package let url: TierURL
    /// The digest of its image, if one was stored.
    package let digest: [UInt8]?
    /// The name of the erasure.
    package let name: String
    /// When the image was erased.
    package let erased: Timestamp
    /// When its objects were first deleted; `nil`: not yet.
    package let deleted: Timestamp?
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
                SELECT \(Self.entryColumns), tier_upload.id AS upload_id, url_sha256, answered_ms
                FROM tier_upload CROSS JOIN \(Self.entryTables) WHERE avatar.id = tier_upload.avatar_id AND tier_upload.id > ?
                ORDER BY tier_upload.id LIMIT ?
                """,
                [last, Int64(limit)]
            ) { row in
                TierUpload(
                    id: row.integer("upload_id"),
                    url: TierURL(sha256: row.blob("url_sha256")),
                    answered: Timestamp(milliseconds: row.integer("answered_ms")),
                    entry: AvatarEntry(row)
                )
            }
        }
    }

    /// Whether an answer or an erasure waits.
    package func hasTierWork() throws -> Bool {
        try readers.read { connection in
            try connection.hasRow(
                "SELECT 1 FROM tier_upload UNION ALL SELECT 1 FROM tier_erasure WHERE deleted_ms IS NULL LIMIT 1"
            )
        }
    }

    /// The erasures to carry out, and those to look at once more.
    package func tierErasures() throws -> [WaitingErasure] {
        try readers.read { connection in
            try connection.rows("SELECT * FROM tier_erasure") { row in
                WaitingErasure(
                    url: TierURL(sha256: row.blob("url_sha256")),
                    digest: row.optionalBlob("sha256"),
                    name: row.text("erasure"),
                    erased: Timestamp(milliseconds: row.integer("erased_ms")),
                    deleted: row.timestamp("deleted_ms")
                )
            }
        }
    }

    /// The day of this store's object in the tier; `nil` without one.
    package func tierRegistration() throws -> Int64? {
        try readers.read { try $0.integer("SELECT registered_day FROM tier WHERE registered_day IS NOT NULL") }
    }

    /// How the store used its tier; `nil` if it never did.
    package func tierUse() throws -> TierUse? {
        try readers.read { connection in
            try connection.firstRow(
                """
                SELECT taken, confirmed, put, dropped, failure, failed_ms,
                    (SELECT count(*) FROM tier_upload) AS waiting, (SELECT count(*) FROM tier_erasure WHERE deleted_ms IS NULL) AS erasures
                FROM tier
                """
            ) { row in
                var counts = TierCounts()
                (counts.taken, counts.confirmed) = (row.count("taken"), row.count("confirmed"))
                counts.put = row.count("put")
                var record = TierUse(
                    counts: counts,
                    dropped: row.count("dropped"),
                    waiting: row.count("waiting"),
                    erasures: row.count("erasures")
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

    /// The keys that the feed of changes names. Reads the whole feed.
    package func changedKeys() throws -> [AvatarKey] {
        try readers.read { connection in
            try connection.rows("SELECT DISTINCT key FROM content_change") { AvatarKey(stored: $0.text("key")) }
        }
    }
}
