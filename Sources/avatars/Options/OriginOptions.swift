import ArgumentParser
import AvatarStore
import AvatarFoundation

/// The options of the commands that fetch: how many requests, how long, to which addresses, with which header fields. Their
/// defaults may come from the environment (`EnvironmentDefaults`).
struct OriginOptions: ParsableArguments {
    /// Sets `CachingMode.strict`: the freshness of RFC 9111 section 4.2, and no storing where the response forbids it
    /// (section 3).
    @Flag(help: "Follow RFC 9111 to the letter for freshness and storing.")
    var strict = false

    /// Sets `Configuration.connections`. `fetch` also reads at most this many URLs at once.
    @Option(
        help: ArgumentHelp(
            "Request at most N images at once. Default: the store's setting, 256 at first.",
            valueName: "n"
        )
    )
    private var connections: Int?

    /// Sets `Configuration.connectionsPerHost`. A host is a name and a port.
    @Option(
        help: ArgumentHelp(
            "Request at most N images at once from one host. Default: the store's setting, at first as many as it bears.",
            valueName: "n"
        )
    )
    private var perHost: Int?

    /// Sets `Configuration.timeout`, in seconds: more than 0, at most a day.
    @Option(
        help: ArgumentHelp("Time limit for one image, redirects included, such as 90s or 2m.", valueName: "time"),
        transform: TimeSpan.parseSeconds
    )
    var timeout = EnvironmentDefaults.timeout.value ?? 60.0

    /// Sets `HTTPOrigin.Configuration.maximumRedirects`. With 0, an image behind a redirect fails.
    @Option(help: ArgumentHelp("Follow at most N redirects for one image; 0 follows none.", valueName: "n"))
    var maxRedirects = EnvironmentDefaults.maxRedirects.value ?? 10

    /// Sets `Configuration.isConstrained`. The program does not ask the system whether the network is metered.
    @Flag(help: "Fetch the smaller image of a contact that has one, as for metered networks.")
    var lowData = false

    /// Turns off the guard against loopback and private addresses, to which a list from outside could otherwise send
    /// requests.
    @Flag(
        inversion: .prefixedNo,
        help: """
            --allow-private-network allows requests to loopback and private addresses, --no-allow-private-network forbids them. \
            Default: the store's setting, forbidden at first.
            """
    )
    private var allowPrivateNetwork: Bool?

    /// The ceiling of this run, in bytes. The budget that the store keeps stays as it is.
    @Option(
        help: ArgumentHelp(
            "A lower budget for this run, such as 64MB. A higher one has no effect.",
            valueName: "bytes"
        ),
        transform: ByteAmount.parseBudget
    )
    var budget: Int?

    /// The path of a `HeaderFile`. An argument would show its tokens in the process list.
    @Option(
        help: ArgumentHelp(
            "File of header fields to send, one per line: \"HOST[:PORT] NAME: VALUE\". Without a port: 80 and 443.",
            valueName: "file"
        ),
        completion: .file()
    )
    var headerFile: String?

    /// Sets `HTTPOrigin.Configuration.userAgent`. Default: `AvatarStore`.
    @Option(
        help: ArgumentHelp(
            "Value of the User-Agent field. Default: the store's setting, AvatarStore at first.",
            valueName: "text"
        )
    )
    private var userAgent: String?

    /// For hosts with a private certificate authority. The certificates are in addition to the system's.
    @Option(
        help: ArgumentHelp(
            "PEM file of certificates to trust in addition to the system's. Default: the store's setting.",
            valueName: "file"
        ),
        completion: .file()
    )
    private var caFile: String?

    /// Checks the options before the store is opened.
    ///
    /// - Throws: `ValidationError` if a number is out of its range, a text is not valid in a request, or an environment variable
    ///   is malformed.
    func validate() throws {
        try EnvironmentDefaults.check()
        guard chosen.connections ?? 1 > 0, chosen.perHost ?? 1 > 0 else {
            throw ValidationError("--connections and --per-host must be at least 1.")
        }
        guard timeout > 0, timeout <= 86_400 else {
            throw ValidationError("--timeout must be more than 0 and at most 86400 seconds (a day), not \(timeout).")
        }
        guard maxRedirects >= 0 else {
            throw ValidationError("--max-redirects must be at least 0, not \(maxRedirects).")
        }
        guard chosen.userAgent.map(HeaderFile.isFieldValue) ?? true else {
            throw ValidationError("--user-agent must be one line of printable ASCII.")
        }
    }

    /// The network options that the store keeps too.
    private struct Chosen: Sendable {
        var connections: Int?
        var perHost: Int?
        var allowPrivateNetwork: Bool?
        var userAgent: String?
        var caFile: String?

        /// Puts these options into the configuration; `kept` stands in for those that are missing.
        func apply(to configuration: inout AvatarStore.Configuration, _ kept: NetworkSettings) throws {
            if let connections = connections ?? kept.connections { configuration.connections = connections }
            if let perHost = perHost ?? kept.connectionsPerHost { configuration.connectionsPerHost = perHost }
            #if HTTPOrigin
            configuration.http.allowsPrivateNetworks = allowPrivateNetwork ?? kept.allowsPrivateNetworks ?? false
            if let userAgent = userAgent ?? kept.userAgent { configuration.http.userAgent = userAgent }
            configuration.http.additionalTrustRootsFile = try (caFile ?? kept.trustRootsFile).map(
                CertificateFile.checked
            )
            #endif
        }
    }

    /// The options as given, else as their variables say.
    private var chosen: Chosen {
        Chosen(
            connections: connections ?? EnvironmentDefaults.connections.value,
            perHost: perHost ?? EnvironmentDefaults.perHost.value,
            allowPrivateNetwork: allowPrivateNetwork ?? EnvironmentDefaults.allowPrivateNetwork.value,
            userAgent: userAgent ?? EnvironmentDefaults.userAgent.value,
            caFile: caFile ?? EnvironmentDefaults.caFile.value
        )
    }

    /// The caching mode that `--strict` asks for; `nil` for the store's own.
    var mode: CachingMode? { strict ? .strict : nil }

    /// Sets the connections, limits, proxies and header fields of the store's HTTP client.
    ///
    /// An option overrides its environment variable (`EnvironmentDefaults`), and the variable overrides the store's setting, which
    /// is known once the store is open. Proxies come from the environment variables `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and
    /// `NO_PROXY`.
    ///
    /// - Throws: `storage` if the header file cannot be read; `invalidConfiguration` if it is malformed, if the
    ///   certificates cannot be read, or if a proxy variable is not valid; `CancellationError`.
    func apply(to configuration: inout AvatarStore.Configuration) async throws {
        configuration.timeout = .seconds(timeout)
        configuration.isConstrained = { [lowData] in lowData }
        #if HTTPOrigin
        configuration.http.maximumRedirects = maxRedirects
        configuration.http.proxies = try ProxySettings(environment: ProcessInfo.processInfo.environment)
        if let headerFile = headerFile ?? EnvironmentDefaults.headerFile.value {
            let fields = try await HeaderFile.read(headerFile)
            configuration.http.fieldsForHost = { fields[$0] }
        }
        #endif
        // Before a store is made: a bad option makes none.
        try chosen.apply(to: &configuration, NetworkSettings())
        configuration.adoptSettings = { [chosen] configuration, kept in try chosen.apply(to: &configuration, kept) }
    }

    /// Sets the address guard of commands without network options: by its environment variable, else by the store's setting.
    static func applyAddressGuard(to configuration: inout AvatarStore.Configuration) {
        #if HTTPOrigin
        configuration.adoptSettings = { configuration, kept in
            configuration.http.allowsPrivateNetworks =
                EnvironmentDefaults.allowPrivateNetwork.value ?? kept.allowsPrivateNetworks ?? false
        }
        #endif
    }

    /// Whether requests of `store` may go to loopback and private addresses.
    func allowsPrivateNetwork(in store: AvatarStore) -> Bool {
        #if HTTPOrigin
        store.configuration.http.allowsPrivateNetworks
        #else
        false
        #endif
    }

    /// The options of a read with `policy` that stores the image in `storage`.
    func fetchOptions(_ policy: FetchOptions.Policy, _ storage: FetchOptions.Storage) -> FetchOptions {
        var options = FetchOptions(policy: policy, storage: storage)
        options.mode = mode
        options.budgetCeiling = budget
        return options
    }
}

/// A file of certificates to trust.
enum CertificateFile {
    /// Returns `path` if it is a readable regular file.
    ///
    /// - Throws: `invalidConfiguration` if it is not.
    static func checked(_ path: String) throws -> String {
        guard access(path, R_OK) == 0 else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "Cannot read the certificates in \"\(path)\": \(String(cString: strerror(errno)))."
            )
        }
        // The client opens the file more than once, so a pipe would block it.
        var information = stat()
        guard stat(path, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "The file of certificates \"\(path)\" must be a regular file, not a pipe, device or folder."
            )
        }
        return path
    }
}
