package import AvatarCore

/// What the index has of a download that was interrupted: the first bytes of an image are in the staging folder.
package struct PartialRecord: Hashable, Sendable {
    package let key: AvatarKey
    package let storageClass: StorageClass
    /// In the folder for partial downloads. Never used again.
    package let name: String
    /// What the bytes came from.
    package let url: String
    /// A strong tag, verbatim.
    package let etag: String
    /// The bytes that had come when this was written down.
    package let sizeBytes: Int
    /// The length of the whole, if the origin said.
    package let totalBytes: Int64?
    package let updated: Timestamp

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
        self.key = key
        self.storageClass = storageClass
        self.name = name
        self.url = url
        self.etag = etag
        self.sizeBytes = sizeBytes
        self.totalBytes = totalBytes
        self.updated = updated
    }

    static let columns = "key, storage_class, name, url, etag, size_bytes, total_bytes, updated_ms"
}
