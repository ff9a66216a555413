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

    private static func number(_ text: String, from least: Int) -> Int? {
        Int(text).flatMap { $0 >= least ? $0 : nil }
    }

    /// A variable and the type of its values.
    struct Variable<Value: Sendable>: Sendable {
        private let name: String
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
