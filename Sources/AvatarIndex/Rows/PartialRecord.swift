package import AvatarCore
import AvatarSQLite

/// A download that was interrupted: the first bytes of an image are in the staging folder.
package struct PartialRecord: Hashable, Sendable {
    /// The key of the image.
    package let key: AvatarKey
    /// The storage class that the image is fetched for.
    package let storageClass: StorageClass
    /// The name of the file in the folder for partial downloads. No other file ever gets it.
    package let name: String
    /// The URL of the response.
    package let url: String
    /// The response's strong entity tag, verbatim.
    package let etag: String
    /// The bytes received when the record was written.
    package let sizeBytes: Int
    /// The bytes of the complete body; `nil` if the origin did not state them.
    package let totalBytes: Int64?
    /// When the record was written.
    package let updated: Timestamp

    /// A record with all of its values.
    package init(
        key: AvatarKey,
        storageClass: StorageClass,
        name: String,
        url: String,
        etag: String,
        sizeBytes: Int,
        totalBytes: Int64?,
        updated: Timestamp
    ) {
        (self.key, self.storageClass, self.name, self.url) = (key, storageClass, name, url)
        (self.etag, self.sizeBytes) = (etag, sizeBytes)
        (self.totalBytes, self.updated) = (totalBytes, updated)
    }

    /// The columns that `init(_:)` reads.
    static let columns = "key, storage_class, name, url, etag, size_bytes, total_bytes, updated_ms"

    /// The query of one record. Its parameter is the key.
    static let sql = "SELECT \(columns) FROM partial_download WHERE key = ?"

    /// The record in a row with `columns`.
    init(_ row: borrowing Row) {
        self.init(
            key: AvatarKey(stored: row.text("key")),
            storageClass: StorageClass(code: row.integer("storage_class")),
            name: row.text("name"),
            url: row.text("url"),
            etag: row.text("etag"),
            sizeBytes: row.bytes("size_bytes"),
            totalBytes: row.optionalInteger("total_bytes"),
            updated: Timestamp(milliseconds: row.integer("updated_ms"))
        )
    }
}
