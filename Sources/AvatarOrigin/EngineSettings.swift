import AvatarCore
import AvatarOriginRules
import AvatarProviders
import CAvatarCurl

/// The settings of an engine, from those of the client.
struct EngineSettings: Sendable {
    /// The addresses that connections may go to.
    let policy: AddressPolicy
    /// The maximum number of HTTP/1.1 connections per host.
    let connectionsPerHost: Int
    /// The time limit for a connection to come up, in milliseconds.
    let connectTimeout: Int
    /// The maximum time without data, in milliseconds.
    let idleTimeout: Int64
    /// The maximum number of requests in progress at once.
    let mostRequests: Int
    /// The additional trust roots; `nil` to trust those of the system alone.
    let trustRoots: TrustRoots?
    /// Whether a proxy forwards requests, so that all hosts share its connections.
    private let hasForwardingProxy: Bool

    /// How long unused connections, and the thread, are kept, in seconds.
    static let keptSeconds = 60
    /// How often a request is sent in all, if its connections are lost before a response.
    static let attempts: CInt = 4
    /// The maximum size of the rest of a body that is read so that the connection can be used again, in bytes.
    private static let drainedBytes = 16_384
    /// The maximum time for such a rest, in milliseconds.
    static let drainTime: Int64 = 1_000
    /// The maximum time in which a small body is collected before the head is delivered without it, in milliseconds.
    static let collectingTime: Int64 = 250
    /// The maximum number of connections that are open, in use and unused; fewer with few descriptors. It is several times the
    /// usual number of requests at once, so that a host whose turn comes again has its connection still.
    private static let mostConnections = 1_024

    /// The settings that `configuration` asks for.
    ///
    /// - Throws: `invalidConfiguration` if the file of additional trust roots cannot be read.
    init(_ configuration: OriginConfiguration) throws(AvatarStoreError) {
        policy = configuration.guardPolicy
        connectionsPerHost = max(1, configuration.poolLimit)
        mostRequests = DescriptorLimit.mostRequests
        connectTimeout = max(1, configuration.connectTimeoutSeconds) * 1000
        idleTimeout = Int64(max(1, configuration.idleTimeoutSeconds)) * 1000
        hasForwardingProxy = configuration.proxies.http.map { !$0.scheme.isSOCKS } ?? false
        if let file = configuration.additionalTrustRootsFile {
            trustRoots = try TrustRoots(file: file, replacesSystem: configuration.replacesTrustRoots)
        } else {
            trustRoots = nil
        }
    }

    /// Passes the settings to `body` in the form that C takes.
    func withSettings<Result>(_ body: (UnsafePointer<avatar_settings>) -> Result) -> Result {
        var settings = avatar_settings()
        settings.connect_timeout_ms = connectTimeout
        settings.connections_per_host = hasForwardingProxy ? max(64, connectionsPerHost) : connectionsPerHost
        settings.most_connections = min(Self.mostConnections, DescriptorLimit.mostConnections)
        settings.kept_seconds = Self.keptSeconds
        settings.attempts = Self.attempts
        settings.head_bytes = ResponseHeadLimits.maximumBytes
        settings.field_count = CInt(ResponseHeadLimits.maximumFieldCount)
        settings.interim_count = CInt(ResponseHeadLimits.maximumInterimCount)
        settings.body_bytes = OriginArrival.wholeBodyLimit
        settings.drained_bytes = Self.drainedBytes
        let trust = trustRoots?.effective ?? SystemTrust.effective
        guard let trust else { return withUnsafePointer(to: settings, body) }
        settings.has_certificates = true
        return trust.certificates.withUnsafeBytes { bytes in
            settings.certificates = bytes.isEmpty ? nil : bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            settings.certificates_size = bytes.count
            guard let folder = trust.folder else { return withUnsafePointer(to: settings, body) }
            return folder.withCString { folder in
                settings.certificate_folder = folder
                return withUnsafePointer(to: settings, body)
            }
        }
    }
}
