package import AvatarCore
import AvatarSQLite
package import Synchronization

/// The part of an entry that a hit needs. The entry has a file.
package final class IndexHit: Sendable {
    /// The key that was looked up.
    package let key: AvatarKey
    /// The row id of the entry, by which the hit cache learns of changes.
    package let entryID: Int64
    /// The file's row.
    package let file: FileRecord
    /// When the image becomes stale; `nil` for an own image, which is always fresh.
    package let freshUntil: Timestamp?
    /// Whether the file is the smaller image for constrained networks.
    package let isLowData: Bool
    /// Whether its key is a URL.
    package let isURL: Bool
    /// The row id of the original's file if this file is a rendition; else `nil`.
    package let originalID: Int64?
    /// The ThumbHash of the picture; `nil` until a rendition is made.
    package let thumbHash: [UInt8]?
    /// When it was last used, in microseconds, if the index lacks that time; 0 otherwise. The recorder of uses sets it.
    package let unwrittenUse = Atomic<Int64>(0)
    /// The last use that was handed out to be written, in microseconds; 0 before the first. The recorder of uses sets it.
    package let writtenUse = Atomic<Int64>(0)

    /// The hit in a row of `AvatarIndex.hitSQL`.
    ///
    /// - Parameter isRendition: whether the row comes from `AvatarIndex.renditionHitSQL`. Default: false.
    init(_ row: borrowing Row, of key: AvatarKey, isRendition: Bool = false) {
        self.key = key
        originalID = isRendition ? row.integer("original_id") : nil
        isURL = key.isURL
        file = FileRecord(row)
        freshUntil = row.timestamp("fresh_until_ms")
        isLowData = row.bool("is_low_data")
        thumbHash = row.optionalBlob("thumb_hash")
        entryID = row.integer("entry_id")
    }
}

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

    /// The query of a hit. Its parameter is the key.
    static let hitSQL = """
        SELECT \(FileRecord.columns), avatar.fresh_until_ms, avatar.is_low_data, avatar.thumb_hash, avatar.id AS entry_id
        FROM avatar JOIN file ON file.id = avatar.file_id
        WHERE avatar.key = ?
        """

    /// The entry for `key` in full; `nil` if it does not exist.
    package func entry(for key: AvatarKey) throws -> AvatarEntry? {
        try readers.read { connection in
            try connection.firstRow(Self.entryByKeySQL, text: key.rawValue) { AvatarEntry($0) }
        }
    }

    /// The ThumbHash of the picture of `key`, even while its file is evicted; `nil` without one.
    package func thumbHash(for key: AvatarKey) throws -> [UInt8]? {
        try readers.lookUp { connection in
            try connection.firstRow(Self.thumbHashSQL, text: key.rawValue) { $0.optionalBlob("thumb_hash") } ?? nil
        }
    }

    /// The query of `thumbHash(for:)`. Its parameter is the key.
    static let thumbHashSQL = "SELECT thumb_hash FROM avatar WHERE key = ?"

    /// The entry for `key` in full, and whether an interrupted download of its image can be resumed.
    package func entryToFetch(for key: AvatarKey) throws -> (entry: AvatarEntry, isPartial: Bool)? {
        try readers.read { connection in
            try connection.firstRow(Self.entryToFetchSQL, text: key.rawValue) { row in
                (AvatarEntry(row), row.bool("is_partial"))
            }
        }
    }

    /// Whether the entry for `key` was neither requested again nor given another file since it was `seen` (`nil`: without
    /// an entry), and has no interrupted download. Takes half as long as `entryToFetch(for:)`.
    package func isUnchanged(_ seen: AvatarEntry?, for key: AvatarKey) throws -> Bool {
        try readers.lookUp { connection in
            let isUnchanged = try connection.firstRow(Self.changeSQL, text: key.rawValue) { row in
                guard let seen, !row.bool("is_partial") else { return false }
                return row.timestamp("checked_ms") == seen.validation.checked
                    && row.optionalInteger("file_id") == seen.file?.id
            }
            return isUnchanged ?? (seen == nil)
        }
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

    /// The query of one entry and its interrupted download. Its parameter is the key.
    static let entryToFetchSQL = """
        SELECT \(entryColumns), EXISTS (SELECT 1 FROM partial_download WHERE partial_download.key = avatar.key)
            AS is_partial
        FROM \(entryTables) WHERE avatar.key = ?
        """

    /// The query of `isUnchanged(_:for:)`. Its parameter is the key.
    static let changeSQL = """
        SELECT checked_ms, file_id, EXISTS (SELECT 1 FROM partial_download WHERE partial_download.key = avatar.key)
            AS is_partial
        FROM avatar WHERE avatar.key = ?
        """

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

// MARK: Interrupted downloads

extension AvatarIndex {
    /// The interrupted download of the image for `key`; `nil` if it does not exist.
    package func partialDownload(of key: AvatarKey) throws -> PartialRecord? {
        try readers.read { connection in
            try connection.firstRow(
                "SELECT \(PartialRecord.columns) FROM partial_download WHERE key = ?",
                [key.rawValue]
            ) { PartialRecord($0) }
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

// MARK: Rows

extension FileRecord {
    /// The columns of the table `file` that `init(_:)` reads, under names that no other table has.
    static let columns = """
        file.id AS file_row, file.storage_class AS file_class, file.path AS file_path, file.size_bytes AS file_bytes,
            file.media_type, file.width, file.height
        """

    /// The file in a row with `columns`.
    init(_ row: borrowing Row) {
        self.init(
            id: row.integer("file_row"),
            storageClass: StorageClass(code: row.integer("file_class")),
            path: row.text("file_path"),
            sizeBytes: row.bytes("file_bytes"),
            mediaType: row.text("media_type"),
            width: row.count("width"),
            height: row.count("height")
        )
    }
}

extension AvatarEntry {
    /// The entry in a row of `AvatarIndex.entrySQL`.
    convenience init(_ row: borrowing Row) {
        let key = AvatarKey(stored: row.text("key"))
        let absence = row.optionalText("absence").flatMap(Absence.init(rawValue:))
        self.init(
            id: row.integer("entry_id"),
            key: key,
            sourceURL: row.bool("is_own") ? nil : row.optionalText("source_url") ?? key.rawValue,
            storageClass: StorageClass(code: row.integer("storage_class")),
            file: row.isNull("file_row") ? nil : FileRecord(row),
            sha256: row.optionalBlob("sha256"),
            lastAccessMicroseconds: row.optionalInteger("last_access_us"),
            absence: absence,
            validation: ValidationRecord(row),
            lowDataURL: row.optionalText("low_data_url"),
            isLowData: row.bool("is_low_data"),
            ignoredSHA256: absence == .ignored ? row.optionalBlob("absent_sha256") : nil
        )
    }
}

extension ValidationRecord {
    /// The validators, times and failure in a row of `AvatarIndex.entrySQL`.
    fileprivate init(_ row: borrowing Row) {
        self.init()
        etag = row.optionalText("etag")
        lastModified = row.optionalText("last_modified")
        responseFields = row.optionalText("response_fields")
        response = row.timestamp("response_ms")
        responseDelayMilliseconds = row.integer("response_delay_ms")
        fetched = row.timestamp("fetched_ms")
        checked = row.timestamp("checked_ms")
        freshUntil = row.timestamp("fresh_until_ms")
        nextCheck = row.timestamp("next_check_ms")
        failure = row.optionalText("failure").map(FailureKind.init(rawValue:))
        failureMessage = row.optionalText("failure_message")
        failureCount = row.count("failure_count")
    }
}

extension Row {
    /// The time of a column in milliseconds; `nil` for NULL.
    func timestamp(_ name: StaticString) -> Timestamp? {
        optionalInteger(name).map(Timestamp.init(milliseconds:))
    }
}

extension StorageClass {
    /// The number that stands for the class in the index.
    var code: Int64 {
        switch self {
        case .caches: 0
        case .documents: 1
        }
    }

    /// The class that `code` stands for. The tables admit no other numbers than 0 and 1.
    init(code: Int64) {
        self = code == 0 ? .caches : .documents
    }
}
