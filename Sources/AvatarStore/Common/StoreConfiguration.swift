public import AvatarCore
import AvatarFoundation
public import AvatarProviders
import AvatarReports
public import Logging
public import Metrics

#if HTTPOrigin
public import AvatarOrigin
#endif

/// How a store is opened, by this process. Limits that all processes share are kept in the store: `Setting`.
///
/// `AvatarStore.open(_:)` checks it and throws `invalidConfiguration` for a value outside its limits.
public struct StoreConfiguration: Sendable {
    /// How the store may be used.
    public enum Access: Sendable {
        /// Reads and writes. Creates a missing store, and migrates an older index.
        case readWrite
        /// As `readWrite`, but throws `noStore` if there is no store, and creates nothing.
        case readWriteExisting
        /// Changes nothing: creates no store, repairs nothing and records no access.
        case readOnly
    }

    /// Where the store keeps its index, its files and its staging folders. All paths must be absolute.
    public var layout: StoreLayout
    /// Default: `readWrite`.
    public var access = Access.readWrite
    /// The byte budget of the storage class `caches`; 0 to 1 PiB. Default: `nil`, the budget that the store has
    /// (`Setting.budget`, 256 MiB unless it was set).
    ///
    /// A budget that differs from the store's is kept in the index as `Setting.budget`, for all processes, as
    /// `AvatarStore.set(_:to:dryRun:)` does: if the files in `caches` exceed it, they are evicted before the opening returns.
    /// If two processes open the store with different budgets, the later opening counts. A store that is open for
    /// reading only ignores it.
    public var budget: Int?
    /// The permission bits of files the store creates. Default: `0o600`, readable by their owner only. Must include
    /// `0o600` and no execute bit. A folder also gets the execute bit for each class of users that may read.
    public var fileMode: UInt32 = 0o600
    /// Whether this process accepts SVG as an image, whatever `Setting.allowsSVG` is. It can hold scripts. Default: no.
    public var allowsSVG = false
    /// How freshness is judged: `offlineFirst` prefers a stale image to none, `strict` follows RFC 9111 to the
    /// letter. Default: `offlineFirst`.
    public var mode = CachingMode.offlineFirst
    /// Whether `no-store` keeps an image out of the store in `offlineFirst` too (RFC 9111 section 5.2.2.5).
    /// Default: no.
    public var respectsNoStore = false
    /// The time for one image in all, including redirects; more than 0. Default: 60 seconds.
    public var timeout = Duration.seconds(60)
    /// Whether the network is metered at this moment, so that the smaller image is fetched if there is one
    /// (`FetchOptions.lowDataURL`). Called before each fetch, on any thread. Default: always `false`.
    public var isConstrained: @Sendable () -> Bool = { false }
    /// The most requests at once, of reads and syncs together; at least 1. Default: 256. With few file descriptors, the
    /// store's own client sends fewer.
    public var connections = 256
    /// The most requests at once to one host (name and port), of reads and syncs together; at least 1. Default: `nil`, the
    /// store finds out what the host bears.
    ///
    /// It begins with 6 requests and goes up to 16; over HTTP/2, which carries them on one connection, from 32 to 100. It goes
    /// up while answers come without trouble and no slower than before, and down by half after 429, 503, a lost connection or
    /// a time-out.
    ///
    /// A sync may ask for fewer (`SyncOptions.connectionsPerHost`). The store's own client opens as many HTTP/1.1
    /// connections, unless `HTTPOrigin.Configuration.connectionsPerHost` is set.
    public var connectionsPerHost: Int?
    /// The client that sends requests. Default: `nil`, the store's own client if the package was built with it.
    public var originClient: (any OriginClient)?
    #if HTTPOrigin
    /// How the store's own client sends requests. Not used with an `originClient`.
    public var http = HTTPOrigin.Configuration()
    #endif
    /// The object store that the stores of several machines share, such as `S3Tier` of the product `AvatarStoreS3`.
    /// Default: `nil`, none. The store asks it before an origin, puts there what it fetched, and goes on without it while it
    /// fails. A store that is open for reading only does not use it.
    public var sharedTier: (any SharedTier)?
    /// The maker of renditions, such as `DecoderPool` of the product `AvatarRenditions`. Default: `nil`; reads that request
    /// a rendition then return the original.
    public var renditions: (any RenditionMaker)?
    /// The clock for freshness and access times. Default: the system's clock.
    public var clock: any WallClock = SystemClock()
    /// Receives reports that no call can return. Default: no output.
    public var logger = Logger(label: "avatar-store") { _ in SwiftLogNoOpLogHandler() }
    /// The backend of swift-metrics for the metrics of this store. Default: `nil`, the one that the program installs for all
    /// its libraries (`MetricsSystem.bootstrap`).
    public var metrics: (any MetricsFactory)?
    /// The time for one small request to the shared tier, after which the store goes on without it for a while: a tier that takes
    /// longer costs more than it saves. Default: 10 seconds.
    package var sharedTierTimeLimit = Duration.seconds(10)
    /// Changes the configuration by the network options that the store keeps, once its index is open. Default: `nil`, they
    /// are not read.
    package var adoptSettings: (@Sendable (inout StoreConfiguration, NetworkSettings) throws -> Void)?

    /// A configuration of a store that keeps everything under `directory`, an absolute path, with the defaults of all properties.
    public init(directory: String) { self.init(layout: StoreLayout(directory: directory)) }

    /// A configuration of a store that keeps its parts at `layout`, with the defaults of all properties.
    public init(layout: StoreLayout) { self.layout = layout }

    /// - Throws: `invalidConfiguration` for a value outside its limits.
    package func validate() throws(AvatarStoreError) {
        for path in [layout.cachesRoot, layout.documentsRoot, layout.indexPath] where !path.hasPrefix("/") {
            throw AvatarStoreError(.invalidConfiguration, "The store's path \"\(path)\" must be absolute.")
        }
        guard timeout > .zero else {
            throw AvatarStoreError(.invalidConfiguration, "`timeout` cannot be \(timeout): it must be more than 0.")
        }
        if let budget { try Setting.budget.validate(Int64(budget)) }
        #if HTTPOrigin
        if let count = http.connectionsPerHost, count < 1 {
            throw AvatarStoreError(
                .invalidConfiguration,
                "`http.connectionsPerHost` must be at least 1, not \(count)."
            )
        }
        #endif
        for (name, value) in [("connections", connections), ("connectionsPerHost", connectionsPerHost ?? 1)] {
            guard value < 1 else { continue }
            throw AvatarStoreError(.invalidConfiguration, "`\(name)` must be at least 1, not \(value).")
        }
        guard fileMode & ~0o666 == 0, fileMode & 0o600 == 0o600 else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "The file mode \(String(fileMode, radix: 8)) must make files readable and writable for their owner "
                    + "(600) and must not make them executable."
            )
        }
    }
}
