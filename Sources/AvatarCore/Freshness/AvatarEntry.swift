/// A published file as the index records it.
package struct FileRecord: Hashable, Sendable {
    /// The row id of the file in the index.
    package var id: Int64
    /// The storage class whose root holds the file.
    package var storageClass: StorageClass
    /// The path relative to the root of `storageClass`.
    package var path: String
    /// The length of the file in bytes.
    package var sizeBytes: Int
    /// The media type read from the image's own bytes, such as `image/png`.
    package var mediaType: String
    /// The width in pixels.
    package var width: Int
    /// The height in pixels.
    package var height: Int

    /// A record with these values, as read from the index.
    package init(
        id: Int64,
        storageClass: StorageClass,
        path: String,
        sizeBytes: Int,
        mediaType: String,
        width: Int,
        height: Int
    ) {
        (self.id, self.storageClass, self.path, self.sizeBytes) = (id, storageClass, path, sizeBytes)
        (self.mediaType, self.width, self.height) = (mediaType, width, height)
    }
}

/// Why an entry that had a file has none now.
package enum Absence: String, Sendable {
    /// The store evicted the file to keep the byte budget.
    case evicted
    /// The file was gone from its indexed path: the system purged it, or a user deleted it.
    case missing
    /// The origin sends an ignored image (`ignored_picture`).
    case ignored
}

/// One entry of the index in full: a key, its file if it has one, and the origin's last response.
///
/// It is a class because a sync hands each entry on many times, and a copy of the fields takes as long as a look-up.
package final class AvatarEntry: Sendable {
    /// The row id of the entry in the index.
    package let id: Int64
    /// The key of the image.
    package let key: AvatarKey
    /// The URL that the store fetches; `nil` for an own image.
    package let sourceURL: String?
    /// The storage class of the image, also while it has no file.
    package let storageClass: StorageClass
    /// The published file; `nil` without one.
    package let file: FileRecord?
    /// The SHA-256 digest of the file's bytes, 32 bytes.
    package let sha256: [UInt8]?
    /// When a program last read the file, in microseconds since the Unix epoch.
    package let lastAccessMicroseconds: Int64?
    /// Why there is no file although there was one; `nil` if there is a file or never was one.
    package let absence: Absence?
    /// The validators, the freshness and the next check.
    package let validation: ValidationRecord
    /// The URL of the smaller image that the store fetches instead while the network is constrained.
    package let lowDataURL: String?
    /// Whether the stored file is the smaller image at `lowDataURL`.
    package let isLowData: Bool
    /// The digest of the ignored image that the origin sends; `nil` for any other entry.
    package let ignoredSHA256: [UInt8]?

    /// An entry with these values, as read from the index.
    package init(
        id: Int64,
        key: AvatarKey,
        sourceURL: String?,
        storageClass: StorageClass,
        file: FileRecord?,
        sha256: [UInt8]?,
        lastAccessMicroseconds: Int64?,
        absence: Absence?,
        validation: ValidationRecord,
        lowDataURL: String? = nil,
        isLowData: Bool = false,
        ignoredSHA256: [UInt8]? = nil
    ) {
        (self.id, self.key, self.sourceURL, self.storageClass) = (id, key, sourceURL, storageClass)
        (self.file, self.sha256, self.lastAccessMicroseconds) = (file, sha256, lastAccessMicroseconds)
        (self.absence, self.validation, self.lowDataURL) = (absence, validation, lowDataURL)
        (self.isLowData, self.ignoredSHA256) = (isLowData, ignoredSHA256)
    }

    /// Whether the entry has no file because the origin sends an ignored image.
    package var isIgnored: Bool { absence == .ignored }

    /// The same entry as if its last request had not failed.
    package func withoutFailure() -> AvatarEntry {
        var validation = validation
        (validation.failure, validation.failureMessage) = (nil, nil)
        return AvatarEntry(
            id: id,
            key: key,
            sourceURL: sourceURL,
            storageClass: storageClass,
            file: file,
            sha256: sha256,
            lastAccessMicroseconds: lastAccessMicroseconds,
            absence: absence,
            validation: validation,
            lowDataURL: lowDataURL,
            isLowData: isLowData,
            ignoredSHA256: ignoredSHA256
        )
    }
}
