package import AvatarCore
import AvatarSQLite

extension AvatarIndex {
    /// The file stored for `key`; `nil` if no entry with a file has the key.
    ///
    /// This is the hot path of reads. It takes the hit from memory, or else one descent of the index on `avatar.key`
    /// and two lookups by row id.
    ///
    /// - Throws: an error of the index.
    package func hit(for key: AvatarKey) throws -> IndexHit? {
        try hits.hit(for: key) ?? hitInFile(for: key)
    }

    /// The hit in memory for `key`; `nil` if it does not exist, whatever the index holds.
    package func rememberedHit(for key: AvatarKey) -> IndexHit? {
        hits.hit(for: key)
    }

    /// The file stored for `key`, always looked up in the index.
    package func hitInFile(for key: AvatarKey) throws -> IndexHit? {
        try readers.hit(for: key) { hits.keep($0, in: $1, $2) }
    }

    /// The entry for `key` in full; `nil` if it does not exist.
    package func entry(for key: AvatarKey) throws -> AvatarEntry? {
        try readers.lookUp { connection in
            try connection.firstRow(Self.entryByKeySQL, text: key.rawValue) { AvatarEntry($0) }
        }
    }

    /// The ThumbHash of the image of `key`, even while its file is evicted; `nil` without one.
    package func thumbHash(for key: AvatarKey) throws -> [UInt8]? {
        try readers.lookUp { connection in
            try connection.firstRow(Self.thumbHashSQL, text: key.rawValue) { $0.optionalBlob("thumb_hash") } ?? nil
        }
    }

    /// The query of `thumbHash(for:)`. Its parameter is the key.
    static let thumbHashSQL = "SELECT thumb_hash FROM avatar WHERE key = ?"

    /// The state of the index that a fetch of the image of `key` is based on, in one query.
    ///
    /// - Parameters:
    ///   - seen: the entry as it was seen before; `nil`: it did not exist.
    ///   - host: name and port of the host to be asked; `nil`: its health is not wanted.
    package func fetchBasis(of seen: AvatarEntry?, for key: AvatarKey, host: String?) throws -> FetchBasis {
        let basis = try readers.lookUp { connection in
            try connection.firstRow(FetchBasis.sql, [key.rawValue, host]) { FetchBasis($0, seen) }
        }
        // The query has one row, whatever the tables hold.
        return basis ?? FetchBasis(isUnchanged: seen == nil, isPartial: false, health: HostHealth())
    }

    /// The entries for `keys` as one state of the index, in the order of the keys; `nil` for a key without an entry.
    package func entries(for keys: [AvatarKey]) throws -> [AvatarEntry?] {
        try readers.read { connection in
            try connection.snapshot {
                try keys.map { key in
                    try connection.firstRow(Self.entryByKeySQL, text: key.rawValue) { AvatarEntry($0) }
                }
            }
        }
    }

    /// All columns of entries and their files. A condition follows.
    static let entrySQL = "SELECT \(entryColumns) FROM \(entryTables) "

    /// The query of one entry. Its parameter is the key.
    static let entryByKeySQL = entrySQL + "WHERE avatar.key = ?"

    /// The columns that `AvatarEntry.init(_:)` reads.
    static let entryColumns = """
        \(FileRecord.columns), file.sha256, access.last_access_us,
            avatar.id AS entry_id, avatar.key, avatar.host_id IS NULL AS is_own, avatar.source_url, avatar.storage_class,
            avatar.absence, avatar.absent_sha256, avatar.etag, avatar.last_modified, avatar.response_fields,
            avatar.response_ms, avatar.response_delay_ms, avatar.fetched_ms, avatar.checked_ms, avatar.fresh_until_ms,
            avatar.next_check_ms, avatar.failure, avatar.failure_message, avatar.failure_count, avatar.low_data_url,
            avatar.is_low_data
        """

    /// The tables that have `entryColumns`.
    static let entryTables = """
        avatar LEFT JOIN file ON file.id = avatar.file_id LEFT JOIN access ON access.file_id = avatar.file_id
        """
}

/// The state of the index that a fetch of one image is based on.
package struct FetchBasis: Sendable {
    /// Whether the entry was neither requested again nor given another file since it was seen.
    package let isUnchanged: Bool
    /// Whether there is an interrupted download of the image.
    package let isPartial: Bool
    /// The health of the host; that of a new host if it was not wanted.
    package let health: HostHealth

    /// The query. Its parameters are the key and the host.
    static let sql = """
        SELECT avatar.id, avatar.checked_ms, avatar.file_id,
            EXISTS (SELECT 1 FROM partial_download WHERE key = ?1) AS is_partial, host.id AS host_id, \(HostHealth.columns)
        FROM (SELECT 1) LEFT JOIN avatar ON avatar.key = ?1 LEFT JOIN host ON host.name = ?2
        """

    fileprivate init(isUnchanged: Bool, isPartial: Bool, health: HostHealth) {
        (self.isUnchanged, self.isPartial, self.health) = (isUnchanged, isPartial, health)
    }

    /// The basis in a row of `sql`, compared with the entry as it was `seen`.
    fileprivate init(_ row: borrowing Row, _ seen: AvatarEntry?) {
        let isUnchanged =
            if row.optionalInteger("id") == nil {
                seen == nil
            } else if let seen {
                row.timestamp("checked_ms") == seen.validation.checked
                    && row.optionalInteger("file_id") == seen.file?.id
            } else {
                false
            }
        self.init(
            isUnchanged: isUnchanged,
            isPartial: row.bool("is_partial"),
            health: row.optionalInteger("host_id") == nil ? HostHealth() : HostHealth(row)
        )
    }
}

// MARK: Interrupted downloads

extension AvatarIndex {
    /// The interrupted download of the image for `key`; `nil` if it does not exist.
    package func partialDownload(of key: AvatarKey) throws -> PartialRecord? {
        try readers.lookUp { connection in
            try connection.firstRow(PartialRecord.sql, text: key.rawValue) { PartialRecord($0) }
        }
    }

    /// All interrupted downloads, the oldest first.
    package func partialDownloads() throws -> [PartialRecord] {
        try readers.read { connection in
            try connection.rows("SELECT \(PartialRecord.columns) FROM partial_download ORDER BY updated_ms") {
                PartialRecord($0)
            }
        }
    }
}
