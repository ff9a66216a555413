public import AvatarCore
import Foundation

/// Which requests go through which proxy.
public struct ProxySettings: Hashable, Sendable {
    /// For http URLs; `nil`: none.
    public var http: ProxyServer?
    /// For https URLs, which it only passes on; `nil`: none.
    public var https: ProxyServer?
    /// The hosts that are asked directly.
    public var exceptions = ProxyExceptions()

    /// No proxy.
    public init() {}

    /// What the variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` of `environment` say, in lower or
    /// upper case. Lower case comes first, an empty variable counts as none, `all_proxy` is for both schemes.
    ///
    /// `HTTP_PROXY` in upper case does not count where `REQUEST_METHOD` is set: a web server hands it to its programs as
    /// a request's `Proxy` field, which is anybody's to choose.
    ///
    /// - Throws: `invalidConfiguration`, naming the variable and not its value, if a proxy that would be used cannot be:
    ///   going around it would not be what was asked for.
    public init(environment: [String: String]) throws(AvatarStoreError) {
        let isGateway = environment["REQUEST_METHOD"] != nil
        http = try Self.server(isGateway ? ["http_proxy"] : ["http_proxy", "HTTP_PROXY"], environment)
        https = try Self.server(["https_proxy", "HTTPS_PROXY"], environment)
        exceptions = ProxyExceptions(Self.value(["no_proxy", "NO_PROXY"], environment)?.value ?? "")
    }

    /// The proxy for `url`; `nil`: its host is asked directly.
    package func server(for url: AvatarKey) -> ProxyServer? {
        guard http != nil || https != nil, let host = url.host else { return nil }
        let server = url.rawValue.utf8.starts(with: "https:".utf8) ? https : http
        guard let server, !exceptions.contains(host) else { return nil }
        return server
    }

    private static func server(
        _ names: [String],
        _ environment: [String: String]
    ) throws(AvatarStoreError) -> ProxyServer? {
        guard let found = value(names + ["all_proxy", "ALL_PROXY"], environment) else { return nil }
        do {
            return try ProxyServer(found.value)
        } catch {
            throw AvatarStoreError(error.code, "\(found.name): \(error.message)")
        }
    }

    private static func value(
        _ names: [String],
        _ environment: [String: String]
    ) -> (name: String, value: String)? {
        for name in names {
            if let value = environment[name], !value.isEmpty { return (name, value) }
        }
        return nil
    }
}

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
