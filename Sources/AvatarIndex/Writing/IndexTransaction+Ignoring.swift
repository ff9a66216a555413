package import AvatarCore
import AvatarSQLite

/// Ignored images, by the digests of their bytes.
///
/// An entry whose origin sends an ignored image has no file. Its column `absence` is 'ignored', and `absent_sha256` has the
/// digest. It keeps its validators, so it is revalidated like any other. An embedded photo has no origin, so its entry is
/// removed; the next sync of a list with the photo adds it again. An own image keeps its bytes, because the caller chose them.
extension IndexTransaction {
    // MARK: The list

    /// Whether the image with the digest `sha256` is ignored.
    ///
    /// Called for each image of a batch. Most stores ignore no image; whether this one does, a transaction knows (`rareRows`).
    package func isIgnored(_ sha256: [UInt8]) throws -> Bool {
        guard try rareRows().ignoresImages else { return false }
        return try hasRow("SELECT 1 FROM ignored_picture WHERE sha256 = ?", [sha256])
    }

    /// Ignores the image. `completeIgnoring` records that all entries have lost it.
    package func addIgnored(_ sha256: [UInt8], at time: Timestamp) throws {
        try run(
            KeepsHits(
                """
                INSERT INTO ignored_picture (sha256, since_ms) VALUES (?, ?)
                ON CONFLICT (sha256) DO UPDATE SET is_complete = 0
                """
            ),
            [sha256, time.milliseconds]
        )
        memory.rareRows?.ignoresImages = true
    }

    /// Records that all entries have lost the image.
    package func completeIgnoring(_ sha256: [UInt8]) throws {
        try run(KeepsHits("UPDATE ignored_picture SET is_complete = 1 WHERE sha256 = ?"), [sha256])
    }

    /// Stops ignoring the image.
    ///
    /// - Returns: whether it was ignored.
    package func removeIgnored(_ sha256: [UInt8]) throws -> Bool {
        try run(KeepsHits("DELETE FROM ignored_picture WHERE sha256 = ?"), [sha256])
        memory.rareRows = nil
        return changedRowCount > 0
    }

    // MARK: Entries

    /// At most `limit` entries that have the image's file, except own images.
    package func entries(withImage sha256: [UInt8], limit: Int) throws -> [(id: Int64, key: AvatarKey)] {
        try rows(
            """
            SELECT avatar.id, avatar.key FROM file JOIN avatar ON avatar.file_id = file.id
            WHERE file.storage_class IN (0, 1) AND file.sha256 = ? AND \(SharedSQL.isIgnorable) LIMIT ?
            """,
            [sha256, limit]
        ) { (id: $0.integer("id"), key: AvatarKey(stored: $0.text("key"))) }
    }

    /// Removes the image from an entry with an origin. The caller releases the file.
    ///
    /// - Parameter isEvicted: whether to do so only if the entry has no file and remembers this image. Default: false.
    /// - Returns: whether the entry changed.
    @discardableResult
    package func ignoreImage(_ sha256: [UInt8], of id: Int64, ifEvicted isEvicted: Bool = false) throws -> Bool {
        try noteContent(of: id)
        // An evicted entry is not due, and an ignored one is. Naming the column fires the trigger that lowers the due time of
        // the host.
        try run(
            ChangesHits(
                """
                UPDATE avatar SET file_id = NULL, absence = 'ignored', absent_sha256 = ?1, thumb_hash = NULL,
                    next_check_ms = next_check_ms
                WHERE id = ?2 AND (NOT ?3 OR file_id IS NULL AND absent_sha256 = ?1)
                """
            ),
            [sha256, id, isEvicted]
        )
        return changedRowCount > 0
    }

    /// Records that the origin sent an ignored image, which replaces the image of the entry.
    ///
    /// - Parameters:
    ///   - lowDataURL: the URL of the low-data image; `nil` leaves the column unchanged.
    ///   - isLowData: whether it is the low-data image.
    package func ignoreImage(
        _ sha256: [UInt8],
        of id: Int64,
        lowDataURL: String?,
        isLowData: Bool,
        _ validation: ValidationRecord
    ) throws {
        try ignoreImage(sha256, of: id)
        try run(
            ChangesHits("UPDATE avatar SET low_data_url = coalesce(?, low_data_url), is_low_data = ? WHERE id = ?"),
            [lowDataURL, isLowData, id]
        )
        try setValidation(validation, of: id)
    }

    /// At most `limit` entries that have no file because the image is ignored.
    package func entries(ignoring sha256: [UInt8], limit: Int) throws -> [Int64] {
        try rows("SELECT id FROM avatar WHERE absence = 'ignored' AND absent_sha256 = ? LIMIT ?", [sha256, limit]) {
            $0.integer("id")
        }
    }

    /// Changes an entry with an ignored image to one whose file is missing: without validators, and due at once.
    ///
    /// An entry that is never due stays that way, because no contact needs it.
    package func seekAgain(_ id: Int64, at time: Timestamp) throws {
        try run(
            KeepsHits(
                """
                UPDATE avatar SET absence = 'missing', absent_sha256 = NULL, etag = NULL, last_modified = NULL,
                    next_check_ms = CASE WHEN next_check_ms IS NOT NULL THEN ? END
                WHERE id = ? AND absence = 'ignored'
                """
            ),
            [time.milliseconds, id]
        )
    }

    /// The number of contacts that use the entry.
    package func contactCount(of id: Int64) throws -> Int {
        Int(try integer("SELECT count(*) FROM owner WHERE avatar_id = ?", [id]) ?? 0)
    }
}
