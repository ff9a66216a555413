/// A published file as the index knows it.
package struct FileRecord: Hashable, Sendable {
    package var id: Int64
    package var storageClass: StorageClass
    /// Relative to the root of the class.
    package var path: String
    package var sizeBytes: Int
    package var mediaType: String
    package var width: Int
    package var height: Int

    package init(
        id: Int64,
        storageClass: StorageClass,
        path: String,
        sizeBytes: Int,
        mediaType: String,
        width: Int,
        height: Int
    ) {
        self.id = id
        self.storageClass = storageClass
        self.path = path
        self.sizeBytes = sizeBytes
        self.mediaType = mediaType
        self.width = width
        self.height = height
    }
}

/// Why an entry has no file although it had one.
package enum Absence: String, Sendable {
    /// The evictor took it to keep the budget.
    case evicted
    /// It was not where the index said: purged by the system or by a person.
    case missing
}

/// One entry in full: the image somebody asked for, its file if it has one, and what the origin last said.
package struct AvatarEntry: Hashable, Sendable {
    package var id: Int64
    package var key: AvatarKey
    /// What is fetched; `nil` for an own image.
    package var sourceURL: String?
    package var storageClass: StorageClass
    package var file: FileRecord?
    /// The digest of the file's bytes.
    package var sha256: [UInt8]?
    package var lastAccessMicroseconds: Int64?
    package var absence: Absence?
    package var validation: ValidationRecord
    /// The smaller image that stands in for this one while the network is constrained.
    package var lowDataURL: String?
    /// Whether the file is that smaller image.
    package var isLowData: Bool

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
        isLowData: Bool = false
    ) {
        self.id = id
        self.key = key
        self.sourceURL = sourceURL
        self.storageClass = storageClass
        self.file = file
        self.sha256 = sha256
        self.lastAccessMicroseconds = lastAccessMicroseconds
        self.absence = absence
        self.validation = validation
        self.lowDataURL = lowDataURL
        self.isLowData = isLowData
    }
}
