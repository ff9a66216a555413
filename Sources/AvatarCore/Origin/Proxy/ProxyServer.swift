internal import Foundation

/// An HTTP proxy, and what it is told to know who asks.
public struct ProxyServer: Hashable, Sendable, CustomStringConvertible {
    /// Where it listens.
    public var host: HostName
    /// The user it knows; `nil` for a proxy that asks nobody.
    public var user: String?
    /// The user's password. It reaches the proxy alone: no message, log or index holds it.
    public var password: String?

    /// The proxy at `host`.
    public init(host: HostName, user: String? = nil, password: String? = nil) {
        self.host = host
        self.user = user
        self.password = password
    }

    /// Reads `http://user:password@host:port/`. Scheme, user, password and port (then 80) may be missing.
    ///
    /// - Throws: `invalidConfiguration` for another scheme, also for TLS to the proxy itself, and for what names no
    ///   host. The message does not hold `text`.
    public init(_ text: String) throws(AvatarStoreError) {
        var rest = text.trimmingCharacters(in: .whitespaces)
        if let mark = rest.range(of: "://") {
            let scheme = rest[..<mark.lowerBound].lowercased()
            guard scheme == "http" else {
                throw Self.unusable("speaks \(scheme.prefix(20)), and only http is supported")
            }
            rest = String(rest[mark.upperBound...])
        }
        rest = String(rest.prefix { !"/?#".contains($0) })
        if let mark = rest.lastIndex(of: "@") {
            let parts = rest[..<mark].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            user = parts.first.map(Self.decoded)
            password = parts.count > 1 ? Self.decoded(parts[1]) : nil
            rest = String(rest[mark...].dropFirst())
        }
        do {
            guard let host = try AvatarKey(url: "http://\(rest)/").host else { throw Self.unusable("names no host") }
            self.host = host
        } catch {
            throw Self.unusable("names no host")
        }
    }

    /// Host and port alone.
    public var description: String { host.description }

    /// The value of `Proxy-Authorization` (RFC 7617); `nil` without a user.
    package var authorization: String? {
        guard let user else { return nil }
        return "Basic " + Data("\(user):\(password ?? "")".utf8).base64EncodedString()
    }

    private static func decoded(_ text: Substring) -> String {
        text.removingPercentEncoding ?? String(text)
    }

    private static func unusable(_ why: String) -> AvatarStoreError {
        AvatarStoreError(.invalidConfiguration, "A proxy's address \(why).")
    }
}
