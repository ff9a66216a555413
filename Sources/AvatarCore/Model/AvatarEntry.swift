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

/// What the index keeps of the origin's answers for one entry: validators, freshness and the next check.
package struct ValidationRecord: Hashable, Sendable {
    /// The validators, verbatim.
    package var etag: String?
    package var lastModified: String?
    /// The stored header fields that freshness depends on, one "name: value" a line.
    package var responseFields: String?
    /// When the stored response came, and how long after its request.
    package var response: Timestamp?
    package var responseDelayMilliseconds: Int64 = 0
    /// When the bytes last came from the origin.
    package var fetched: Timestamp?
    /// The last answer, or the last attempt to get one.
    package var checked: Timestamp?
    package var freshUntil: Timestamp?
    /// When the entry is due; `nil`: never.
    package var nextCheck: Timestamp?
    /// The kind of the last failure; `nil` after a success.
    package var failure: FailureKind?
    package var failureCount: Int = 0

    package init() {}
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
