package import AvatarCore
package import AvatarProviders

/// The settings of the origin client `HTTPOrigin`.
public struct OriginConfiguration: Sendable {
    /// The User-Agent field. Default: `AvatarStore`.
    public var userAgent: String
    /// Whether requests may go to loopback, private and link-local addresses too, which include cloud metadata
    /// services. Default: `false`, only globally reachable addresses are allowed.
    public var allowsPrivateNetworks: Bool
    /// An address policy that replaces `allowsPrivateNetworks`. Default: `nil`.
    package var addressPolicy: AddressPolicy?
    /// The hosts and ports that requests, including redirects, may go to. Default: all.
    public var hosts: HostRules
    /// The proxies. Default: none; `ProxySettings(environment:)` reads the usual environment variables.
    ///
    /// Behind a proxy the connected peer is the proxy, so the addresses that the host name has on this machine are
    /// judged before the request. All of them must be allowed, because the proxy may choose any. A name that this
    /// machine cannot resolve is refused, unless private networks are allowed.
    public var proxies: ProxySettings
    /// The maximum number of redirects for one image; 0 follows no redirect. Default: 10.
    ///
    /// A cookie that a redirect sets is sent to the same host on later hops of the chain, and dropped at its end.
    public var maximumRedirects: Int
    /// The maximum number of simultaneous HTTP/1.1 connections per host (name and port); at least 1. Further requests
    /// wait in the client for a connection. Default: `nil`, in a store as many as its
    /// `AvatarStore.Configuration.connectionsPerHost` allows requests, else 16.
    public var connectionsPerHost: Int?
    /// The time limit for a connection to come up, in seconds. Default: 10.
    public var connectTimeoutSeconds: Int
    /// The maximum time without data from the origin during a response, in seconds. Default: 30.
    public var idleTimeoutSeconds: Int
    /// The path of a file with PEM certificates to trust in addition to those of the system. Default: `nil`.
    public var additionalTrustRootsFile: String?
    /// Whether the certificates of `additionalTrustRootsFile` replace those of the system. Default: `false`.
    package var replacesTrustRoots = false
    /// Returns header fields to add to a request to `host` ("name:port"), such as a token. Default: `nil`.
    ///
    /// The client calls it for each hop, so that a field for one host is never sent to another. It does not call it
    /// after a redirect from https to http. The values are neither stored in the index nor logged.
    public var fieldsForHost: (@Sendable (_ host: String) -> [(name: String, value: String)])?
    /// As `fieldsForHost`, by the URL of the hop. Its fields replace those. Default: `nil`.
    package var fieldsForURL: (@Sendable (_ url: AvatarKey) -> [(name: String, value: String)])?
    /// The resolver of host names. Default: the system.
    package var resolver = NameLookup.Resolver.system

    /// Settings with the defaults except those given. Each parameter is described at the property of its name.
    public init(
        userAgent: String = "AvatarStore",
        allowsPrivateNetworks: Bool = false,
        hosts: HostRules = HostRules(),
        proxies: ProxySettings = ProxySettings(),
        maximumRedirects: Int = 10,
        connectionsPerHost: Int? = nil,
        connectTimeoutSeconds: Int = 10,
        idleTimeoutSeconds: Int = 30,
        additionalTrustRootsFile: String? = nil,
        fieldsForHost: (@Sendable (_ host: String) -> [(name: String, value: String)])? = nil
    ) {
        (self.userAgent, self.allowsPrivateNetworks) = (userAgent, allowsPrivateNetworks)
        (self.hosts, self.proxies, self.maximumRedirects) = (hosts, proxies, maximumRedirects)
        self.connectionsPerHost = connectionsPerHost
        self.connectTimeoutSeconds = connectTimeoutSeconds
        self.idleTimeoutSeconds = idleTimeoutSeconds
        (self.additionalTrustRootsFile, self.fieldsForHost) = (additionalTrustRootsFile, fieldsForHost)
    }

    /// The connections per host of a client without a store's limit.
    package var poolLimit: Int { connectionsPerHost ?? 16 }

    /// The kind of address guard that this configuration has.
    package var addressGuard: AddressGuard { allowsPrivateNetworks ? .privateNetworks : .globalOnly }

    /// The address policy that the guards apply.
    package var guardPolicy: AddressPolicy {
        addressPolicy ?? (allowsPrivateNetworks ? .allowingPrivateNetworks : .globalOnly)
    }
}
