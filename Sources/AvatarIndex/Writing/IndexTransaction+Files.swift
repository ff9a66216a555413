package import AvatarCore
import AvatarSQLite

// MARK: Published files

extension IndexTransaction {
    /// Whether a file is published at `path`, whose digest begins with `prefix`.
    package func isPublished(_ path: String, in storageClass: StorageClass, digestPrefix prefix: [UInt8]) throws -> Bool
    {
        let rest = 32 - prefix.count
        return try hasRow(
            "SELECT 1 FROM file WHERE storage_class = ? AND sha256 BETWEEN ? AND ? AND path = ?",
            [
                storageClass.code, prefix + Array(repeating: 0, count: rest),
                prefix + Array(repeating: 255, count: rest), path,
            ]
        )
    }

    /// Whether a row names `path`, as `AvatarIndex.isNamed`.
    package func isNamed(_ path: String, in storageClass: StorageClass, digestByte byte: UInt8) throws -> Bool {
        try names(path, in: storageClass, digestByte: byte)
    }

    /// The published file of `storageClass` with this digest; `nil` if it does not exist.
    package func file(withDigest sha256: [UInt8], in storageClass: StorageClass) throws -> FileRecord? {
        try firstRow(Self.fileByDigestSQL, [storageClass.code, sha256]) { FileRecord($0) }
    }

    private static let fileByDigestSQL =
        "SELECT \(FileRecord.columns) FROM file WHERE storage_class = ? AND sha256 = ?"

    /// The published file of `storageClass` with this digest, which an earlier transaction has seen as `seen`.
    ///
    /// Reads it only if this transaction has published or removed such a file. Nothing else may have changed it since
    /// (`follows(_:)`).
    package func file(
        withDigest sha256: [UInt8],
        in storageClass: StorageClass,
        seenAs seen: FileRecord?
    ) throws -> FileRecord? {
        memory.mayHaveChanged(sha256) ? try file(withDigest: sha256, in: storageClass) : seen
    }

    /// The highest row id of a file; 0 without files.
    ///
    /// Row ids only grow, so the files up to this one can be recorded as durable.
    package func lastFileID() throws -> Int64 { try highestFileID() }

    /// The path of the file if it is a document; `nil` otherwise.
    package func documentPath(ofFile id: Int64) throws -> String? {
        try text("SELECT path FROM file WHERE id = ? AND storage_class = 1", [id])
    }

    /// The digest of the file; `nil` if it is not published.
    package func digest(ofFile id: Int64) throws -> [UInt8]? { try storedDigest(ofFile: id) }

    /// The entries that use the file, with the URLs that they are fetched from (`nil` for own images).
    package func users(ofFile id: Int64) throws -> [(key: AvatarKey, sourceURL: String?)] {
        try rows(
            """
            SELECT key, CASE WHEN host_id IS NOT NULL THEN coalesce(source_url, key) END AS source_url
            FROM avatar WHERE file_id = ? ORDER BY id
            """,
            [id]
        ) { (AvatarKey(stored: $0.text("key")), $0.optionalText("source_url")) }
    }

    /// Publishes `file`, whose `id` is ignored, and returns its row id.
    ///
    /// - Parameter hasMetadata: whether it holds metadata; `nil` if that is not known.
    package func insertFile(
        _ file: FileRecord,
        sha256: [UInt8],
        hasMetadata: Bool?,
        lastAccessMicroseconds: Int64
    ) throws -> Int64 {
        // FAIL: every error ends the whole transaction, so SQLite need not be able to undo this statement and its triggers alone.
        try run(
            KeepsHits(
                """
                INSERT OR FAIL INTO file (
                    storage_class, sha256, path, size_bytes, media_type, width, height, last_access_us, has_metadata
                ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
            ),
            [
                file.storageClass.code, sha256, file.path, file.sizeBytes, file.mediaType, file.width, file.height,
                lastAccessMicroseconds, hasMetadata.map { Int64($0 ? 1 : 0) },
            ]
        )
        totals.addFile(file.storageClass, bytes: file.sizeBytes)
        memory.noteChange(of: sha256)
        return lastInsertedRowID
    }

    /// Publishes `file` in place of the file `damaged`, which was stored with the same digest. The entries that use the
    /// damaged file use the new one, and keep their validators and times.
    ///
    /// - Returns: the row id, and the damaged file, which is now pending for `holder`.
    package func insertFile(
        _ file: FileRecord,
        sha256: [UInt8],
        hasMetadata: Bool?,
        lastAccessMicroseconds: Int64,
        inPlaceOf damaged: Int64,
        holder: String
    ) throws -> (id: Int64, retired: PendingFile?) {
        let users = try rows("SELECT id FROM avatar WHERE file_id = ?", [damaged]) { $0.integer("id") }
        // The row of a file does not change, and no second one may have its digest.
        try run(ChangesHits("UPDATE avatar SET file_id = NULL WHERE file_id = ?"), [damaged])
        let retired = try retireFile(id: damaged, absence: nil, holder: holder)
        let id = try insertFile(
            file,
            sha256: sha256,
            hasMetadata: hasMetadata,
            lastAccessMicroseconds: lastAccessMicroseconds
        )
        for user in users { try run(ChangesHits("UPDATE avatar SET file_id = ? WHERE id = ?"), [id, user]) }
        return (id, retired)
    }

    /// Records whether the file holds metadata. Does nothing if it is no longer published.
    package func setHasMetadata(_ hasMetadata: Bool, ofFile id: Int64) throws {
        try run(KeepsHits("UPDATE file SET has_metadata = ? WHERE id = ?"), [Int64(hasMetadata ? 1 : 0), id])
    }

    /// Removes the file's row and names the file as pending for `holder`, which unlinks it after the commit.
    ///
    /// - Parameter absence: why the entries that used it have no file now; they lose their validators too. `nil` if no
    ///   entry uses it.
    /// - Returns: the pending file; `nil` if no file has this id.
    package func retireFile(id: Int64, absence: Absence?, holder: String) throws -> PendingFile? {
        let found = try firstRow("SELECT storage_class, path, size_bytes, sha256 FROM file WHERE id = ?", [id]) { row in
            (file: PendingFile(row, holder: holder), sha256: row.blob("sha256"))
        }
        guard let found else { return nil }
        try retireRenditions(of: "[\(id)]", holder: holder)
        if let absence {
            try run(
                ChangesHits(
                    """
                    UPDATE avatar SET file_id = NULL, absence = ?, absent_sha256 = ?, etag = NULL, last_modified = NULL
                    WHERE file_id = ?
                    """
                ),
                [absence.rawValue, found.sha256, id]
            )
        }
        try deleteFile(id: id)
        try addPending(found.file)
        return found.file
    }

    /// Removes the rows of several files, as `retireFile`, and names all of the files in one pending row.
    ///
    /// - Parameter absence: why the entries that used them have no file now.
    /// - Returns: the pending row; `nil` if no file has one of the ids.
    package func retireFiles(ids: [Int64], absence: Absence, holder: String) throws -> PendingBatch? {
        guard !ids.isEmpty else { return nil }
        let list = "[" + ids.map(String.init).joined(separator: ",") + "]"
        try retireRenditions(of: list, holder: holder)
        try run(
            ChangesHits(
                """
                UPDATE avatar SET file_id = NULL, absence = ?,
                    absent_sha256 = (SELECT sha256 FROM file WHERE file.id = avatar.file_id), etag = NULL,
                    last_modified = NULL
                WHERE file_id IN (SELECT value FROM json_each(?))
                """
            ),
            [absence.rawValue, list]
        )
        // All rows are read: SQLite checks the foreign keys behind the last one.
        let retired = try rows(
            """
            DELETE FROM file WHERE id IN (SELECT value FROM json_each(?))
            RETURNING storage_class, path, size_bytes, sha256
            """,
            [list]
        ) { row in
            memory.noteChange(of: row.blob("sha256"))
            return PendingFile(row, holder: holder)
        }
        for file in retired { totals.dropFiles(file.storageClass, bytes: file.sizeBytes) }
        return try addPending(retired, of: holder)
    }

    /// Retires the file if no entry uses it any more, and it is not the rendition of another file.
    package func retireFileIfUnused(id: Int64, holder: String) throws -> PendingFile? {
        // A small PNG may be its own rendition. That does not count as a use.
        let isUsed = try hasRow(
            """
            SELECT 1 FROM avatar WHERE file_id = ?1
            UNION ALL SELECT 1 FROM rendition WHERE file_id = ?1 AND original_id <> ?1 LIMIT 1
            """,
            [id]
        )
        return isUsed ? nil : try retireFile(id: id, absence: nil, holder: holder)
    }
}

// MARK: Repair

extension IndexTransaction {
    /// Removes the file's row and keeps the file at its path: the row was wrong, not the file. Deletes its renditions.
    package func forgetFile(id: Int64, holder: String) throws {
        try retireRenditions(of: "[\(id)]", holder: holder)
        try run(
            ChangesHits(
                """
                UPDATE avatar SET file_id = NULL, absence = 'missing',
                    absent_sha256 = (SELECT sha256 FROM file WHERE id = ?1), etag = NULL, last_modified = NULL
                WHERE file_id = ?1
                """
            ),
            [id]
        )
        try deleteFile(id: id)
    }

    /// Deletes the row of a file that no entry uses.
    func deleteFile(id: Int64) throws {
        // All rows are read: SQLite checks the foreign keys behind the last one.
        let deleted = try rows("DELETE FROM file WHERE id = ? RETURNING storage_class, size_bytes, sha256", [id]) {
            row in
            (
                storageClass: StorageClass(code: row.integer("storage_class")), bytes: row.bytes("size_bytes"),
                sha256: row.blob("sha256")
            )
        }
        for file in deleted {
            totals.dropFiles(file.storageClass, bytes: file.bytes)
            memory.noteChange(of: file.sha256)
        }
    }
}

extension AvatarStoreError {
    /// The table of totals has no row for a class.
    static let lostTotals = AvatarStoreError(
        .damagedIndex,
        "The index has lost its totals. Run `avatars verify --repair`."
    )
}
