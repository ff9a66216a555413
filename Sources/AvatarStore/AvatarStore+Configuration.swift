public import AvatarCore
public import Logging

#if HTTPOrigin
public import AvatarOrigin
#endif

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension AvatarStore {
    /// How a store is opened. What operators set and all processes share is kept in the store instead: `Settings`.
    public struct Configuration: Sendable {
        /// Whether the store may be changed.
        public enum Access: Sendable {
            /// Makes the store if it is not there, and brings its index up to date.
            case readWrite
            /// As `readWrite`, but only for a store that exists: throws `noStore` otherwise, and makes nothing.
            case readWriteExisting
            /// Changes nothing: no store is made, nothing is repaired, no access is recorded.
            case readOnly
        }

        /// Where the store keeps its parts.
        public var layout: StoreLayout
        /// Default: reading and writing.
        public var access = Access.readWrite
        /// The permission bits of files. Default: `0o600`, readable by their owner only. A folder gets the bits to
        /// look into it for everybody who may read.
        public var fileMode: UInt32 = 0o600
        /// Whether SVG is taken as an image. It can hold scripts; default: no.
        public var allowsSVG = false
        /// Stale rather than nothing (`offlineFirst`, the default), or RFC 9111 to the letter (`strict`).
        public var mode = CachingMode.offlineFirst
        /// Whether `no-store` keeps an image out of the store in `offlineFirst` too. Default: no.
        public var respectsNoStore = false
        /// The time one image may take in all, redirects included. Default: 60 seconds.
        public var timeout = Duration.seconds(60)
        /// Whether the network is constrained at this moment, so that smaller images are fetched where there are some
        /// (`FetchOptions.lowDataURL`); asked before each fetch, on any thread. Default: it never is.
        public var isConstrained: @Sendable () -> Bool = { false }
        /// Requests at once, in all, of reads and syncs together. Default: 64.
        public var connections = 64
        /// Requests at once to one host (name and port). Default: 8.
        public var connectionsPerHost = 8
        /// Who sends the requests; default: the store's own client, if the package has it.
        public var originClient: (any OriginClient)?
        #if HTTPOrigin
        /// How the store's own client sends requests.
        public var http = HTTPOrigin.Configuration()
        #endif
        /// What time it is. Default: the system's clock.
        public var clock: any WallClock = SystemClock()
        /// Where the store reports what no call returns. Default: nowhere.
        public var logger = Logger(label: "avatar-store") { _ in SwiftLogNoOpLogHandler() }

        /// A store that has everything under `directory`, an absolute path.
        public init(directory: String) {
            layout = StoreLayout(directory: directory)
        }

        /// A store with its parts at `layout`.
        public init(layout: StoreLayout) {
            self.layout = layout
        }

        func validate() throws(AvatarStoreError) {
            for path in [layout.cachesRoot, layout.documentsRoot, layout.indexPath] where !path.hasPrefix("/") {
                throw AvatarStoreError(.invalidConfiguration, "The store's path \(path) is not absolute.")
            }
            guard timeout > .zero else {
                throw AvatarStoreError(.invalidConfiguration, "The timeout of \(timeout) leaves no time for an image.")
            }
            guard connections > 0, connectionsPerHost > 0 else {
                throw AvatarStoreError(
                    .invalidConfiguration,
                    "A store needs at least one connection in all and a host."
                )
            }
            guard fileMode & ~0o666 == 0, fileMode & 0o600 == 0o600 else {
                throw AvatarStoreError(
                    .invalidConfiguration,
                    "Files need to be readable and writable by their owner, and are not executable: "
                        + "mode \(String(fileMode, radix: 8)) will not do."
                )
            }
        }
    }
}

/// What time it is: the seam at which tests move time by hand.
public protocol WallClock: Sendable {
    /// The current time.
    func now() -> Timestamp
}

/// The clock of the operating system.
public struct SystemClock: WallClock {
    /// The clock.
    public init() {}

    /// The operating system's time.
    public func now() -> Timestamp {
        var time = timespec()
        // Every system has this clock.
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
