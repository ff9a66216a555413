public import AvatarCore

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
    /// List only entries in this state; `nil` for all.
    public var state: AvatarState?
    /// List only entries of this host name, on any port; `nil` for all.
    public var host: String?
    /// List only entries that the contact with this id uses; `nil` for all.
    public var contact: String?
    /// List only entries of contacts whose name contains this text; case and accents do not matter. `nil` for all.
    public var contactName: String?
    /// Whether to list only fetched images that no contact uses. Own images are not among them: they need no contact, and the
    /// store cannot fetch them again. Default: `false`.
    public var isWithoutContact = false
    /// The order. Default: by key.
    public var order = Order.key
    /// Whether the order is reversed. Entries with equal values still come in the order of their keys. Default:
    /// `false`.
    public var isReversed = false
    /// The maximum number of entries in a page, at least 1. Default: 1,000.
    public var limit = 1000
    /// The `next` of the previous page; `nil` for the first page.
    public var after: String?

    /// All entries by key, at most 1,000 on a page.
    public init() {}
}

/// One line of a listing: the columns of the view `avatar_overview`, and the contacts that use the image.
public struct AvatarListItem: Hashable, Sendable {
    /// The key of the entry.
    public var key: AvatarKey
    /// The URL that the store fetches; `nil` for an own image.
    public var sourceURL: String?
    /// The path of the file within the store, beginning with `caches/` or `documents/`; `nil` without a file.
    /// `AvatarStore.localFile(for:recordsAccess:)` returns the absolute path.
    public var localFile: String?
    /// The storage class of the entry.
    public var storageClass: StorageClass
    /// The length of the file in bytes; `nil` without a file.
    public var sizeBytes: Int?
    /// The ETag verbatim, with quotes and `W/`; `nil` if the origin sent none.
    public var etag: String?
    /// When a program last read the file; `nil` without a file.
    public var lastAccess: Timestamp?
    /// Until when the image is fresh; `nil` for an own image.
    public var freshUntil: Timestamp?
    /// When the origin last responded or the last attempt failed; `nil` before the first one.
    public var checkedAt: Timestamp?
    /// The state.
    public var state: AvatarState
    /// The ids of the contacts that use the image, in ascending order.
    public var contacts: [String]

    /// A line with these values, as read from the index.
    package init(
        key: AvatarKey,
        sourceURL: String?,
        localFile: String?,
        storageClass: StorageClass,
        sizeBytes: Int?,
        etag: String?,
        lastAccess: Timestamp?,
        freshUntil: Timestamp?,
        checkedAt: Timestamp?,
        state: AvatarState,
        contacts: [String]
    ) {
        (self.key, self.sourceURL, self.localFile) = (key, sourceURL, localFile)
        (self.storageClass, self.sizeBytes, self.etag) = (storageClass, sizeBytes, etag)
        (self.lastAccess, self.freshUntil, self.checkedAt) = (lastAccess, freshUntil, checkedAt)
        (self.state, self.contacts) = (state, contacts)
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
