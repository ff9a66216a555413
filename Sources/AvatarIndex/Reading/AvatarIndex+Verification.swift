package import AvatarCore
import GRDBSQLite

/// A published file as the index has it, with what is needed to prove it.
package struct IndexedFile: Hashable, Sendable {
    package let file: FileRecord
    package let sha256: [UInt8]
    /// Whether an entry uses it.
    package let isUsed: Bool
}

/// What a verification asks of the index.
extension AvatarIndex {
    /// The files whose digest begins with `byte`: those in one of the 256 folders, apart from strays.
    package func files(of storageClass: StorageClass, digestByte byte: UInt8) throws -> [IndexedFile] {
        try readers.read { connection in
            try connection.rows(
                Self.indexedFileSQL + "WHERE storage_class = ? AND sha256 BETWEEN ? AND ? ORDER BY id",
                [.integer(storageClass.code), .blob(Self.firstDigest(byte)), .blob(Self.lastDigest(byte))],
                IndexedFile.init
            )
        }
    }

    /// The files that do not lie in the folder that their digest names.
    package func strayFiles(of storageClass: StorageClass) throws -> [IndexedFile] {
        try readers.read { connection in
            try connection.rows(
                Self.indexedFileSQL
                    + "WHERE storage_class = ? AND substr(path, 1, 3) <> lower(hex(substr(sha256, 1, 1))) || '/' ORDER BY id",
                [.integer(storageClass.code)],
                IndexedFile.init
            )
        }
    }

    /// The files at `path`, of which there should be one. Looks at every file of the class.
    package func files(at path: String, of storageClass: StorageClass) throws -> [IndexedFile] {
        try readers.read { connection in
            try connection.rows(
                Self.indexedFileSQL + "WHERE storage_class = ? AND path = ? ORDER BY id",
                [.integer(storageClass.code), .text(path)],
                IndexedFile.init
            )
        }
    }

    /// Whether the file is still published.
    package func hasFile(id: Int64) throws -> Bool {
        try readers.read { connection in
            try connection.firstRow("SELECT 1 FROM file WHERE id = ?", [.integer(id)]) { _ in true } ?? false
        }
    }

    /// Whether a row names the file at `path`, as published or pending. Strays apart: those are published in a folder
    /// other than that of `digestByte`.
    package func isNamed(_ path: String, in storageClass: StorageClass, digestByte byte: UInt8) throws -> Bool {
        try readers.read { connection in
            try connection.firstRow(
                Self.namedSQL,
                [
                    .integer(storageClass.code), .text(path), .blob(Self.firstDigest(byte)),
                    .blob(Self.lastDigest(byte)),
                ]
            ) { $0.integer(0) != 0 } ?? false
        }
    }

    static let namedSQL = """
        SELECT
            EXISTS (SELECT 1 FROM pending_file WHERE storage_class = ?1 AND path = ?2)
            OR EXISTS (SELECT 1 FROM file WHERE storage_class = ?1 AND sha256 BETWEEN ?3 AND ?4 AND path = ?2)
        """

    /// The lowest digest that begins with `byte`.
    static func firstDigest(_ byte: UInt8) -> [UInt8] { [byte] + Array(repeating: 0, count: 31) }

    /// The highest digest that begins with `byte`.
    static func lastDigest(_ byte: UInt8) -> [UInt8] { [byte] + Array(repeating: 255, count: 31) }

    /// Every file that may exist without being published.
    package func pendingFiles() throws -> [PendingFile] {
        try readers.read { connection in
            try connection.rows("SELECT storage_class, path, size_bytes, holder FROM pending_file") {
                PendingFile(
                    storageClass: StorageClass(code: $0.integer(0)),
                    path: $0.text(1),
                    sizeBytes: Int($0.integer(2)),
                    holder: $0.text(3)
                )
            }
        }
    }

    /// Whether the sums kept for `storageClass` are the sums of the rows.
    package func isTotalRight(of storageClass: StorageClass) throws -> Bool {
        try readers.read { connection in
            try connection.firstRow(Self.totalCheckSQL, [.integer(storageClass.code)]) { $0.integer(0) != 0 } ?? false
        }
    }

    /// What is wrong with the database itself; `nil` if nothing is.
    ///
    /// - Parameter isQuick: leaves out whether the tables and their indexes agree.
    /// - Throws: `CancellationError`: it takes long with a million entries.
    package func damage(isQuick: Bool) throws -> String? {
        do {
            return try readers.read { connection in
                sqlite3_progress_handler(connection.handle, 100_000, { _ in Task.isCancelled ? 1 : 0 }, nil)
                defer { sqlite3_progress_handler(connection.handle, 0, nil, nil) }
                return try Self.damage(isQuick, on: connection)
            }
        } catch {
            try Task.checkCancellation()
            throw error
        }
    }

    private static func damage(_ isQuick: Bool, on connection: ReadConnection) throws -> String? {
        let finding = try connection.firstRow("PRAGMA \(isQuick ? "quick_check" : "integrity_check")(1)") {
            $0.text(0)
        }
        if finding != "ok" { return finding ?? "it could not be checked" }
        return try connection.firstRow("PRAGMA foreign_key_check") { "a row of \($0.text(0)) refers to none" }
    }

    private static let indexedFileSQL = """
        SELECT id, storage_class, path, size_bytes, media_type, width, height, sha256,
            EXISTS (SELECT 1 FROM avatar WHERE avatar.file_id = file.id)
        FROM file

        """

    /// One statement, hence one state of the index.
    private static let totalCheckSQL = """
        SELECT (files, bytes, pending_files, pending_bytes) = (
            (SELECT count(*) FROM file WHERE file.storage_class = total.storage_class),
            (SELECT coalesce(sum(size_bytes), 0) FROM file WHERE file.storage_class = total.storage_class),
            (SELECT count(*) FROM pending_file WHERE pending_file.storage_class = total.storage_class),
            (SELECT coalesce(sum(size_bytes), 0) FROM pending_file WHERE pending_file.storage_class = total.storage_class)
        )
        FROM total WHERE storage_class = ?
        """
}

extension IndexedFile {
    fileprivate init(_ row: borrowing Statement.Row) {
        self.init(file: FileRecord(row, from: 0), sha256: row.optionalBlob(7) ?? [], isUsed: row.integer(8) != 0)
    }
}
