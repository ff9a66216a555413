package import AvatarCore
import Foundation
import GRDB

/// What a repair changes.
extension IndexTransaction {
    /// Takes the file out of the index without a word about what lies at its path: the row was wrong, not the file.
    package func forgetFile(id: Int64) throws {
        try execute(
            """
            UPDATE avatar SET file_id = NULL, absence = 'missing', absent_sha256 = (SELECT sha256 FROM file WHERE id = ?1),
                etag = NULL, last_modified = NULL
            WHERE file_id = ?1
            """,
            [id]
        )
        try execute("DELETE FROM file WHERE id = ?", [id])
    }

    /// Whether a row names `path`, as `AvatarIndex.isNamed`.
    package func isNamed(_ path: String, in storageClass: StorageClass, digestByte byte: UInt8) throws -> Bool {
        let row = try fetchRow(
            AvatarIndex.namedSQL,
            [
                storageClass.code, path, Data(AvatarIndex.firstDigest(byte)), Data(AvatarIndex.lastDigest(byte)),
            ]
        )
        return row.map { $0[0] } ?? false
    }

    /// Brings the sums of `storageClass` in line with the rows.
    package func recountTotal(of storageClass: StorageClass) throws {
        try execute(
            """
            UPDATE total SET (files, bytes, pending_files, pending_bytes) = (
                SELECT published.files, published.bytes, pending.files, pending.bytes
                FROM
                    (SELECT count(*) AS files, coalesce(sum(size_bytes), 0) AS bytes
                     FROM file WHERE storage_class = ?1) AS published,
                    (SELECT count(*) AS files, coalesce(sum(size_bytes), 0) AS bytes
                     FROM pending_file WHERE storage_class = ?1) AS pending
            )
            WHERE storage_class = ?1
            """,
            [storageClass.code]
        )
    }
}
