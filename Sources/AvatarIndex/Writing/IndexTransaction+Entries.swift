package import AvatarCore
import GRDB

/// What a transaction needs to know of an entry before it changes it.
package struct EntryState: Sendable {
    package let id: Int64
    /// What is fetched; `nil` for an own image.
    package let sourceURL: String?
    package let storageClass: StorageClass
    package let fileID: Int64?
    package let failure: FailureKind?
    package let failureCount: Int
    package let checked: Timestamp?
    package let nextCheck: Timestamp?
    /// Whether the file is the smaller image for constrained networks.
    package let isLowData: Bool
}

extension IndexTransaction {
    /// The entry for `key` as this transaction sees it.
    package func state(of key: AvatarKey) throws -> EntryState? {
        try first(
            """
            SELECT id, CASE WHEN host_id IS NOT NULL THEN coalesce(source_url, key) END, storage_class, file_id, failure,
                failure_count, checked_ms, next_check_ms, is_low_data
            FROM avatar WHERE key = ?
            """,
            [.text(key.rawValue)]
        ) {
            EntryState(
                id: $0.integer(0),
                sourceURL: $0.optionalText(1),
                storageClass: StorageClass(code: $0.integer(2)),
                fileID: $0.optionalInteger(3),
                failure: $0.optionalText(4).map(FailureKind.init(rawValue:)),
                failureCount: Int($0.integer(5)),
                checked: $0.optionalInteger(6).map(Timestamp.init(milliseconds:)),
                nextCheck: $0.optionalInteger(7).map(Timestamp.init(milliseconds:)),
                isLowData: $0.integer(8) != 0
            )
        }
    }

    /// Makes an entry and gives its row id.
    ///
    /// - Parameter sourceURL: what is fetched; `nil` for an own image.
    /// - Parameter host: name and port of the URL.
    /// - Parameter fileID: the file that it gets at once, which it may share with others.
    package func insertEntry(
        _ key: AvatarKey,
        sourceURL: String?,
        host: String?,
        storageClass: StorageClass,
        fileID: Int64? = nil
    ) throws -> Int64 {
        try executeUnwatched(
            "INSERT INTO avatar (key, source_url, host_id, storage_class, file_id) VALUES (?, ?, ?, ?, ?)",
            [
                .text(key.rawValue), .init(sourceURL == key.rawValue ? nil : sourceURL),
                .init(try host.map(hostID)), .integer(storageClass.code), .init(fileID),
            ]
        )
        let id = database.lastInsertedRowID
        news.beginNew(id, key: key.rawValue)
        return id
    }

    /// Says where the entry's image is fetched from now on.
    package func setSource(_ sourceURL: String, host: String, of id: Int64, key: AvatarKey) throws {
        try execute(
            "UPDATE avatar SET source_url = ?, host_id = ? WHERE id = ?",
            [sourceURL == key.rawValue ? nil : sourceURL, try hostID(host), id]
        )
    }

    /// Gives the entry the file, which it may share with others.
    package func setFile(_ fileID: Int64, storageClass: StorageClass, of id: Int64) throws {
        try noteContent(of: id)
        try execute(
            "UPDATE avatar SET file_id = ?, storage_class = ?, absence = NULL, absent_sha256 = NULL WHERE id = ?",
            [fileID, storageClass.code, id]
        )
    }

    /// Says which of its two images the entry's file is, and where the smaller one is; `nil`: as before.
    package func setLowData(_ url: String?, isStored: Bool, of id: Int64) throws {
        try execute(
            "UPDATE avatar SET low_data_url = coalesce(?, low_data_url), is_low_data = ? WHERE id = ?",
            [url, isStored, id]
        )
    }

    /// Takes the image from the entry, with its validators: its file, if it has one, and what is remembered of an
    /// evicted one.
    package func dropFile(of id: Int64) throws {
        try noteContent(of: id)
        try execute(
            """
            UPDATE avatar SET file_id = NULL, absent_sha256 = NULL, etag = NULL, last_modified = NULL
            WHERE id = ? AND (file_id IS NOT NULL OR absent_sha256 IS NOT NULL)
            """,
            [id]
        )
    }

    /// Replaces what the index keeps of the origin's answers.
    package func setValidation(_ validation: ValidationRecord, of id: Int64) throws {
        try execute(
            """
            UPDATE avatar SET etag = ?, last_modified = ?, response_fields = ?, response_ms = ?, response_delay_ms = ?,
                fetched_ms = ?, checked_ms = ?, fresh_until_ms = ?, next_check_ms = ?, failure = ?, failure_count = ?
            WHERE id = ?
            """,
            [
                validation.etag, validation.lastModified, validation.responseFields,
                validation.response?.milliseconds, validation.responseDelayMilliseconds,
                validation.fetched?.milliseconds, validation.checked?.milliseconds,
                validation.freshUntil?.milliseconds, validation.nextCheck?.milliseconds,
                validation.failure?.rawValue, validation.failureCount, id,
            ]
        )
    }

    /// Keeps a failure with the entry; what is stored stays as it is.
    package func setFailure(
        _ failure: FailureKind,
        count: Int,
        checked: Timestamp,
        nextCheck: Timestamp?,
        of id: Int64
    ) throws {
        try execute(
            "UPDATE avatar SET failure = ?, failure_count = ?, checked_ms = ?, next_check_ms = ? WHERE id = ?",
            [failure.rawValue, count, checked.milliseconds, nextCheck?.milliseconds, id]
        )
    }

    /// Says that nothing waits for the entry's image: it is no longer due, and what failed is forgotten.
    package func stopChecking(_ id: Int64) throws {
        try execute(
            """
            UPDATE avatar SET next_check_ms = NULL, failure = NULL, failure_count = 0
            WHERE id = ? AND (next_check_ms IS NOT NULL OR failure IS NOT NULL)
            """,
            [id]
        )
    }

    /// Removes the entry and its owners. Its file stays, for whoever else uses it.
    package func removeEntry(id: Int64) throws {
        try noteRemoval(of: id)
        try execute("DELETE FROM avatar WHERE id = ?", [id])
    }
}
