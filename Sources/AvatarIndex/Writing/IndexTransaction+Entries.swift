package import AvatarCore
import AvatarSQLite

/// The part of an entry that a transaction reads before it changes the entry. It is a class, because a commit hands each one on
/// many times.
package final class EntryState: Sendable {
    /// The row id.
    package let id: Int64
    /// The URL that is fetched; `nil` for an own image.
    package let sourceURL: String?
    /// The class that the image is stored in, or was stored in last.
    package let storageClass: StorageClass
    /// The row id of its file; `nil` without a file.
    package let fileID: Int64?
    /// The kind of the last failure; `nil` after a success.
    package let failure: FailureKind?
    /// The number of failures since the last success.
    package let failureCount: Int
    /// When the origin last responded, or a request to it last failed; `nil`: never.
    package let checked: Timestamp?
    /// When the entry is due; `nil`: never.
    package let nextCheck: Timestamp?
    /// Whether the file is the smaller image for constrained networks.
    package let isLowData: Bool
    /// Whether it has no file because its origin sends an ignored image.
    package let isIgnored: Bool

    /// The entry in a row of `IndexTransaction.state(of:)`.
    fileprivate init(_ row: borrowing Row) {
        id = row.integer("id")
        sourceURL = row.optionalText("source_url")
        storageClass = StorageClass(code: row.integer("storage_class"))
        fileID = row.optionalInteger("file_id")
        failure = row.optionalText("failure").map(FailureKind.init(rawValue:))
        failureCount = row.count("failure_count")
        checked = row.timestamp("checked_ms")
        nextCheck = row.timestamp("next_check_ms")
        isLowData = row.bool("is_low_data")
        isIgnored = row.bool("is_ignored")
    }
}

extension IndexTransaction {
    /// The entry for `key` as this transaction sees it; `nil` if it does not exist.
    package func state(of key: AvatarKey) throws -> EntryState? {
        try firstRow(
            """
            SELECT id, CASE WHEN host_id IS NOT NULL THEN coalesce(source_url, key) END AS source_url, storage_class,
                file_id, failure, failure_count, checked_ms, next_check_ms, is_low_data, absence IS 'ignored' AS is_ignored
            FROM avatar WHERE key = ?
            """,
            [key.rawValue]
        ) { EntryState($0) }
    }

    /// The entry for `key`, which an earlier transaction has seen as `seen`; `nil` if it does not exist.
    ///
    /// Reads it only if this transaction has changed it or added it. Nothing else may have changed it since
    /// (`follows(_:)`).
    package func state(of key: AvatarKey, seenAs seen: EntryState?) throws -> EntryState? {
        if let seen {
            guard isUntouched(seen.id) else { return try state(of: key) }
        } else {
            // An entry that was added past `insertEntry` may have any key.
            guard memory.insertedEntries.count == insertedEntryCount, !memory.insertedEntries.contains(key)
            else { return try state(of: key) }
        }
        return seen
    }

    /// The file of entry `id`; `nil` if it has none.
    package func fileID(of id: Int64) throws -> Int64? {
        try integer("SELECT file_id FROM avatar WHERE id = ?", [id])
    }

    /// When the request was sent whose response brought or last confirmed the entry's image; `nil` if there was none.
    package func requestTime(of id: Int64) throws -> Timestamp? {
        try integer("SELECT response_ms - coalesce(response_delay_ms, 0) FROM avatar WHERE id = ?", [id])
            .map(Timestamp.init(milliseconds:))
    }

    /// Adds an entry and returns its row id.
    ///
    /// - Parameter sourceURL: the URL that is fetched; `nil` for an own image.
    /// - Parameter host: name and port of the URL.
    package func insertEntry(
        _ key: AvatarKey,
        sourceURL: String?,
        host: String?,
        storageClass: StorageClass
    ) throws -> Int64 {
        // Not due, so the due time of its host stays.
        try run(
            KeepsHits("INSERT INTO avatar (key, source_url, host_id, storage_class) VALUES (?, ?, ?, ?)"),
            [key.rawValue, sourceURL == key.rawValue ? nil : sourceURL, try host.map(hostID), storageClass.code]
        )
        let id = lastInsertedRowID
        memory.insertedEntries.insert(key)
        news.beginNew(id, key: key.rawValue)
        return id
    }

    /// Adds an entry with its image, in one statement, and returns its row id.
    package func insertEntry(_ key: AvatarKey, _ image: EntryImage) throws -> Int64 {
        let host = try image.source.map { try hostID($0.host) }
        try run(
            EntryImage.insertion,
            [
                key.rawValue, image.storageClass.code, image.fileID,
                image.source?.url == key.rawValue ? nil : image.source?.url,
                host, image.lowDataURL, image.isLowData,
            ] + (image.validation?.values ?? ValidationRecord.noValues)
        )
        let id = lastInsertedRowID
        if let source = image.source, let next = image.validation?.nextCheck {
            try lowerDueTime(ofHost: source.host, to: next)
        }
        memory.insertedEntries.insert(key)
        news.beginNew(id, key: key.rawValue, with: image.sha256)
        return id
    }

    /// Gives the entry another image. For a fetched one, everything that comes with it is set in one statement.
    package func setImage(_ image: EntryImage, of id: Int64, key: AvatarKey) throws {
        guard let source = image.source else {
            try setFile(image.fileID, storageClass: image.storageClass, of: id)
            if let validation = image.validation { try setValidation(validation, of: id) }
            return
        }
        try noteContent(of: id)
        try run(
            image.validation == nil ? EntryImage.update : EntryImage.updateWithValidation,
            [
                image.storageClass.code, image.fileID, source.url == key.rawValue ? nil : source.url,
                try hostID(source.host), image.lowDataURL, image.isLowData,
            ] + (image.validation?.values ?? []) + [id]
        )
    }

    /// Sets the URL that the entry's image is fetched from.
    ///
    /// - Parameter host: name and port of the URL.
    /// - Parameter key: the entry's key; a URL that equals it is not stored twice.
    package func setSource(_ sourceURL: String, host: String, of id: Int64, key: AvatarKey) throws {
        try run(
            KeepsHits("UPDATE avatar SET source_url = ?, host_id = ? WHERE id = ?"),
            [sourceURL == key.rawValue ? nil : sourceURL, try hostID(host), id]
        )
    }

    /// Gives the entry the file, which other entries may share.
    package func setFile(_ fileID: Int64, storageClass: StorageClass, of id: Int64) throws {
        try noteContent(of: id)
        try run(
            ChangesHits(
                "UPDATE avatar SET file_id = ?, storage_class = ?, absence = NULL, absent_sha256 = NULL WHERE id = ?"
            ),
            [fileID, storageClass.code, id]
        )
    }

    /// Removes the image from the entry, with its validators: the file, if it has one, and the digest of an evicted or ignored
    /// image.
    package func dropFile(of id: Int64) throws {
        try noteContent(of: id)
        try run(
            ChangesHits(
                """
                UPDATE avatar SET file_id = NULL, absence = nullif(absence, 'ignored'), absent_sha256 = NULL, etag = NULL,
                    last_modified = NULL, thumb_hash = NULL
                WHERE id = ? AND (file_id IS NOT NULL OR absent_sha256 IS NOT NULL)
                """
            ),
            [id]
        )
    }

    /// Replaces the validators, times and failure that the index keeps of the origin's responses.
    ///
    /// It may change when a hit becomes stale, so the hit cache learns of the entry.
    package func setValidation(_ validation: ValidationRecord, of id: Int64) throws {
        try run(
            ValidationRecord.update,
            validation.values + [id]
        )
    }

    /// Records a failure of the entry; its image stays as it is.
    ///
    /// - Parameter message: a sentence about it, whose URLs have no user info, query or fragment.
    /// - Parameter count: the number of failures since the last success, this one included.
    /// - Parameter checked: when the request failed.
    /// - Parameter nextCheck: when the entry is due again; `nil`: never.
    package func setFailure(
        _ failure: FailureKind,
        message: String? = nil,
        count: Int,
        checked: Timestamp,
        nextCheck: Timestamp?,
        of id: Int64
    ) throws {
        try run(
            KeepsHits(
                """
                UPDATE avatar SET failure = ?, failure_message = ?, failure_count = ?, checked_ms = ?, next_check_ms = ?
                WHERE id = ?
                """
            ),
            [failure.rawValue, message, count, checked.milliseconds, nextCheck?.milliseconds, id]
        )
    }

    /// Makes the entry due never again, and clears its failure: nothing needs its image any more.
    ///
    /// Writes nothing if the entry is not due and has no failure.
    package func stopChecking(_ id: Int64) throws {
        try run(
            KeepsHits(
                """
                UPDATE avatar SET next_check_ms = NULL, failure = NULL, failure_message = NULL, failure_count = 0
                WHERE id = ? AND (next_check_ms IS NOT NULL OR failure IS NOT NULL)
                """
            ),
            [id]
        )
    }

    /// Removes the entry and its links to contacts. Its file stays, as other entries may use it.
    package func removeEntry(id: Int64) throws {
        try noteRemoval(of: id)
        try run(ChangesHits("DELETE FROM avatar WHERE id = ?"), [id])
    }
}

// MARK: Rows

/// The image of an entry, with all that is stored about it.
package struct EntryImage: Sendable {
    /// The row id of the file, which other entries may share.
    package var fileID: Int64
    /// The digest of the file.
    package var sha256: [UInt8]
    /// The class of the file.
    package var storageClass: StorageClass
    /// The URL that the image is fetched from, with name and port of its host; `nil` for an own image, and to leave it
    /// as it is.
    package var source: (url: String, host: String)?
    /// The URL of the smaller image for constrained networks; `nil` leaves it as it is.
    package var lowDataURL: String?
    /// Whether the file is that smaller image.
    package var isLowData = false
    /// The validators and times of the response; `nil` leaves them as they are.
    package var validation: ValidationRecord?

    /// An image without anything of an origin.
    package init(fileID: Int64, sha256: [UInt8], storageClass: StorageClass) {
        (self.fileID, self.sha256, self.storageClass) = (fileID, sha256, storageClass)
    }

    /// A new entry with all that is stored about its image.
    fileprivate static let insertion = KeepsHits(
        """
        INSERT INTO avatar (key, storage_class, file_id, source_url, host_id, low_data_url, is_low_data,
            \(ValidationRecord.columns))
        VALUES (?, ?, ?, ?, ?, ?, ?, \(ValidationRecord.places))
        """
    )
    /// Another image for an entry, with a validation or without.
    fileprivate static let updateWithValidation = ChangesHits(
        "UPDATE avatar SET \(assignments), \(ValidationRecord.assignments) WHERE id = ?"
    )
    fileprivate static let update = ChangesHits("UPDATE avatar SET \(assignments) WHERE id = ?")
    private static let assignments = """
        storage_class = ?, file_id = ?, source_url = ?, host_id = ?, low_data_url = coalesce(?, low_data_url),
        is_low_data = ?, absence = NULL, absent_sha256 = NULL
        """
}

extension ValidationRecord {
    /// The columns of `values`.
    fileprivate static let columnNames = [
        "etag", "last_modified", "response_fields", "response_ms", "response_delay_ms", "fetched_ms", "checked_ms",
        "fresh_until_ms", "next_check_ms", "failure", "failure_message", "failure_count",
    ]
    /// The columns of `values`, for an insertion.
    fileprivate static let columns = columnNames.joined(separator: ", ")
    /// A place for each of `values`, for an insertion.
    fileprivate static let places = columnNames.map { _ in "?" }.joined(separator: ", ")
    /// The columns of `values`, for an update.
    fileprivate static let assignments = columnNames.map { $0 + " = ?" }.joined(separator: ", ")
    /// FAIL: as for a new file (`insertFile`), SQLite need not be able to undo the statement and its trigger alone.
    fileprivate static let update = ChangesHits("UPDATE OR FAIL avatar SET \(assignments) WHERE id = ?")
    /// The values of an entry that was never requested.
    fileprivate static var noValues: [any Bindable] { columnNames.dropLast().map { _ in Int64?.none } + [0] }

    /// The values of `columns`.
    fileprivate var values: [any Bindable] {
        [
            etag, lastModified, responseFields, response?.milliseconds, responseDelayMilliseconds,
            fetched?.milliseconds, checked?.milliseconds, freshUntil?.milliseconds, nextCheck?.milliseconds,
            failure?.rawValue, failureMessage, failureCount,
        ]
    }
}

// MARK: Interrupted downloads

extension IndexTransaction {
    /// Stores an interrupted download, in place of an earlier one for the same key.
    package func keepPartial(_ record: PartialRecord) throws {
        memory.rareRows?.hasPartials = true
        try run(
            KeepsHits(
                """
                INSERT INTO partial_download (\(PartialRecord.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (key) DO UPDATE SET storage_class = excluded.storage_class, name = excluded.name,
                    url = excluded.url, etag = excluded.etag, size_bytes = excluded.size_bytes,
                    total_bytes = excluded.total_bytes, updated_ms = excluded.updated_ms
                """
            ),
            [
                record.key.rawValue, record.storageClass.code, record.name, record.url, record.etag, record.sizeBytes,
                record.totalBytes, record.updated.milliseconds,
            ]
        )
    }

    /// The interrupted download for `key`; `nil` if it does not exist.
    ///
    /// Read again under the write lock, because another process may have replaced it since the fetch began.
    package func partial(of key: AvatarKey) throws -> PartialRecord? {
        try firstRow(PartialRecord.sql, [key.rawValue]) { PartialRecord($0) }
    }

    /// Whether there is any interrupted download.
    package func hasPartials() throws -> Bool { try rareRows().hasPartials }

    /// Deletes the record of an interrupted download. The caller unlinks its file.
    package func dropPartial(of key: AvatarKey) throws {
        try run(KeepsHits("DELETE FROM partial_download WHERE key = ?"), [key.rawValue])
    }

    /// The interrupted downloads older than `time`, and the oldest ones beyond `limit` bytes in total.
    ///
    /// Called after each new one is kept, so the table stays short: it is read as a whole.
    package func surplusPartials(olderThan time: Timestamp, beyond limit: Int) throws -> [PartialRecord] {
        var bytes = 0
        return try rows(
            "SELECT \(PartialRecord.columns) FROM partial_download ORDER BY updated_ms DESC"
        ) { PartialRecord($0) }
        .filter { record in
            bytes += record.sizeBytes
            return record.updated < time || bytes > limit
        }
    }
}

extension IndexTransaction {
    /// The file stored for `key` after this transaction, which must not change the entry any more; `nil` if no entry with a file
    /// has the key. The hit cache keeps it.
    package func hit(for key: AvatarKey) throws -> IndexHit? {
        guard let hit = try firstRow(IndexHit.sql, [key.rawValue], make: { IndexHit($0, of: key) }) else { return nil }
        memory.hits.append(hit)
        return hit
    }
}
