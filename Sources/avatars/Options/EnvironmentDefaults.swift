import ArgumentParser
import Foundation

/// Values of options from environment variables, for unit files and containers. An option on the command line overrides its
/// variable, and the variable overrides the setting of the store and the built-in default.
///
/// A variable that is empty counts as absent.
enum EnvironmentDefaults {
    static let connections = Variable("AVATARS_CONNECTIONS", "a whole number of at least 1") { number($0, from: 1) }
    static let perHost = Variable("AVATARS_PER_HOST", "a whole number of at least 1") { number($0, from: 1) }
    static let timeout = Variable("AVATARS_TIMEOUT", "a time, such as 90s or 2m") { TimeSpan.seconds($0) }
    static let maxRedirects = Variable("AVATARS_MAX_REDIRECTS", "a whole number of at least 0") { number($0, from: 0) }
    static let allowPrivateNetwork = Variable("AVATARS_ALLOW_PRIVATE_NETWORK", "true or false") { Bool($0) }
    static let headerFile = Variable("AVATARS_HEADER_FILE", "a path") { $0 }
    static let userAgent = Variable("AVATARS_USER_AGENT", "a text") { $0 }
    static let shared = Variable("AVATARS_SHARED", "a URL s3://BUCKET/PREFIX") { $0 }
    static let caFile = Variable("AVATARS_CA_FILE", "a path") { $0 }

    /// The names of all variables here.
    static let names = [
        connections.name, perHost.name, timeout.name, maxRedirects.name, allowPrivateNetwork.name, headerFile.name,
        userAgent.name, shared.name, caFile.name,
    ]

    /// The variable that overrides a setting of the store, as `NAME=VALUE`; `nil` if the environment has none.
    static func override(ofSetting setting: String) -> String? {
        let name = "AVATARS_" + setting.uppercased().replacing("-", with: "_")
        let value = ProcessInfo.processInfo.environment[name] ?? ""
        return names.contains(name) && !value.isEmpty ? "\(name)=\(value)" : nil
    }

    private static func number(_ text: String, from least: Int) -> Int? {
        Int(text).flatMap { $0 >= least ? $0 : nil }
    }

    /// A variable and the type of its values.
    struct Variable<Value: Sendable>: Sendable {
        let name: String
        private let kind: String
        private let parse: @Sendable (String) -> Value?

        fileprivate init(_ name: String, _ kind: String, _ parse: @escaping @Sendable (String) -> Value?) {
            (self.name, self.kind, self.parse) = (name, kind, parse)
        }

        private var text: String? {
            ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }

        /// The value; `nil` if the variable is absent or malformed, which `check()` reports.
        var value: Value? { text.flatMap(parse) }

        /// - Throws: `ValidationError` if the variable is malformed.
        func check() throws {
            guard let text, parse(text) == nil else { return }
            throw ValidationError("The environment variable \(name) must be \(kind), not \"\(text)\".")
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
    /// The names of the program's variables without the prefix.
    private static let known = ["STORE"] + EnvironmentDefaults.names.map { String($0.dropFirst(prefix.count)) }
    /// The variables of the package's scripts and tests.
    private static let ofTheSources: Set = [
        "BUILD", "DEBIAN_ROOT", "DEBIAN_TEST", "FLEET_ROUNDS", "FUZZ", "NGINX", "RECORD_INTERFACE", "SEED", "THOROUGH",
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
