import ArgumentParser
import AvatarStore
import Foundation

/// The options of the commands that fetch: how many requests, how long, to which addresses, with which header fields. Their
/// defaults may come from the environment (`EnvironmentDefaults`).
struct OriginOptions: ParsableArguments {
    /// Sets `CachingMode.strict`: the freshness of RFC 9111 section 4.2, and no storing where the response forbids it
    /// (section 3).
    @Flag(help: "Follow RFC 9111 to the letter for freshness and storing.")
    var strict = false

    /// Sets `Configuration.connections`. `fetch` also reads at most this many URLs at once.
    @Option(help: ArgumentHelp("Request at most N images at once.", valueName: "n"))
    var connections = EnvironmentDefaults.connections.value ?? 64

    /// Sets `Configuration.connectionsPerHost`. A host is a name and a port.
    @Option(help: ArgumentHelp("Request at most N images at once from one host.", valueName: "n"))
    var perHost = EnvironmentDefaults.perHost.value ?? 8

    /// Sets `Configuration.timeout`, in seconds: more than 0, at most a day.
    @Option(help: ArgumentHelp("Time limit for one image, redirects included.", valueName: "seconds"))
    var timeout = EnvironmentDefaults.timeout.value ?? 60.0

    /// Sets `HTTPOrigin.Configuration.maximumRedirects`. With 0, an image behind a redirect fails.
    @Option(help: ArgumentHelp("Follow at most N redirects for one image; 0 follows none.", valueName: "n"))
    var maxRedirects = EnvironmentDefaults.maxRedirects.value ?? 10

    /// Sets `Configuration.isConstrained`. The program does not ask the system whether the network is metered.
    @Flag(help: "Fetch the smaller image where a contact has one, as on a constrained network.")
    var lowData = false

    /// Turns off the guard against loopback and private addresses, to which a list from outside could otherwise send
    /// requests.
    @Flag(help: "Also contact loopback and private addresses.")
    private var allowPrivateNetwork = false

    /// The ceiling of this run, in bytes. The budget that the store keeps stays as it is.
    @Option(
        help: ArgumentHelp("A lower budget for this run only, such as 64MB.", valueName: "bytes"),
        transform: ByteAmount.parse
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
    @Option(help: ArgumentHelp("Value of the User-Agent field.", valueName: "text"))
    var userAgent: String?

    /// For hosts with a private certificate authority. The certificates are in addition to the system's.
    @Option(
        help: ArgumentHelp("PEM file of certificates to trust in addition to the system's.", valueName: "file"),
        completion: .file()
    )
    var caFile: String?

    /// Checks the options before the store is opened.
    ///
    /// - Throws: `ValidationError` if a number is out of its range, a text is not valid in a request, or an environment variable
    ///   is malformed.
    func validate() throws {
        try EnvironmentDefaults.check()
        guard connections > 0, perHost > 0 else {
            throw ValidationError("--connections and --per-host must be at least 1.")
        }
        guard timeout > 0, timeout <= 86_400 else {
            throw ValidationError("--timeout must be more than 0 and at most 86400 seconds (a day), not \(timeout).")
        }
        guard maxRedirects >= 0 else {
            throw ValidationError("--max-redirects must be at least 0, not \(maxRedirects).")
        }
        guard (userAgent ?? EnvironmentDefaults.userAgent.value).map(HeaderFile.isFieldValue) ?? true else {
            throw ValidationError("--user-agent must be one line of printable ASCII.")
        }
    }

    /// Whether loopback and private addresses may be contacted, by the option or its variable.
    var allowsPrivateNetwork: Bool { allowPrivateNetwork || EnvironmentDefaults.allowPrivateNetwork.value ?? false }

    /// The caching mode that `--strict` asks for; `nil` for the store's own.
    var mode: CachingMode? { strict ? .strict : nil }

    /// Sets the connections, limits, proxies and header fields of the store's HTTP client.
    ///
    /// Files and texts that no option names come from `EnvironmentDefaults`. Proxies come from the environment variables
    /// `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    ///
    /// - Throws: `storage` if the header file cannot be read; `invalidConfiguration` if it is malformed, if the
    ///   certificates cannot be read, or if a proxy variable is not valid.
    func apply(to configuration: inout AvatarStore.Configuration) throws {
        configuration.timeout = .seconds(timeout)
        configuration.connections = connections
        configuration.isConstrained = { [lowData] in lowData }
        configuration.connectionsPerHost = perHost
        #if HTTPOrigin
        configuration.http.maximumRedirects = maxRedirects
        configuration.http.allowsPrivateNetworks = allowsPrivateNetwork
        configuration.http.additionalTrustRootsFile = try (caFile ?? EnvironmentDefaults.caFile.value).map(readable)
        configuration.http.proxies = try ProxySettings(environment: ProcessInfo.processInfo.environment)
        if let userAgent = userAgent ?? EnvironmentDefaults.userAgent.value { configuration.http.userAgent = userAgent }
        if let headerFile = headerFile ?? EnvironmentDefaults.headerFile.value {
            let fields = try HeaderFile(path: headerFile)
            configuration.http.fieldsForHost = { fields[$0] }
        }
        #endif
    }

    /// The options of a read with `policy` that stores the image in `storage`.
    func fetchOptions(_ policy: FetchOptions.Policy, _ storage: FetchOptions.Storage) -> FetchOptions {
        var options = FetchOptions(policy: policy, storage: storage)
        options.mode = mode
        options.budgetCeiling = budget
        return options
    }

    /// Returns `path` if it is a readable regular file.
    private func readable(_ path: String) throws -> String {
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "Cannot read the certificates in \"\(path)\". Check that the file exists and that you may read it."
            )
        }
        // The client opens the file more than once, so a pipe would block it.
        var information = stat()
        guard stat(path, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "--ca-file \"\(path)\" must be a regular file, not a pipe, device or folder."
            )
        }
        return path
    }
}
