package import AvatarCore
import AvatarSQLite

/// Entries whose keys leave out parameters of their URLs (`VolatileQuery`).
extension IndexTransaction {
    /// The text of the setting `name`; `nil` if it has its default.
    package func textSetting(_ name: String) throws -> String? { try storedText(name) }

    /// Records that the image of `key` is at `url` now, on the same host. A failure of the image at the URL before is over; one of
    /// the host is not.
    package func renew(_ url: String, of key: AvatarKey) throws {
        try run(
            KeepsHits("UPDATE avatar SET source_url = nullif(?1, key) WHERE key = ?2"),
            [url, key.rawValue]
        )
        guard let state = try state(of: key), state.failure?.blame == .image else { return }
        try run(KeepsHits(Self.withoutFailure), [state.id])
    }

    private static let withoutFailure = """
        UPDATE avatar SET failure = NULL, failure_message = NULL, failure_count = 0, next_check_ms = coalesce(fresh_until_ms, 0)
        WHERE id = ?
        """

    /// Adds an entry for `key` at `url` with all that the entry `id` of the same host has.
    ///
    /// - Returns: the row id of the new entry.
    package func copyEntry(_ id: Int64, as key: AvatarKey, from url: String) throws -> Int64 {
        let sha256 = try firstRow(Self.shownDigest, [id]) { $0.optionalBlob("sha256") } ?? nil
        try run(KeepsHits(Self.copy), [key.rawValue, url, id])
        let copy = lastInsertedRowID
        memory.insertedEntries.insert(key)
        news.beginNew(copy, key: key.rawValue, with: sha256)
        if try state(of: key)?.failure?.blame == .image { try run(KeepsHits(Self.withoutFailure), [copy]) }
        return copy
    }

    /// The digest of the image of an entry, even if it was evicted; NULL if it is ignored.
    private static let shownDigest = """
        SELECT coalesce(
            file.sha256, CASE WHEN avatar.absence IS NOT 'ignored' THEN avatar.absent_sha256 END
        ) AS sha256
        FROM avatar LEFT JOIN file ON file.id = avatar.file_id WHERE avatar.id = ?
        """

    /// The host has the original, so it is due no earlier with the copy.
    private static let copy = """
        INSERT INTO avatar (key, source_url, \(copiedColumns))
        SELECT ?1, nullif(?2, ?1), \(copiedColumns) FROM avatar WHERE id = ?3
        """

    private static let copiedColumns = """
        host_id, storage_class, file_id, absence, absent_sha256, etag, last_modified, response_fields, response_ms,
        response_delay_ms, fetched_ms, checked_ms, fresh_until_ms, next_check_ms, failure, failure_message, failure_count,
        low_data_url, is_low_data, thumb_hash
        """
}
