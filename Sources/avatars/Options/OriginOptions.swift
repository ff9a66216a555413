import ArgumentParser
import AvatarStore
import Foundation

/// How origins are asked: the options of the commands that fetch.
struct OriginOptions: ParsableArguments {
    @Flag(help: "Freshness as RFC 9111 has it, to the letter.")
    var strict = false

    @Option(help: ArgumentHelp("Images asked for at once, in all.", valueName: "n"))
    var connections = 64

    @Option(help: ArgumentHelp("Images asked for at once, of one host.", valueName: "n"))
    var perHost = 8

    @Option(help: ArgumentHelp("The time for one image, redirects included.", valueName: "seconds"))
    var timeout = 60.0

    @Option(help: ArgumentHelp("Redirects to follow for one image; 0 follows none.", valueName: "n"))
    var maxRedirects = 10

    @Flag(help: "Fetch the smaller images for constrained networks, where there are some.")
    var lowData = false

    @Flag(help: "Also contact loopback and private addresses.")
    var allowPrivateNetwork = false

    @Option(
        help: ArgumentHelp("A lower ceiling for the caches in this run, such as 64MB; not kept.", valueName: "bytes"),
        transform: ByteAmount.parse
    )
    var budget: Int?

    @Option(
        help: ArgumentHelp(
            "Header fields for hosts, one a line: \"HOST[:PORT] NAME: VALUE\". Without a port: 80 and 443.",
            valueName: "file"
        ),
        completion: .file()
    )
    var headerFile: String?

    @Option(help: ArgumentHelp("The User-Agent field.", valueName: "text"))
    var userAgent: String?

    @Option(
        help: ArgumentHelp("PEM certificates to trust beside the system's.", valueName: "file"),
        completion: .file()
    )
    var caFile: String?

    func validate() throws {
        guard connections > 0, perHost > 0 else {
            throw ValidationError("--connections and --per-host are at least 1.")
        }
        guard timeout > 0, timeout <= 86_400 else {
            throw ValidationError("--timeout is more than 0 and at most 86400 seconds.")
        }
        guard maxRedirects >= 0 else { throw ValidationError("--max-redirects must not be negative.") }
        guard userAgent.map(HeaderFile.isFieldValue) ?? true else {
            throw ValidationError("--user-agent is a line of printable ASCII.")
        }
    }

    /// `strict`, or `nil` for what the store has.
    var mode: CachingMode? { strict ? .strict : nil }

    /// Sets up the store's client.
    ///
    /// - Throws: `invalidConfiguration` if a file cannot be read.
    func apply(to configuration: inout AvatarStore.Configuration) throws {
        configuration.timeout = .seconds(timeout)
        configuration.connections = connections
        configuration.isConstrained = { [lowData] in lowData }
        configuration.connectionsPerHost = perHost
        #if HTTPOrigin
        configuration.http.connectionsPerHost = perHost
        configuration.http.maximumRedirects = maxRedirects
        configuration.http.allowsPrivateNetworks = allowPrivateNetwork
        configuration.http.additionalTrustRootsFile = try caFile.map(readable)
        configuration.http.proxies = try ProxySettings(environment: ProcessInfo.processInfo.environment)
        if let userAgent { configuration.http.userAgent = userAgent }
        if let headerFile {
            let fields = try HeaderFile(path: headerFile)
            configuration.http.fieldsForHost = { fields[$0] }
        }
        #endif
    }

    /// The options of one read.
    func fetchOptions(_ policy: FetchOptions.Policy, _ storage: FetchOptions.Storage) -> FetchOptions {
        var options = FetchOptions(policy: policy, storage: storage)
        options.mode = mode
        options.budgetCeiling = budget
        return options
    }

    private func readable(_ path: String) throws -> String {
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw AvatarStoreError(.invalidConfiguration, "\(path) cannot be read.")
        }
        // The client opens it more than once, and a pipe would make it wait.
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
