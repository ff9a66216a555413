public import AvatarCore

/// How one read gets its image.
public struct FetchOptions: Sendable {
    /// Which of store and origin gives the image.
    public typealias Policy = ReadPolicy

    /// Where a fetched image is stored.
    public enum Storage: String, Sendable, CaseIterable {
        /// In the storage class `caches`. An image that is a document stays one.
        case caches
        /// In the storage class `documents`. An image in `caches` is moved.
        case documents
        /// Nowhere. A stored image is not read either.
        case transient

        var storageClass: StorageClass { self == .documents ? .documents : .caches }
    }

    /// The read policy. Default: `cacheFirst`.
    public var policy: Policy
    /// Where a fetched image is stored. Default: `caches`.
    public var storage: Storage
    /// How freshness is judged for this read. Default: `nil`, the store's `Configuration.mode`.
    public var mode: CachingMode?
    /// The order in which waiting reads get a connection. Default: `normal`, before any sync.
    public var priority: FetchPriority
    /// The time for the image in all, including redirects. Default: `nil`, the store's `Configuration.timeout`.
    public var timeout: Duration?
    /// The URL of a smaller image, fetched on a metered network if nothing is stored. It is stored under the image's
    /// own key; the first read or sync on an unmetered network replaces it with the image itself. Default: the URL
    /// named last; none for a `transient` read.
    public var lowDataURL: String?
    /// Whether the network is metered. Default: `nil`, the store's `Configuration.isConstrained` at that moment.
    public var isConstrained: Bool?
    /// A lower budget of `caches` for this read, in bytes. It is not kept. Default: `nil`, the store's budget.
    public var budgetCeiling: Int?
    /// The rendition to return in place of the image, made if necessary. Default: `nil`, the original.
    ///
    /// If the image cannot be decoded or is not stored, or the store has no decoder, the read returns the original, and
    /// `AvatarFile.renditionFailure` gives the reason. If no quality and size fits `Rendition.maxBytes`, the read throws
    /// `imageRefused`.
    public var rendition: Rendition?
    /// The watcher that is told the progress, and that can change the priority meanwhile.
    package var watch: FetchWatch?

    /// Options with the defaults except those given. Each parameter is described at the property of its name.
    public init(
        policy: Policy = .cacheFirst,
        storage: Storage = .caches,
        mode: CachingMode? = nil,
        priority: FetchPriority = .normal,
        timeout: Duration? = nil,
        lowDataURL: String? = nil,
        isConstrained: Bool? = nil,
        budgetCeiling: Int? = nil,
        rendition: Rendition? = nil
    ) {
        (self.policy, self.storage, self.mode, self.priority) = (policy, storage, mode, priority)
        (self.timeout, self.lowDataURL, self.isConstrained) = (timeout, lowDataURL, isConstrained)
        (self.budgetCeiling, self.rendition) = (budgetCeiling, rendition)
    }
}
