package import AvatarCore
import AvatarSQLite

/// An ignored image.
package struct IgnoredRecord: Sendable {
    /// The digest of its bytes.
    package let sha256: [UInt8]
    /// The time since which it is ignored.
    package let since: Timestamp
    /// The number of entries whose host last sent it.
    package let entries: Int
    /// The number of links of contacts to these entries.
    package let contacts: Int
}

/// The number of entries and files affected by ignoring an image.
package struct IgnoredPart: Sendable {
    /// The entries that would lose it, or have lost it.
    package var entries = 0
    /// The links of contacts to these entries.
    package var contacts = 0
    /// The files that no other entry needs.
    package var files = 0
    /// The bytes of these files.
    package var bytes = 0
}

extension AvatarIndex {
    /// Whether the image with the digest `sha256` is ignored.
    package func isIgnored(_ sha256: [UInt8]) throws -> Bool {
        try readers.read { try $0.hasRow("SELECT 1 FROM ignored_picture WHERE sha256 = ?", [sha256]) }
    }

    /// The digests of all ignored images.
    package func ignoredDigests() throws -> Set<[UInt8]> {
        try readers.read { Set(try $0.rows("SELECT sha256 FROM ignored_picture") { $0.blob("sha256") }) }
    }

    /// The ignored images that some entries may still have, because a process was killed or is still removing them.
    package func incompletelyIgnored() throws -> [[UInt8]] {
        try readers.read { connection in
            try connection.rows("SELECT sha256 FROM ignored_picture WHERE NOT is_complete") { $0.blob("sha256") }
        }
    }

    /// A digest that entries ignore although it is not in the list; `nil` without one. It remains if a backup is made, or
    /// `ignore` is undone, while another process ignores the image.
    ///
    /// Each step looks up the next digest in the index `avatar_ignored`, so the cost does not depend on the number of entries.
    package func digestIgnoredInVain() throws -> [UInt8]? {
        try readers.read { connection in
            try connection.firstRow(
                """
                WITH RECURSIVE ignored (digest) AS (
                    SELECT min(absent_sha256) FROM avatar WHERE absence = 'ignored'
                    UNION ALL
                    SELECT (SELECT min(absent_sha256) FROM avatar WHERE absence = 'ignored' AND absent_sha256 > digest)
                    FROM ignored WHERE digest IS NOT NULL
                )
                SELECT digest FROM ignored
                WHERE digest IS NOT NULL AND digest NOT IN (SELECT sha256 FROM ignored_picture) LIMIT 1
                """
            ) { $0.blob("digest") }
        }
    }

    /// All ignored images, in the order of their digests.
    package func ignoredImages() throws -> [IgnoredRecord] {
        try readers.read { connection in
            try connection.rows(Self.ignoredSQL) { row in
                IgnoredRecord(
                    sha256: row.blob("sha256"),
                    since: Timestamp(milliseconds: row.integer("since_ms")),
                    entries: row.count("entries"),
                    contacts: row.count("contacts")
                )
            }
        }
    }

    /// The digests of stored and ignored images from `low` through `high`; at most `limit` of each kind.
    package func digests(from low: [UInt8], through high: [UInt8], limit: Int) throws -> Set<[UInt8]> {
        try readers.read { connection in
            var found: Set<[UInt8]> = []
            for storageClass in StorageClass.allCases {
                let stored = "SELECT sha256 FROM file WHERE storage_class = ? AND sha256 BETWEEN ? AND ? LIMIT ?"
                found.formUnion(
                    try connection.rows(stored, [storageClass.code, low, high, limit]) { $0.blob("sha256") }
                )
            }
            let ignored = "SELECT sha256 FROM ignored_picture WHERE sha256 BETWEEN ? AND ? LIMIT ?"
            return found.union(try connection.rows(ignored, [low, high, limit]) { $0.blob("sha256") })
        }
    }

    /// The entries that lost the image's file to an eviction or a purge and remember its digest. Own images, and entries that
    /// ignore the image already, are left out.
    ///
    /// No index covers this, so it reads all entries.
    package func entriesRemembering(_ sha256: [UInt8]) throws -> [(id: Int64, key: AvatarKey)] {
        try readers.read { connection in
            try connection.rows(
                """
                SELECT id, key FROM avatar
                WHERE absent_sha256 = ? AND file_id IS NULL AND absence IS NOT 'ignored' AND \(SharedSQL.isIgnorable)
                """,
                [sha256]
            ) { (id: $0.integer("id"), key: AvatarKey(stored: $0.text("key"))) }
        }
    }

    /// The number of entries, files and bytes that ignoring the image would remove. Reads all entries.
    package func partToIgnore(_ sha256: [UInt8]) throws -> IgnoredPart {
        try readers.read { connection in
            try connection.snapshot {
                var part = IgnoredPart()
                let entries = """
                    SELECT count(*) AS entries, coalesce(sum(\(Self.contactCount)), 0) AS contacts FROM avatar
                    """
                let stored = "WHERE file_id IN (\(Self.filesWithDigest)) AND \(SharedSQL.isIgnorable)"
                let remembered =
                    "WHERE absent_sha256 = ? AND file_id IS NULL AND absence IS NOT 'ignored' AND \(SharedSQL.isIgnorable)"
                for condition in [stored, remembered] {
                    try connection.forEachRow("\(entries) \(condition)", [sha256]) { row in
                        part.entries += row.count("entries")
                        part.contacts += row.count("contacts")
                        return true
                    }
                }
                let files = """
                    SELECT count(*) AS files, coalesce(sum(size_bytes), 0) AS bytes FROM file
                    WHERE id IN (\(Self.filesWithDigest)) AND NOT EXISTS (
                        SELECT 1 FROM avatar WHERE avatar.file_id = file.id AND NOT (\(SharedSQL.isIgnorable)))
                    """
                try connection.forEachRow(files, [sha256]) { row in
                    part.files = row.count("files")
                    part.bytes = row.sum("bytes")
                    return true
                }
                return part
            }
        }
    }

    /// The number of entries that ignore the image; `nil` if it is not ignored.
    package func ignoredPart(_ sha256: [UInt8]) throws -> IgnoredPart? {
        try readers.read { connection in
            try connection.firstRow(
                "SELECT * FROM (\(Self.ignoredSQL)) WHERE sha256 = ?",
                [sha256]
            ) { IgnoredPart(entries: $0.count("entries"), contacts: $0.count("contacts")) }
        }
    }

    /// The files with a digest. Its parameter is the digest.
    private static let filesWithDigest = "SELECT id FROM file WHERE storage_class IN (0, 1) AND sha256 = ?"

    /// The number of contacts of an entry.
    private static let contactCount = "(SELECT count(*) FROM owner WHERE owner.avatar_id = avatar.id)"

    /// The query of `ignoredImages()`.
    private static let ignoredSQL = """
        SELECT
            sha256, since_ms,
            (SELECT count(*) FROM avatar WHERE absence = 'ignored' AND absent_sha256 = sha256) AS entries,
            (
                SELECT coalesce(sum(\(contactCount)), 0) FROM avatar
                WHERE absence = 'ignored' AND absent_sha256 = sha256
            ) AS contacts
        FROM ignored_picture ORDER BY sha256
        """
}
