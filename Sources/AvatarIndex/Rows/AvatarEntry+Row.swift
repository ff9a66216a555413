import AvatarCore
import AvatarSQLite

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
