/// A column of numbers: those that it may have, and the repair of rows with other ones.
///
/// SQLite checks only some of the ranges, and not in a file that another program has changed.
struct NumberColumn {
    /// The repair of a row with a wrong number.
    enum Repair {
        /// Set the column to an expression. Further columns may follow it.
        case set(String)
        /// Delete the row.
        case delete
        /// Delete the row of a file, and keep the file at its path: a verification then lists it again, or deletes it.
        case forgetFile
        /// Empty the feed of changes. Its readers must start over.
        case restartFeed
    }

    /// The table.
    let table: String
    /// The column.
    let name: String
    /// The numbers that the column may have.
    let range: ClosedRange<Int64>
    /// The repair of a row with another number.
    let repair: Repair

    private init(_ table: String, _ name: String, _ range: ClosedRange<Int64>, _ repair: Repair) {
        (self.table, self.name, self.range, self.repair) = (table, name, range, repair)
    }

    /// Several columns of a table with the same range and repair.
    private static func columns(
        _ table: String,
        _ names: String,
        _ range: ClosedRange<Int64>,
        _ repair: Repair
    ) -> [NumberColumn] {
        names.split(separator: " ").map { NumberColumn(table, String($0), range, repair) }
    }

    /// The condition for a wrong number.
    var condition: String { "\(name) NOT BETWEEN \(range.lowerBound) AND \(range.upperBound)" }

    /// The only id in a table with one row.
    private static let one: ClosedRange<Int64> = 1...1
    /// The time now, as SQL.
    private static let now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"

    /// Every column of numbers except `setting.value`, whose range depends on the setting. Rows are repaired in this order.
    static let all: [NumberColumn] = [
        columns("store", "id", one, .set("1")),
        columns("store", "clock_ms", IndexNumber.milliseconds, .set("NULL")),
        columns("store", "durable_file_id", IndexNumber.id, .set("0")),
        columns("file", "id", IndexNumber.id, .forgetFile),
        columns("file", "storage_class", IndexNumber.flag, .forgetFile),
        columns("file", "size_bytes", IndexNumber.bytes, .forgetFile),
        columns("file", "width height", IndexNumber.count, .forgetFile),
        columns("file", "last_access_us", IndexNumber.microseconds, .set("0")),
        columns("file", "has_metadata", IndexNumber.flag, .set("NULL")),
        columns("avatar", "id host_id", IndexNumber.id, .delete),
        columns("avatar", "storage_class is_low_data", IndexNumber.flag, .set("0")),
        // Without validators, so that the next response has the image.
        columns(
            "avatar",
            "file_id",
            IndexNumber.id,
            .set("NULL, absence = 'missing', etag = NULL, last_modified = NULL")
        ),
        columns("avatar", "response_ms response_delay_ms checked_ms", IndexNumber.milliseconds, .set("NULL")),
        columns("avatar", "fetched_ms fresh_until_ms", IndexNumber.milliseconds, .set("0")),
        columns("avatar", "next_check_ms", IndexNumber.milliseconds, .set("CASE WHEN host_id IS NOT NULL THEN 0 END")),
        columns("avatar", "failure_count", IndexNumber.count, .set("0")),
        columns("owner", "avatar_id", IndexNumber.id, .delete),
        columns("owner", "replaces", IndexNumber.flag, .set("0")),
        columns("host", "id", IndexNumber.id, .delete),
        columns("host", "blocked_until_ms next_check_ms", IndexNumber.milliseconds, .set("0")),
        columns("host", "failure_count", IndexNumber.count, .set("0")),
        columns("host", "rests_until_ms", IndexNumber.milliseconds, .set("NULL")),
        columns("host", "window", IndexNumber.window, .set("NULL")),
        columns("host", "is_multiplexed", IndexNumber.flag, .set("0")),
        // The totals are counted again.
        columns("total", "storage_class", IndexNumber.flag, .delete),
        columns("total", "files", IndexNumber.count, .set("0")),
        columns("total", "bytes", IndexNumber.sum, .set("0")),
        columns("pending_file", "storage_class", IndexNumber.flag, .delete),
        columns("pending_file", "size_bytes", IndexNumber.bytes, .delete),
        columns("pending_batch", "id", IndexNumber.id, .delete),
        columns("pending_batch", "caches_bytes documents_bytes", IndexNumber.sum, .delete),
        columns("partial_download", "storage_class", IndexNumber.flag, .delete),
        columns("partial_download", "size_bytes", IndexNumber.bytes, .delete),
        columns("partial_download", "total_bytes", 0...(.max), .delete),
        columns("partial_download", "updated_ms", IndexNumber.milliseconds, .delete),
        columns("change_feed", "id", one, .set("1")),
        columns("change_feed", "sequence floor", IndexNumber.id, .restartFeed),
        columns("content_change", "sequence", IndexNumber.id, .restartFeed),
        columns("content_change", "time_ms", IndexNumber.milliseconds, .set("0")),
        columns("content_change_owner", "sequence", IndexNumber.id, .restartFeed),
        columns("last_sync", "id", one, .delete),
        columns("last_sync", "ended_ms", IndexNumber.milliseconds, .delete),
        columns("last_sync", "duration_ms wanted failed skipped over_budget", IndexNumber.count, .delete),
        // The rows of missing files are made again, and the queue is filled again.
        columns("access", "file_id", IndexNumber.id, .delete),
        columns("access", "storage_class", IndexNumber.flag, .delete),
        columns("access", "size_bytes", IndexNumber.bytes, .delete),
        columns("access", "last_access_us", IndexNumber.microseconds, .delete),
        columns("eviction_queue", "file_id", IndexNumber.id, .delete),
        columns("eviction_queue", "size_bytes", IndexNumber.bytes, .delete),
        columns("eviction_queue", "last_access_us", IndexNumber.microseconds, .delete),
        columns("eviction_queue_end", "id", one, .delete),
        columns("eviction_queue_end", "queued_before_us", IndexNumber.microseconds, .delete),
        columns("contact", "is_listed", IndexNumber.flag, .set("1")),
        // A contact that no named list is known to name is unlinked by any that prunes, as one of an older index.
        columns("contact", "named_by", IndexNumber.lists, .set("0")),
        columns("source", "id", 0...61, .delete),
        columns("source", "kind", 0...2, .set("0")),
        columns("source", "synced_at", IndexNumber.milliseconds, .set("NULL")),
        columns("source", "is_settled", IndexNumber.flag, .set("0")),
        columns("source", "keeps", 0...3, .set("0")),
        columns("source_book", "id source", IndexNumber.id, .delete),
        columns("source_card", "book", IndexNumber.id, .delete),
        columns("source_erased", "book", IndexNumber.id, .delete),
        columns("source_card", "is_pending", IndexNumber.flag, .set("1")),
        columns("rendition", "original_id file_id", IndexNumber.id, .delete),
        columns("undecodable", "file_id", IndexNumber.id, .delete),
        columns("undecodable", "decoder_version deaths", IndexNumber.count, .delete),
        columns("ignored_picture", "since_ms", IndexNumber.milliseconds, .set(now)),
        columns("ignored_picture", "is_complete", IndexNumber.flag, .set("0")),
        columns("tier_upload", "id avatar_id", IndexNumber.id, .delete),
        columns("tier_upload", "answered_ms", IndexNumber.milliseconds, .delete),
        // An erasure is never lost: it is carried out again.
        columns("tier_erasure", "erased_ms", IndexNumber.milliseconds, .set(now)),
        columns("tier_erasure", "deleted_ms", IndexNumber.milliseconds, .set("NULL")),
        columns("tier", "id", one, .set("1")),
        columns("tier", "registered_day", IndexNumber.count, .set("NULL")),
        columns("tier", "taken confirmed put dropped", IndexNumber.count, .set("0")),
        columns("tier", "failed_ms", IndexNumber.milliseconds, .set("NULL")),
        // Last: by then the rows with wrong ids are gone.
        columns(
            "sqlite_sequence",
            "seq",
            IndexNumber.id,
            .set(
                """
                CASE name
                    WHEN 'file' THEN (SELECT coalesce(max(id), 0) FROM file)
                    WHEN 'avatar' THEN (SELECT coalesce(max(id), 0) FROM avatar)
                    WHEN 'tier_upload' THEN (SELECT coalesce(max(id), 0) FROM tier_upload)
                    ELSE 0
                END
                """
            )
        ),
    ].flatMap(\.self)
}
