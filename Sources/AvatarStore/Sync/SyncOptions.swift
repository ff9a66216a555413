public import AvatarCore

/// How a sync works.
public struct SyncOptions: Sendable {
    /// Which of store and origin gives an image. Default: `revalidate`, a fresh image costs no request.
    public var policy: FetchOptions.Policy
    /// Where images are stored. Must not be `transient`. Default: `caches`.
    public var storage: FetchOptions.Storage
    /// How freshness is judged in this sync. Default: `nil`, the store's `Configuration.mode`.
    public var mode: CachingMode?
    /// Whether images that are still fresh are checked too, as `--all` does on the command line. Images in backoff and
    /// paused hosts still wait. Default: no.
    public var checksAll: Bool
    /// The most images that are requested; the rest are skipped. Default: `nil`, no limit.
    public var limit: Int?
    /// Whether requests go to hosts that are paused after failures, and for images whose backoff has not ended. A host's
    /// own `Retry-After` is respected all the same. The policy `reload` ignores pauses in any case. Default: no.
    public var ignoresPauses: Bool
    /// The most requests of this sync at once, from 1 up to the store's `Configuration.connections`. Default: `nil`, as
    /// many as that.
    public var connections: Int?
    /// The most requests of this sync at once to one host (name and port), from 1 up to the store's
    /// `Configuration.connectionsPerHost`, or up to 100 without one. Default: `nil`, as the store's.
    public var connectionsPerHost: Int?
    /// The time for one image in all, including redirects. Default: `nil`, the store's `Configuration.timeout`.
    public var timeout: Duration?
    /// How long one host may keep the sync busy, counted from the first request to it. Images of the host that are
    /// missing by then are skipped. Default: `nil`, no limit.
    public var hostTimeLimit: Duration?
    /// The time for the sync in all. At its end, running requests are cancelled and the other images are skipped.
    /// Default: `nil`, no limit.
    public var timeLimit: Duration?
    /// The bytes of response bodies after which no request is begun, for a metered network. Requests that are running by
    /// then are completed. Default: `nil`, no limit.
    public var maximumBytes: Int?
    /// Whether the network is metered, so that the smaller image is fetched if there is one. Default: `nil`, the store's
    /// `Configuration.isConstrained` when the sync begins.
    public var isConstrained: Bool?
    /// A lower budget of `caches` for this sync, in bytes. It is not kept. Default: `nil`, the store's budget.
    public var budgetCeiling: Int?
    /// Whether contacts that the list omits or gives no image are unlinked from their images. Nothing is unlinked if a
    /// record of the list cannot be read, the list has no contacts, or the sync ends early. Default: no.
    public var prunes: Bool
    /// The sources that are asked for the image of a contact without one of its own, by a digest of its e-mail
    /// addresses. Default: none, because each request tells a third party about an address.
    ///
    /// The order counts: the first source is asked for all addresses, the preferred one first, then the next source. The
    /// next one is asked only if the one before reports that it has no image. A source that cannot be reached is tried
    /// again by a later sync.
    public var emailSources: [EmailSource]
    /// The name of the list, such as its path or `team-1`. The store remembers which contacts a named list names: `prunes` keeps
    /// those that another named list names. At most 62 lists. Default: `nil`, a list without a name.
    public var list: String?
    /// Whether `prunes` is carried out even if it unlinks more than half of the contacts that the list named, and more than 20. A
    /// list that lost most of its contacts is often a mistake of its export. Default: no; `SyncReport.keptLeavers` counts them.
    public var prunesAll = false
    /// The names of several lists that are read as one, by the names of the lists in their records.
    package var lists: [String: String] = [:]
    /// Whether all cards of sources are read, whatever the state that the store keeps. Default: no.
    public var comparesAll = false
    /// How long a source that has no image for an address is not asked for it again. Default: 7 days.
    public var emailRecheck: Duration
    /// The number of images committed together; at least 1. Default: 256.
    package var batchSize = 256

    /// Options with the defaults except those given. Each parameter is described at the property of its name.
    public init(
        policy: FetchOptions.Policy = .revalidate,
        storage: FetchOptions.Storage = .caches,
        mode: CachingMode? = nil,
        checksAll: Bool = false,
        limit: Int? = nil,
        ignoresPauses: Bool = false,
        connections: Int? = nil,
        connectionsPerHost: Int? = nil,
        timeout: Duration? = nil,
        hostTimeLimit: Duration? = nil,
        timeLimit: Duration? = nil,
        maximumBytes: Int? = nil,
        isConstrained: Bool? = nil,
        budgetCeiling: Int? = nil,
        prunes: Bool = false,
        emailSources: [EmailSource] = [],
        emailRecheck: Duration = .seconds(7 * 86_400)
    ) {
        (self.policy, self.storage, self.mode, self.checksAll) = (policy, storage, mode, checksAll)
        (self.limit, self.ignoresPauses, self.connections) = (limit, ignoresPauses, connections)
        (self.connectionsPerHost, self.timeout) = (connectionsPerHost, timeout)
        (self.hostTimeLimit, self.timeLimit) = (hostTimeLimit, timeLimit)
        (self.maximumBytes, self.isConstrained) = (maximumBytes, isConstrained)
        (self.budgetCeiling, self.prunes) = (budgetCeiling, prunes)
        (self.emailSources, self.emailRecheck) = (emailSources, emailRecheck)
    }

    /// The names of the lists, by the names of the lists in their records; `nil` for records that name none.
    var listsByRecord: [String?: String] {
        var names: [String?: String] = [:]
        if let list { names[nil] = list }
        for (record, name) in lists { names[record] = name }
        return names
    }

    /// The names of the lists.
    var listNames: [String] { Array(listsByRecord.values) }

    /// Whether pauses that follow from failures are ignored.
    var asksPausedHosts: Bool { ignoresPauses || policy == .reload }

    /// The options with each of `sources` among the lists.
    func naming(_ sources: [ContactSource]) -> SyncOptions {
        var options = self
        for source in sources { options.lists[source.name] = source.name }
        return options
    }

    /// - Throws: `invalidConfiguration` for an option outside its limits.
    package func validate(_ configuration: StoreConfiguration) throws(AvatarStoreError) {
        guard storage != .transient else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "A sync cannot use the storage `transient`; use `caches` or `documents`."
            )
        }
        try Self.require("connections", connections, upTo: configuration.connections)
        let mostPerHost = configuration.connectionsPerHost ?? HostBounds.http2.most
        try Self.require("connectionsPerHost", connectionsPerHost, upTo: mostPerHost)
        for name in listNames where name.isEmpty || name.utf8.count > 4096 {
            throw AvatarStoreError(
                .invalidConfiguration,
                "The name of a list must have 1 to 4096 bytes, not \(name.utf8.count)."
            )
        }
        guard batchSize > 0 else {
            throw AvatarStoreError(.invalidConfiguration, "`batchSize` of a sync must be at least 1, not \(batchSize).")
        }
        let amounts = [("limit", limit), ("budgetCeiling", budgetCeiling), ("maximumBytes", maximumBytes)]
        for case (let name, let value?) in amounts where value < 0 {
            throw AvatarStoreError(.invalidConfiguration, "`\(name)` of a sync must not be negative: \(value).")
        }
        let times = [("timeLimit", timeLimit), ("hostTimeLimit", hostTimeLimit), ("emailRecheck", emailRecheck)]
        for case (let name, let value?) in times where value < .zero {
            throw AvatarStoreError(.invalidConfiguration, "`\(name)` of a sync must not be negative: \(value).")
        }
    }

    /// - Throws: `invalidConfiguration` if `value` is less than 1, or above the store's limit of the same name.
    private static func require(_ name: String, _ value: Int?, upTo limit: Int) throws(AvatarStoreError) {
        guard let value else { return }
        guard value > 0 else {
            throw AvatarStoreError(.invalidConfiguration, "`\(name)` of a sync must be at least 1, not \(value).")
        }
        guard value <= limit else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "`\(name)` of a sync cannot be \(value): the store was opened with `Configuration.\(name)` \(limit), which "
                    + "reads and syncs share. Open the store with a higher one."
            )
        }
    }
}
