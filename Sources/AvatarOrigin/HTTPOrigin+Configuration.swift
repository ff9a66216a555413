package import AvatarCore

extension HTTPOrigin {
    /// How requests are sent.
    public struct Configuration: Sendable {
        /// The User-Agent field. Default: `AvatarStore`.
        public var userAgent = "AvatarStore"
        /// Whether loopback, private and link-local addresses may be contacted too, cloud metadata services among
        /// them. Default: no, only globally reachable addresses.
        public var allowsPrivateNetworks = false
        /// A finer policy than the above; default: none.
        package var addressPolicy: AddressPolicy?
        /// Which hosts and ports may be asked, also by redirects. Default: all.
        public var hosts = HostRules()
        /// Which requests go through a proxy. Default: none; `ProxySettings(environment:)` reads what is usual.
        ///
        /// The connected peer is the proxy then, so it is the addresses that a host's name has here that are judged,
        /// before the request: all of them, as nobody knows which one the proxy will take. A name that cannot be
        /// resolved here is refused, unless private networks may be contacted too.
        public var proxies = ProxySettings()
        /// The most redirects that are followed for one image; 0 follows none. Default: 10.
        ///
        /// Cookies that a redirect sets are sent to the same host on later hops of that chain, and forgotten with it.
        public var maximumRedirects = 10
        /// Connections a host (name and port) at once over HTTP/1.1. Default: 8.
        public var connectionsPerHost = 8
        /// How long a connection may take to come up, in seconds. Default: 10.
        public var connectTimeoutSeconds = 10
        /// How long an origin may be silent within an answer, in seconds. Default: 30.
        public var idleTimeoutSeconds = 30
        /// A file of PEM certificates to trust beside those of the system. Default: none.
        public var additionalTrustRootsFile: String?
        /// Header fields to add for a host ("name:port"), such as a token. Asked for each hop anew, so that what
        /// is meant for one host is never sent to another, and not at all once a redirect led from https to http. The
        /// values reach neither the index nor a log.
        public var fieldsForHost: (@Sendable (_ host: String) -> [(name: String, value: String)])?
        /// Who is asked for the addresses of a name; default: the system.
        package var resolver = NameLookup.Resolver.system

        /// The defaults.
        public init() {}

        /// Which addresses a client with this configuration refuses.
        package var addressGuard: AddressGuard { allowsPrivateNetworks ? .privateNetworks : .globalOnly }

        var guardPolicy: AddressPolicy {
            addressPolicy ?? (allowsPrivateNetworks ? .allowingPrivateNetworks : .globalOnly)
        }
    }
}
