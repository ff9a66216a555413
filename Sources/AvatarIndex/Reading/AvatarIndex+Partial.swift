package import AvatarCore

extension AvatarIndex {
    /// What came of the image for `key` before its download was interrupted.
    package func partialDownload(of key: AvatarKey) throws -> PartialRecord? {
        try readers.read { connection in
            try connection.firstRow(
                "SELECT \(PartialRecord.columns) FROM partial_download WHERE key = ?",
                [.text(key.rawValue)]
            ) { PartialRecord($0) }
        }
    }

    /// All interrupted downloads, the oldest first.
    package func partialDownloads() throws -> [PartialRecord] {
        try readers.read { connection in
            try connection.rows(
                "SELECT \(PartialRecord.columns) FROM partial_download ORDER BY updated_ms",
                []
            ) { PartialRecord($0) }
        }
    }
}

extension PartialRecord {
    fileprivate init(_ row: borrowing Statement.Row) {
        self.init(
            key: AvatarKey(stored: row.text(0)),
            storageClass: StorageClass(code: row.integer(1)),
            name: row.text(2),
            url: row.text(3),
            etag: row.text(4),
            sizeBytes: Int(row.integer(5)),
            totalBytes: row.optionalInteger(6),
            updated: Timestamp(milliseconds: row.integer(7))
        )
    }
}
