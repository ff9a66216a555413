package import AvatarCore
import AvatarSQLite

/// A published file, with the digest that its bytes must have.
package struct IndexedFile: Hashable, Sendable {
    /// The file's row.
    package let file: FileRecord
    /// The SHA-256 of the bytes that were stored.
    package let sha256: [UInt8]
    /// Whether an entry uses it.
    package let isUsed: Bool
    /// Whether it holds metadata; `nil` if no program has looked at it yet.
    package let hasMetadata: Bool?
}

// Reads of a verification. Each call sees the index in one state; between two calls other processes may change it.

extension AvatarIndex {
    /// The files whose digest begins with `byte`: the files of one of the 256 folders, except strays.
    package func files(of storageClass: StorageClass, digestByte byte: UInt8) throws -> [IndexedFile] {
        try readers.read { connection in
            try connection.rows(
                Self.indexedFileSQL + "WHERE storage_class = ? AND sha256 BETWEEN ? AND ? ORDER BY id",
                [storageClass.code, SharedSQL.firstDigest(byte), SharedSQL.lastDigest(byte)]
            ) { IndexedFile($0) }
        }
    }

    /// The lowest byte that begins the digest of a file and is at least `byte`; `nil` without such a file.
    package func firstDigestByte(of storageClass: StorageClass, from byte: UInt8) throws -> UInt8? {
        try readers.read { connection in
            try connection.firstRow(
                "SELECT sha256 FROM file WHERE storage_class = ? AND sha256 >= ? ORDER BY sha256 LIMIT 1",
                [storageClass.code, SharedSQL.firstDigest(byte)]
            ) { $0.blob("sha256") }?.first
        }
    }

    /// The files outside of the folder that their digest names.
    ///
    /// No index covers this, so it reads every file row of the class.
    package func strayFiles(of storageClass: StorageClass) throws -> [IndexedFile] {
        try readers.read { connection in
            try connection.rows(
                Self.indexedFileSQL
                    + "WHERE storage_class = ? AND substr(path, 1, 3) <> lower(hex(substr(sha256, 1, 1))) || '/' ORDER BY id",
                [storageClass.code]
            ) { IndexedFile($0) }
        }
    }

    /// The files at `path`; there should be one. Reads every file row of the class.
    package func files(at path: String, of storageClass: StorageClass) throws -> [IndexedFile] {
        try readers.read { connection in
            try connection.rows(
                Self.indexedFileSQL + "WHERE storage_class = ? AND path = ? ORDER BY id",
                [storageClass.code, path]
            ) { IndexedFile($0) }
        }
    }

    /// Whether the file is still published. A verification asks again before it reports a fault, because another
    /// process may have replaced the file since.
    package func hasFile(id: Int64) throws -> Bool {
        try readers.read { connection in
            try connection.hasRow("SELECT 1 FROM file WHERE id = ?", [id])
        }
    }

    /// Whether a row names the file at `path`, as published or pending. Does not find strays, which are published in
    /// another folder than that of `digestByte`.
    package func isNamed(_ path: String, in storageClass: StorageClass, digestByte byte: UInt8) throws -> Bool {
        try readers.read { try $0.names(path, in: storageClass, digestByte: byte) }
    }

    /// Every file that may exist without being published.
    package func pendingFiles() throws -> [PendingFile] {
        try readers.read { connection in
            try connection.rows("SELECT \(PendingFile.columns) FROM pending") { PendingFile($0) }
        }
    }

    /// Whether the totals kept for `storageClass` equal the sums over its files, and the order of eviction has its files with
    /// their sizes.
    ///
    /// One statement, so a write of another process in between is not taken for a fault.
    package func isTotalRight(of storageClass: StorageClass) throws -> Bool {
        try readers.read { connection in
            try connection.integer(Self.totalCheckSQL, [storageClass.code]) == 1
        }
    }

    /// The number of words that names have and the index lacks, and of those that it has and no name does.
    ///
    /// Each page of contacts is read in one state of the index, so writes of other processes are not taken for faults.
    ///
    /// - Throws: `CancellationError` if the task is cancelled; an error of the index.
    package func wrongWords() throws -> (missing: Int, strays: Int) {
        var (missing, strays) = (0, 0)
        var contact: String? = ""
        while let last = contact {
            try Task.checkCancellation()
            let page = try readers.read { connection in
                try connection.snapshot { try connection.missingWords(after: last, limit: Self.wordPage) }
            }
            missing += page.missing.count
            contact = page.last
        }
        var row: WordRow? = .first
        while let last = row {
            try Task.checkCancellation()
            let page = try readers.read { try $0.strayWords(after: last, limit: Self.wordPage) }
            strays += page.strays.count
            row = page.last
        }
        return (missing, strays)
    }

    /// The number of contacts and rows that `wrongWords` reads in one transaction.
    private static let wordPage = 1024

    /// The first fault of the database file itself; `nil` if it has none.
    ///
    /// - Parameter isQuick: whether to skip comparing the tables with their indexes.
    /// - Throws: `CancellationError` if the task is cancelled; the check takes long with a million entries.
    package func damage(isQuick: Bool) throws -> String? {
        do {
            return try readers.read { connection in
                try connection.interruptible(every: 100_000) { try Self.damage(isQuick: isQuick, on: connection) }
            }
        } catch {
            try Task.checkCancellation()
            throw error
        }
    }

    /// The first finding of SQLite's own checks; `nil` without one.
    private static func damage(isQuick: Bool, on connection: ReadConnection) throws -> String? {
        let finding = try connection.text("PRAGMA \(isQuick ? "quick_check" : "integrity_check")(1)")
        if finding != "ok" { return finding ?? "it could not be checked" }
        return try connection.firstRow("PRAGMA foreign_key_check") {
            "a row of \($0.text("table")) refers to a row that does not exist"
        }
    }

    /// All columns of an `IndexedFile`. A condition follows.
    private static let indexedFileSQL = """
        SELECT \(FileRecord.columns), sha256,
            EXISTS (SELECT 1 FROM avatar WHERE avatar.file_id = file.id)
            OR EXISTS (SELECT 1 FROM rendition WHERE file_id = file.id AND original_id <> file.id) AS is_used,
            has_metadata
        FROM file

        """

    /// One statement, hence one state of the index.
    private static let totalCheckSQL = """
        SELECT (files, bytes) = (
            (SELECT count(*) FROM file WHERE file.storage_class = total.storage_class),
            (SELECT coalesce(sum(size_bytes), 0) FROM file WHERE file.storage_class = total.storage_class)
        )
        AND files = (SELECT count(*) FROM access WHERE access.storage_class = total.storage_class)
        AND NOT EXISTS (
            SELECT 1 FROM file LEFT JOIN access ON access.file_id = file.id
            WHERE file.storage_class = total.storage_class
                AND (access.storage_class IS NOT file.storage_class OR access.size_bytes IS NOT file.size_bytes)
        )
        AND (
            total.storage_class <> 0
            OR (SELECT count(*) FROM eviction_queue) = (
                SELECT count(*) FROM access JOIN eviction_queue AS queued USING (last_access_us, file_id, size_bytes)
                WHERE access.storage_class = 0
            )
            AND (SELECT count(*) FROM eviction_queue) = (
                SELECT count(*) FROM access
                WHERE storage_class = 0 AND last_access_us < (SELECT queued_before_us FROM eviction_queue_end)
            )
        )
        FROM total WHERE storage_class = ?
        """
}

extension IndexedFile {
    /// The file in a row of `AvatarIndex.indexedFileSQL`.
    fileprivate init(_ row: borrowing Row) {
        self.init(
            file: FileRecord(row),
            sha256: row.blob("sha256"),
            isUsed: row.bool("is_used"),
            hasMetadata: row.optionalInteger("has_metadata").map { $0 != 0 }
        )
    }
}
