public import AvatarCore

/// How one read gets its image.
public struct FetchOptions: Sendable {
    /// Which of store and origin gives the image.
    public typealias Policy = ReadPolicy

    /// Where a fetched image is stored.
    public enum Storage: String, Sendable, CaseIterable {
        /// In the class `caches`; an image that is a document stays one.
        case caches
        /// In the class `documents`; an image that is in `caches` is moved.
        case documents
        /// Nowhere; what is stored is not read either.
        case transient

        var storageClass: StorageClass { self == .documents ? .documents : .caches }
    }

    /// Default: `cacheFirst`.
    public var policy = Policy.cacheFirst
    /// Default: `caches`.
    public var storage = Storage.caches
    /// Freshness for this read; default: the store's.
    public var mode: CachingMode?
    /// Who goes first where more is wanted than there are connections. Default: `normal`, before any sync.
    public var priority = FetchPriority.normal
    /// The time for the image in all; default: the store's.
    public var timeout: Duration?
    /// A smaller image at another URL, for when the network is constrained and nothing is stored. It is stored under the
    /// image's own key, and the image itself takes its place at the first read or sync without the constraint. Default:
    /// the one that was named last; for a `transient` read none.
    public var lowDataURL: String?
    /// Whether the network is constrained; default: what the store's configuration says at that moment.
    public var isConstrained: Bool?
    /// A lower budget for this read, in bytes; not kept.
    public var budgetCeiling: Int?
    /// Who is told of the progress, and changes the priority on the way.
    package var watch: FetchWatch?

    /// The defaults.
    public init(policy: Policy = .cacheFirst, storage: Storage = .caches) {
        self.policy = policy
        self.storage = storage
    }
}
