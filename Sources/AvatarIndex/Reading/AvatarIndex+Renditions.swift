package import AvatarCore
import AvatarSQLite

/// The record that no rendition of a file could be made.
package struct UndecodableFile: Hashable, Sendable {
    /// The version of the decoder that failed.
    package let decoderVersion: Int
    /// How often the decoder ended while it decoded the file.
    package let deaths: Int
    /// The reason, as a sentence.
    package let reason: String
}

extension AvatarIndex {
    /// The hit for the rendition `spec` of the image stored for `key`; `nil` if it is not made.
    ///
    /// It is cached like the hit of the image, and invalidated when the entry gets another file.
    ///
    /// - Parameter original: the row id of the image's file. A rendition of an earlier image of the entry does not count.
    package func hit(for key: AvatarKey, rendition spec: String, of original: Int64) throws -> IndexHit? {
        let hit = hits.hit(for: Self.name(of: key, spec))
        return try hit?.originalID == original ? hit : hitInFile(for: key, rendition: spec, of: original)
    }

    /// As `hit(for:rendition:of:)`, without the cache.
    package func hitInFile(for key: AvatarKey, rendition spec: String, of original: Int64) throws -> IndexHit? {
        let hit = try lookUp(key, spec)
        return hit?.originalID == original ? hit : nil
    }

    private func lookUp(_ key: AvatarKey, _ spec: String) throws -> IndexHit? {
        let name = Self.name(of: key, spec)
        return try readers.lookUp { connection in
            var hit: IndexHit?
            try connection.forEachRow(Self.renditionHitSQL, [key.rawValue, spec]) { row in
                hit = IndexHit(row, of: name, isRendition: true)
                return false
            }
            return hit
        } _: { [hits] connection, hit, state in
            if let hit, let state, let walIndex = connection.walIndex { hits.keep(hit, in: walIndex, state) }
        }
    }

    /// The name of a rendition in the hit cache. No key contains NUL, so the name is unique.
    private static func name(of key: AvatarKey, _ spec: String) -> AvatarKey {
        AvatarKey(stored: key.rawValue + "\u{0}" + spec)
    }

    /// The query of a rendition. Its parameters are the key and the spec.
    static let renditionHitSQL = """
        SELECT \(FileRecord.columns), avatar.fresh_until_ms, avatar.is_low_data, avatar.thumb_hash, avatar.id AS entry_id,
            rendition.original_id
        FROM avatar JOIN rendition ON rendition.original_id = avatar.file_id JOIN file ON file.id = rendition.file_id
        WHERE avatar.key = ? AND rendition.spec = ?
        """

    /// The record that no rendition of the file could be made; `nil` without one.
    package func undecodable(_ file: Int64) throws -> UndecodableFile? {
        try readers.read { connection in
            try connection.firstRow("SELECT decoder_version, deaths, reason FROM undecodable WHERE file_id = ?", [file])
            {
                UndecodableFile(
                    decoderVersion: $0.count("decoder_version"),
                    deaths: $0.count("deaths"),
                    reason: $0.text("reason")
                )
            }
        }
    }

    /// The number of renditions, and the sum of the bytes of their files.
    package func renditionTotal() throws -> (count: Int, bytes: Int) {
        try readers.read { connection in
            let row = try connection.firstRow(
                """
                SELECT (SELECT count(*) FROM rendition) AS number,
                    (SELECT coalesce(sum(size_bytes), 0) FROM file WHERE id IN (SELECT file_id FROM rendition)) AS bytes
                """,
                []
            ) { ($0.count("number"), $0.sum("bytes")) }
            return row ?? (0, 0)
        }
    }
}
