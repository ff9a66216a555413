import ArgumentParser
import AvatarFoundation

/// Values of options from environment variables, for unit files and containers. An option on the command line overrides its
/// variable, and the variable overrides the setting of the store and the built-in default.
///
/// A variable that is empty counts as absent.
enum EnvironmentDefaults {
    static let connections = Variable("connections", "a whole number of at least 1") { number($0, from: 1) }
    static let perHost = Variable("per-host", "a whole number of at least 1") { number($0, from: 1) }
    static let timeout = Variable("timeout", "a time, such as 90s or 2m") { TimeSpan.seconds($0) }
    static let maxRedirects = Variable("max-redirects", "a whole number of at least 0") { number($0, from: 0) }
    static let allowPrivateNetwork = Variable("allow-private-network", "true or false") { Bool($0) }
    static let headerFile = Variable("header-file", "a path") { $0 }
    static let userAgent = Variable("user-agent", "a text") { $0 }
    static let shared = Variable("shared", "a URL s3://BUCKET/PREFIX") { $0 }
    static let caFile = Variable("ca-file", "a path") { $0 }

    /// The options without their dashes, and what their variables must be.
    private static let all = [
        connections.summary, perHost.summary, timeout.summary, maxRedirects.summary, allowPrivateNetwork.summary,
        headerFile.summary, caFile.summary, userAgent.summary, shared.summary,
    ]
    /// The names of all variables here.
    static let names = all.map { name(ofOption: $0.option) }

    /// The variables in the help of the program.
    static let help = """
        AVATARS_STORE for --store (a path), \
        \(all.map { "\(name(ofOption: $0.option)) for --\($0.option) (\($0.kind))" }.joined(separator: ", ")). An option \
        overrides its variable, and a variable overrides the setting of the store. HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and \
        NO_PROXY name the proxies. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE, \
        AWS_SHARED_CREDENTIALS_FILE, AWS_REGION, AWS_ENDPOINT_URL and AWS_CA_BUNDLE are those of --shared. NO_COLOR turns \
        colours off.
        """

    private static let environment = ProcessInfo.processInfo.environment

    /// The name of the variable for `option`, which is given without its dashes.
    private static func name(ofOption option: String) -> String {
        "AVATARS_" + option.uppercased().replacing("-", with: "_")
    }

    /// The variable that overrides a setting of the store, as `NAME=VALUE`; `nil` if the environment has none.
    static func override(ofSetting setting: String) -> String? {
        let name = name(ofOption: setting)
        let value = environment[name] ?? ""
        return names.contains(name) && !value.isEmpty ? "\(name)=\(value)" : nil
    }

    private static func number(_ text: String, from least: Int) -> Int? {
        Int(text).flatMap { $0 >= least ? $0 : nil }
    }

    /// A variable and the type of its values.
    struct Variable<Value: Sendable>: Sendable {
        let name: String
        /// The option without its dashes, and what the variable must be.
        fileprivate let summary: (option: String, kind: String)
        private let parse: @Sendable (String) -> Value?
        /// The value when the program began; the options of a command ask several times.
        private let text: String?

        /// The variable for `option`, which is given without its dashes.
        fileprivate init(_ option: String, _ kind: String, _ parse: @escaping @Sendable (String) -> Value?) {
            (name, summary, self.parse) = (EnvironmentDefaults.name(ofOption: option), (option, kind), parse)
            text = EnvironmentDefaults.environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }

        /// The value; `nil` if the variable is absent or malformed, which `check()` reports.
        var value: Value? { text.flatMap(parse) }

        /// - Throws: `ValidationError` if the variable is malformed.
        func check() throws {
            guard let text, parse(text) == nil else { return }
            throw ValidationError("The environment variable \(name) must be \(summary.kind), not \"\(text)\".")
        }
    }

    /// Checks all variables.
    ///
    /// - Throws: `ValidationError` if one is malformed.
    static func check() throws {
        try connections.check()
        try perHost.check()
        try timeout.check()
        try maxRedirects.check()
        try allowPrivateNetwork.check()
    }
}

/// Environment variables that look like those of the program, but have no effect.
enum UnknownVariables {
    private static let prefix = "AVATARS_"
    /// The names of the program's variables without the prefix. SINCE is for the command of `--on-change`, which may run this program.
    private static let known =
        ["STORE", "SINCE"]
        + EnvironmentDefaults.names.map { String($0.dropFirst(prefix.count)) }
    /// The variables of the package's scripts and tests.
    private static let ofTheSources: Set = [
        "BUILD", "DAV", "DEBIAN_ROOT", "DEBIAN_TEST", "DEVELOPMENT", "FLEET_ROUNDS", "FUZZ", "KDC", "LDAP", "NGINX",
        "RECORD_INTERFACE", "SEED", "STATES", "TEST_FOLDER", "TEST_LIMIT", "TEST_RECORDS", "THOROUGH", "TRACE",
        "WARNINGS_AS_ERRORS",
    ]

    /// Prints one warning that names the unknown variables, and the nearest known ones.
    static func warn() {
        let unknown = ProcessInfo.processInfo.environment.filter { $0.key.hasPrefix(prefix) && !$0.value.isEmpty }
            .map { String($0.key.dropFirst(prefix.count)) }
            .filter { !known.contains($0) && !ofTheSources.contains($0) }.sorted()
        guard !unknown.isEmpty else { return }
        let names = unknown.map { name in
            let meant = Spelling.nearest(to: name.uppercased(), among: known)
            return prefix + name + (meant.map { " (did you mean \(prefix + $0)?)" } ?? "")
        }
        Message.warning("Environment variables without effect: \(names.joined(separator: ", ")).")
    }
}
