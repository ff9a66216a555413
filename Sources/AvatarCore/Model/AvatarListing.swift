/// Which entries a listing gives, in which order, and where it goes on.
public struct AvatarListQuery: Sendable {
    /// What a listing is ordered by; equal values by key.
    public enum Order: String, Sendable, CaseIterable, Codable {
        /// By key, as bytes.
        case key
        /// By the file's size, the largest first; entries without a file come last.
        case size
        /// By last access, the most recently used first; entries without a file come last.
        case lastAccess = "last-access"
        /// By the time of the next check, the earliest first; entries that are never due come last.
        case nextCheck = "next-check"
    }

    /// Only entries of this class.
    public var storageClass: StorageClass?
    /// Only entries in this state, as in `avatar_overview`.
    public var state: String?
    /// Only entries of this host name, on any port.
    public var host: String?
    /// Only entries that this contact uses.
    public var owner: String?
    /// The order.
    public var order = Order.key
    /// Whether the order is turned round; equal values are in the order of their keys all the same. Default: no.
    public var isReversed = false
    /// At most so many entries; at least 1.
    public var limit = 1000
    /// Goes on after the entry that a page before gave as its `next`.
    public var after: String?

    /// All entries by key, 1,000 a page.
    public init() {}
}

/// One line of a listing: the columns of `avatar_overview`, and the contacts that use the image.
public struct AvatarListItem: Hashable, Sendable {
    /// The whole key.
    public var key: String
    /// What is fetched; `nil` for an own image.
    public var sourceURL: String?
    /// Begins with the name of the class; `nil` without a file.
    public var localFile: String?
    /// `caches` or `documents`.
    public var storageClass: String
    /// `nil` without a file.
    public var sizeBytes: Int?
    /// Verbatim, with quotes and `W/`.
    public var etag: String?
    /// UTC, ISO 8601, milliseconds.
    public var lastAccess: String?
    /// UTC, ISO 8601, milliseconds.
    public var freshUntil: String?
    /// UTC, ISO 8601, milliseconds.
    public var checkedAt: String?
    /// `fresh`, `stale`, `failing`, `gone`, `evicted`, `missing` or `own`.
    public var state: String
    /// The contacts that use the image.
    public var owners: [String]

    package init(
        key: String,
        sourceURL: String?,
        localFile: String?,
        storageClass: String,
        sizeBytes: Int?,
        etag: String?,
        lastAccess: String?,
        freshUntil: String?,
        checkedAt: String?,
        state: String,
        owners: [String]
    ) {
        self.key = key
        self.sourceURL = sourceURL
        self.localFile = localFile
        self.storageClass = storageClass
        self.sizeBytes = sizeBytes
        self.etag = etag
        self.lastAccess = lastAccess
        self.freshUntil = freshUntil
        self.checkedAt = checkedAt
        self.state = state
        self.owners = owners
    }
}

/// One page of a listing.
public struct AvatarListPage: Sendable {
    /// The entries, in the order asked for.
    public var items: [AvatarListItem]
    /// What `AvatarListQuery.after` takes for the page that follows; `nil` on the last page.
    public var next: String?

    package init(items: [AvatarListItem], next: String?) {
        self.items = items
        self.next = next
    }
}
