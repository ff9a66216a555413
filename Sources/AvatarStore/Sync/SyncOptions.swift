public import AvatarCore

/// How a sync works.
public struct SyncOptions: Sendable {
    /// Which of store and origin is asked. Default: `revalidate`, what is fresh is left alone.
    public var policy = FetchOptions.Policy.revalidate
    /// Where images are stored. `transient` is not possible. Default: `caches`.
    public var storage = FetchOptions.Storage.caches
    /// Freshness for this sync; default: the store's.
    public var mode: CachingMode?
    /// Whether what is still fresh is asked for too. Default: no.
    public var includesFresh = false
    /// At most so many images are asked for; the rest are skipped. Default: no limit.
    public var limit: Int?
    /// Whether hosts are asked that are paused because they kept failing, and images that back off because of that. A
    /// host's own `Retry-After` is kept all the same. The policy `reload` does so in any case. Default: no.
    public var ignoresPauses = false
    /// Images asked for at once, in all. Default: 64.
    public var connections = 64
    /// Images asked for at once, of one host (name and port). Default: 8.
    public var connectionsPerHost = 8
    /// The time for one image in all; default: the store's.
    public var timeout: Duration?
    /// How long one host may keep the sync busy, from the first request on; what it has not answered by then is skipped.
    /// Default: no limit.
    public var hostTimeLimit: Duration?
    /// The time for the sync in all: after it nothing more is asked for, and what is under way is cut off. Default: no
    /// limit.
    public var timeLimit: Duration?
    /// At most so many bytes of bodies, for a connection that costs; what is under way then is still taken. Default: no
    /// limit.
    public var maximumBytes: Int?
    /// Whether the network is constrained, so that smaller images are fetched where there are some; default: what the
    /// store's configuration says when the sync begins.
    public var isConstrained: Bool?
    /// A lower budget for this sync, in bytes; not kept.
    public var budgetCeiling: Int?
    /// Whether contacts that the list does not name, or names without a picture, are unlinked from their images. Nothing
    /// is if a record of the list cannot be read, the list has no contacts, or the sync ends early. Default: no.
    public var prunes = false
    /// Who is asked for the picture of a contact that has none of its own, by a digest of its e-mail addresses, in this
    /// order: the first source for all addresses, the preferred one first, then the next source. Default: nobody, as each
    /// request tells a third party about the address.
    ///
    /// The next one is asked only when the one before says that it has none. A source that cannot be reached is waited for.
    public var emailSources: [EmailSource] = []
    /// For how long a source that has no picture for an address is not asked for it again. Default: 7 days.
    public var emailRecheck = Duration.seconds(7 * 86_400)
    /// Images committed together. Default: 256.
    public var batchSize = 256

    /// The defaults.
    public init() {}

    /// Whether pauses that follow from failures are ignored.
    var asksPausedHosts: Bool { ignoresPauses || policy == .reload }

    func validate() throws(AvatarStoreError) {
        guard storage != .transient else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "A sync stores images; the class transient is none to store in."
            )
        }
        guard connections > 0, connectionsPerHost > 0, batchSize > 0 else {
            throw AvatarStoreError(.invalidConfiguration, "A sync needs at least one connection and one image a batch.")
        }
        guard (limit ?? 0) >= 0, (budgetCeiling ?? 0) >= 0, (maximumBytes ?? 0) >= 0,
            (timeLimit ?? .zero) >= .zero, (hostTimeLimit ?? .zero) >= .zero, emailRecheck >= .zero
        else {
            throw AvatarStoreError(.invalidConfiguration, "A limit, budget or time is not negative.")
        }
    }
}
