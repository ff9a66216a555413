package import AvatarCore
package import Synchronization

/// What a hit needs of an entry that has a file.
package final class IndexHit: Sendable {
    package let key: AvatarKey
    package let entryID: Int64
    package let file: FileRecord
    /// `nil` for an own image, which is always fresh.
    package let freshUntil: Timestamp?
    /// Whether the file is the smaller image for constrained networks.
    package let isLowData: Bool
    /// Whether its key is a URL.
    package let isURL: Bool
    /// When it was last used, in microseconds, if that is not written yet; else 0. Whoever records uses sets it.
    package let unwrittenUse = Atomic<Int64>(0)

    init(_ row: borrowing Statement.Row, of key: AvatarKey) {
        self.key = key
        isURL = key.isURL
        file = FileRecord(row, from: 0)
        freshUntil = row.timestamp(7)
        isLowData = row.integer(8) != 0
        entryID = row.integer(9)
    }
}

extension AvatarIndex {
    /// The file stored for `key`: the hot path. From memory, or one descent of the index on `avatar.key` and two look-ups
    /// by row id.
    package func hit(for key: AvatarKey) throws -> IndexHit? {
        try hits.hit(for: key) ?? hitInFile(for: key)
    }

    /// What is in memory for `key`; `nil` if nothing is, whatever the index holds.
    package func rememberedHit(for key: AvatarKey) -> IndexHit? {
        hits.hit(for: key)
    }

    /// The file stored for `key`, looked up whatever is in memory.
    package func hitInFile(for key: AvatarKey) throws -> IndexHit? {
        try readers.hit(for: key) { hits.keep($0, in: $1, $2) }
    }

    static let hitSQL = """
        SELECT file.id, file.storage_class, file.path, file.size_bytes, file.media_type, file.width, file.height,
            avatar.fresh_until_ms, avatar.is_low_data, avatar.id
        FROM avatar JOIN file ON file.id = avatar.file_id
        WHERE avatar.key = ?
        """

    /// The entry for `key` in full.
    package func entry(for key: AvatarKey) throws -> AvatarEntry? {
        try readers.read { connection in
            try connection.statement(Self.entrySQL + "WHERE avatar.key = ?").firstRow(text: key.rawValue) { row in
                AvatarEntry(row)
            }
        }
    }

    /// The entry for `key` in full, and whether a download of its image broke off and can go on.
    package func entryToFetch(for key: AvatarKey) throws -> (entry: AvatarEntry, isPartial: Bool)? {
        try readers.read { connection in
            try connection.statement(Self.entryToFetchSQL).firstRow(text: key.rawValue) { row in
                (AvatarEntry(row), row.integer(28) != 0)
            }
        }
    }

    /// The entries for `keys` as one state of the index, in the order of the keys; `nil` where there is none.
    package func entries(for keys: [AvatarKey]) throws -> [AvatarEntry?] {
        try readers.read { connection in
            try connection.snapshot {
                let statement = try connection.statement(Self.entrySQL + "WHERE avatar.key = ?")
                return try keys.map { key in
                    try statement.firstRow(text: key.rawValue) { AvatarEntry($0) }
                }
            }
        }
    }

    /// All columns of an entry and its file, in the order that `AvatarEntry.init(_:)` reads them.
    static let entrySQL = "SELECT \(entryColumns) FROM \(entryTables) "

    static let entryToFetchSQL = """
        SELECT \(entryColumns), EXISTS (SELECT 1 FROM partial_download WHERE partial_download.key = avatar.key)
        FROM \(entryTables) WHERE avatar.key = ?
        """

    private static let entryColumns = """
        file.id, file.storage_class, file.path, file.size_bytes, file.media_type, file.width, file.height,
            avatar.id, avatar.key, avatar.host_id IS NULL, avatar.source_url, avatar.storage_class, file.sha256,
            file.last_access_us, avatar.absence, avatar.etag, avatar.last_modified, avatar.response_fields,
            avatar.response_ms, avatar.response_delay_ms, avatar.fetched_ms, avatar.checked_ms, avatar.fresh_until_ms,
            avatar.next_check_ms, avatar.failure, avatar.failure_count, avatar.low_data_url, avatar.is_low_data
        """

    private static let entryTables = "avatar LEFT JOIN file ON file.id = avatar.file_id"
}

extension FileRecord {
    /// The file in seven columns from `column` on.
    init(_ row: borrowing Statement.Row, from column: Int32) {
        self.init(
            id: row.integer(column),
            storageClass: StorageClass(code: row.integer(column + 1)),
            path: row.text(column + 2),
            sizeBytes: Int(row.integer(column + 3)),
            mediaType: row.text(column + 4),
            width: Int(row.integer(column + 5)),
            height: Int(row.integer(column + 6))
        )
    }
}

extension AvatarEntry {
    /// The entry in the columns of `AvatarIndex.entrySQL`.
    init(_ row: borrowing Statement.Row) {
        let key = AvatarKey(stored: row.text(8))
        let isOwn = row.integer(9) != 0
        self.init(
            id: row.integer(7),
            key: key,
            sourceURL: isOwn ? nil : row.optionalText(10) ?? key.rawValue,
            storageClass: StorageClass(code: row.integer(11)),
            file: row.isNull(0) ? nil : FileRecord(row, from: 0),
            sha256: row.optionalBlob(12),
            lastAccessMicroseconds: row.optionalInteger(13),
            absence: row.optionalText(14).flatMap(Absence.init(rawValue:)),
            validation: ValidationRecord(row, from: 15),
            lowDataURL: row.optionalText(26),
            isLowData: row.integer(27) != 0
        )
    }
}

extension ValidationRecord {
    fileprivate init(_ row: borrowing Statement.Row, from column: Int32) {
        self.init()
        etag = row.optionalText(column)
        lastModified = row.optionalText(column + 1)
        responseFields = row.optionalText(column + 2)
        response = row.timestamp(column + 3)
        responseDelayMilliseconds = row.integer(column + 4)
        fetched = row.timestamp(column + 5)
        checked = row.timestamp(column + 6)
        freshUntil = row.timestamp(column + 7)
        nextCheck = row.timestamp(column + 8)
        failure = row.optionalText(column + 9).map(FailureKind.init(rawValue:))
        failureCount = Int(row.integer(column + 10))
    }
}

extension Statement.Row {
    func timestamp(_ column: Int32) -> Timestamp? {
        optionalInteger(column).map(Timestamp.init(milliseconds:))
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
