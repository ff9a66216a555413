import AvatarCore
import AvatarSQLite

/// Renditions in a write transaction. Each is a file of `caches` with a row in `rendition`. Foreign keys delete the row with
/// the original or the file.
extension IndexTransaction {
    /// Records that `file` is the rendition `spec` of the file `original`. Does nothing if one is recorded already.
    package func insertRendition(_ spec: String, of original: Int64, file: Int64) throws {
        try run(
            KeepsHits("INSERT INTO rendition (original_id, spec, file_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"),
            [original, spec, file]
        )
    }

    /// Records the ThumbHash of the file for all entries that use it.
    package func setThumbHash(_ hash: [UInt8], ofFile id: Int64) throws {
        try run(
            ChangesHits("UPDATE avatar SET thumb_hash = ?1 WHERE file_id = ?2 AND thumb_hash IS NOT ?1"),
            [hash, id]
        )
    }

    /// Copies the ThumbHash of the other entries of a file to an entry.
    package func shareThumbHash(ofFile file: Int64, with id: Int64) throws {
        // Either all of them have it or none of them, so reading one suffices.
        try run(
            ChangesHits(
                """
                UPDATE avatar SET thumb_hash = (SELECT thumb_hash FROM avatar WHERE file_id = ?1 AND id <> ?2 LIMIT 1)
                WHERE id = ?2
                """
            ),
            [file, id]
        )
    }

    /// Records that no rendition of the file could be made, if the file is still published.
    ///
    /// - Parameter isDeath: whether the decoder ended while it decoded the file.
    package func noteUndecodable(_ file: Int64, decoder version: Int, isDeath: Bool, reason: String) throws {
        guard try hasRow("SELECT 1 FROM file WHERE id = ?", [file]) else { return }
        try run(
            KeepsHits(
                """
                INSERT INTO undecodable (file_id, decoder_version, deaths, reason) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT (file_id) DO UPDATE SET
                    deaths = CASE WHEN ?3 AND decoder_version = ?2 THEN deaths + 1 ELSE ?3 END,
                    decoder_version = ?2, reason = ?4
                """
            ),
            [file, Int64(version), Int64(isDeath ? 1 : 0), reason]
        )
    }

    /// Deletes the record of earlier failures, because a rendition of the file was made.
    package func forgetUndecodable(_ file: Int64) throws {
        try run(KeepsHits("DELETE FROM undecodable WHERE file_id = ?"), [file])
    }

    /// Deletes the renditions of originals; call it before deleting the rows of the originals. Files without another use become
    /// pending for `holder`, which deletes them after the commit (`retiredRenditions`).
    ///
    /// - Parameter originals: the row ids, as a JSON array.
    func retireRenditions(of originals: String, holder: String) throws {
        let files = try rows(
            """
            SELECT file_id FROM rendition
            WHERE original_id IN (SELECT value FROM json_each(?1)) AND file_id NOT IN (SELECT value FROM json_each(?1))
            """,
            [originals]
        ) { $0.integer("file_id") }
        guard !files.isEmpty else { return }
        // Delete the rows first: a rendition may be the original of another one, and two files may be renditions of each other.
        try run(KeepsHits("DELETE FROM rendition WHERE original_id IN (SELECT value FROM json_each(?))"), [originals])
        for id in Set(files) {
            guard let file = try retireFileIfUnused(id: id, holder: holder) else { continue }
            memory.retiredRenditions.append(file)
        }
    }

    /// The bytes of the files that `forEachRendition` walks. Reads a row for each.
    package func renditionBytes() throws -> Int {
        try firstRow("SELECT coalesce(sum(size_bytes), 0) AS bytes FROM (\(SharedSQL.renditionSQL))") {
            $0.sum("bytes")
        }
            ?? 0
    }

    /// Walks the files of renditions from the least recently used on, until `visit` returns false. The file of an entry is an
    /// original, even if it is also a rendition.
    ///
    /// Sorts the times of all renditions. `visit` must not change any file.
    package func forEachRendition(_ visit: (EvictionCandidate) throws -> Bool) throws {
        try forEachRow(SharedSQL.orderedRenditionSQL, []) { try visit(EvictionCandidate($0)) }
    }

    /// The files of renditions that this transaction made pending together with their originals.
    package var retiredRenditions: [PendingFile] { memory.retiredRenditions }

    /// Deletes all renditions from the copy of an index. Their files are not copied; the store makes them again on request.
    func forgetRenditions() throws {
        try run(
            KeepsHits(
                """
                DELETE FROM file WHERE id IN (SELECT file_id FROM rendition)
                    AND NOT EXISTS (SELECT 1 FROM avatar WHERE avatar.file_id = file.id)
                """
            )
        )
        try run(KeepsHits("DELETE FROM rendition"))
    }
}
