/// The filter, the order and the page of a listing.
public struct AvatarListQuery: Sendable {
    /// The order of a listing. Entries with equal values are ordered by key.
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

    /// List only entries of this storage class; `nil` for both.
    public var storageClass: StorageClass?
    /// List only entries in this state, one of the words in `AvatarListItem.state`; `nil` for all.
    public var state: String?
    /// List only entries of this host name, on any port; `nil` for all.
    public var host: String?
    /// List only entries that the contact with this id uses; `nil` for all.
    public var owner: String?
    /// The order. Default: by key.
    public var order: Order
    /// Whether the order is reversed. Entries with equal values still come in the order of their keys. Default:
    /// `false`.
    public var isReversed: Bool
    /// The maximum number of entries in a page, at least 1. Default: 1,000.
    public var limit: Int
    /// The `next` of the previous page; `nil` for the first page.
    public var after: String?

    /// A listing with the defaults except those given: all entries by key, 1,000 per page. Each parameter is described at
    /// the property of its name.
    public init(
        storageClass: StorageClass? = nil,
        state: String? = nil,
        host: String? = nil,
        owner: String? = nil,
        order: Order = .key,
        isReversed: Bool = false,
        limit: Int = 1000,
        after: String? = nil
    ) {
        self.storageClass = storageClass
        self.state = state
        self.host = host
        self.owner = owner
        self.order = order
        self.isReversed = isReversed
        self.limit = limit
        self.after = after
    }
}

/// One line of a listing: the columns of the view `avatar_overview`, and the contacts that use the image.
public struct AvatarListItem: Hashable, Sendable {
    /// The whole key.
    public var key: String
    /// The URL that the store fetches; `nil` for an own image.
    public var sourceURL: String?
    /// The path of the file, beginning with `caches/` or `documents/`; `nil` without a file.
    public var localFile: String?
    /// The storage class, `caches` or `documents`.
    public var storageClass: String
    /// The length of the file in bytes; `nil` without a file.
    public var sizeBytes: Int?
    /// The ETag verbatim, with quotes and `W/`; `nil` if the origin sent none.
    public var etag: String?
    /// When a program last read the file: UTC, ISO 8601, with milliseconds.
    public var lastAccess: String?
    /// Until when the image is fresh, in the same form.
    public var freshUntil: String?
    /// When the origin last responded or the last attempt failed, in the same form.
    public var checkedAt: String?
    /// The state: `fresh`, `stale`, `failing`, `gone`, `evicted`, `missing` or `own`.
    public var state: String
    /// The ids of the contacts that use the image.
    public var owners: [String]

    /// A line with these values, as read from the index.
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
    /// The entries, in the order of the query.
    public var items: [AvatarListItem]
    /// The value of `AvatarListQuery.after` for the next page; `nil` on the last page.
    public var next: String?

    /// A page with these entries.
    package init(items: [AvatarListItem], next: String?) {
        self.items = items
        self.next = next
    }
}
