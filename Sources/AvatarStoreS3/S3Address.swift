import AvatarCore
import AvatarProviders

/// The URLs of a bucket's objects and listings.
struct S3Address: Sendable {
    /// The endpoint and the bucket for messages.
    let name: String
    /// The scheme, the host and, in path style, the bucket; without a `/` at the end.
    private let root: String
    /// The prefix with its `/`; empty without a prefix.
    let prefix: String

    /// The address for `configuration`.
    ///
    /// - Throws: `.invalidConfiguration`.
    init(_ configuration: S3Configuration) throws(SharedTierError) {
        let bucket = configuration.bucket
        guard Self.isBucket(bucket) else {
            throw SharedTierError(
                .invalidConfiguration,
                "The bucket \"\(bucket)\" must have 1 to 255 letters, digits, \"-\", \"_\" and \".\", and begin with a letter "
                    + "or digit."
            )
        }
        guard Self.isPrefix(configuration.prefix) else {
            throw SharedTierError(
                .invalidConfiguration,
                "The prefix \"\(configuration.prefix)\" must have at most 256 letters, digits, \"-\", \"_\", \".\" and \"/\", "
                    + "and no segment that is empty, \".\" or \"..\"."
            )
        }
        guard !configuration.region.isEmpty,
            configuration.region.utf8.allSatisfy({ $0.isWord || $0 == UInt8(ascii: "-") })
        else {
            throw SharedTierError(
                .invalidConfiguration,
                "The region \"\(configuration.region)\" must have letters, digits and \"-\" only, such as us-east-1."
            )
        }
        let endpoint = configuration.endpoint ?? "https://s3.\(configuration.region).amazonaws.com"
        let (scheme, authority) = try Self.parts(of: endpoint)
        let usesPath = configuration.usesPathStyle ?? (configuration.endpoint != nil || bucket.contains("."))
        root = usesPath ? "\(scheme)://\(authority)/\(bucket)" : "\(scheme)://\(bucket).\(authority)"
        name = "the bucket \"\(bucket)\" at \(scheme)://\(authority)"
        prefix = configuration.prefix.isEmpty ? "" : configuration.prefix + "/"
    }

    /// The URL of the object under `key`.
    ///
    /// - Throws: `.invalidConfiguration` if the key breaks the rules of `SharedTier`.
    func object(_ key: String) throws(SharedTierError) -> String {
        guard SharedTierKey.isValid(key) else {
            throw SharedTierError(.invalidConfiguration, "The key \"\(key)\" breaks the rules for keys of \(name).")
        }
        return root + "/" + URIEncoding.path(prefix + key)
    }

    /// The URL of the listing of keys that begin with `keyPrefix`, after `start`.
    func listing(prefix keyPrefix: String, after start: String?) -> String {
        // In the order of their names, as the signature wants them.
        var query = "encoding-type=url&list-type=2&max-keys=1000&prefix=" + URIEncoding.query(prefix + keyPrefix)
        if let start { query += "&start-after=" + URIEncoding.query(prefix + start) }
        return root + "/?" + query
    }

    // MARK: Rules

    private static func isBucket(_ name: String) -> Bool {
        guard (1...255).contains(name.utf8.count), name.utf8.first?.isAlphanumeric == true else { return false }
        return name.utf8.allSatisfy { $0.isWord || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
    }

    private static func isPrefix(_ prefix: String) -> Bool {
        guard !prefix.isEmpty else { return true }
        return prefix.utf8.count <= 256
            && prefix.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { segment in
                !segment.isEmpty && segment != "." && segment != ".." && segment.utf8.count <= 200
                    && segment.utf8.allSatisfy { $0.isWord || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
            }
    }

    private static func parts(of endpoint: String) throws(SharedTierError) -> (scheme: String, authority: String) {
        let lowercase = endpoint.lowercased()
        for scheme in ["http", "https"] where lowercase.hasPrefix(scheme + "://") {
            var authority = lowercase.dropFirst(scheme.count + 3)
            if authority.hasSuffix("/") { authority.removeLast() }
            let isHost = authority.utf8.allSatisfy { $0.isAlphanumeric || "-.:[]_".utf8.contains($0) }
            if isHost, authority.utf8.first.map({ $0 != UInt8(ascii: ":") }) == true {
                return (scheme, String(authority))
            }
        }
        // A user or a query might hold a secret, so the endpoint is not repeated.
        throw SharedTierError(
            .invalidConfiguration,
            "The endpoint of a shared tier must be a URL such as https://s3.example.com:9000, without user, path or query."
        )
    }
}
