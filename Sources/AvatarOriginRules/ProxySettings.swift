public import AvatarCore

/// The proxies for http and https URLs, and the hosts that need none.
public struct ProxySettings: Hashable, Sendable {
    /// The proxy for http URLs; `nil` for none.
    public var http: ProxyServer?
    /// The proxy for https URLs, which tunnels the bytes (CONNECT or SOCKS); `nil` for none.
    public var https: ProxyServer?
    /// The hosts that the client contacts directly. Default: none.
    public var exceptions: ProxyExceptions

    /// Settings with these proxies. Without arguments, the client contacts all hosts directly.
    public init(
        http: ProxyServer? = nil,
        https: ProxyServer? = nil,
        exceptions: ProxyExceptions = ProxyExceptions()
    ) {
        (self.http, self.https, self.exceptions) = (http, https, exceptions)
    }

    /// Reads the variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` of `environment`, in lower or upper
    /// case. Lower case takes precedence, an empty variable counts as unset, and `all_proxy` is for both schemes.
    ///
    /// If `REQUEST_METHOD` is set, the program may be a CGI script. `HTTP_PROXY` in upper case is then ignored, because
    /// the web server sets it from the request's `Proxy` field, which any client controls.
    ///
    /// - Throws: `invalidConfiguration` if the address of a proxy that applies is invalid. The message names the
    ///   variable without its value. The client must not bypass such a proxy silently.
    public init(environment: [String: String]) throws(AvatarStoreError) {
        let isGateway = environment["REQUEST_METHOD"] != nil
        http = try Self.server(isGateway ? ["http_proxy"] : ["http_proxy", "HTTP_PROXY"], environment)
        https = try Self.server(["https_proxy", "HTTPS_PROXY"], environment)
        exceptions = ProxyExceptions(Self.value(["no_proxy", "NO_PROXY"], environment)?.value ?? "")
    }

    /// The proxy for `url`; `nil` if the client contacts the host directly.
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

/// The address of a proxy, its protocol, and the credentials for it.
public struct ProxyServer: Hashable, Sendable, CustomStringConvertible {
    /// The protocol that a proxy speaks.
    public enum Scheme: String, Hashable, Sendable {
        /// HTTP without TLS. The default port is 80.
        case http
        /// HTTP over TLS. The default port is 443.
        case https
        /// SOCKS version 5 (RFC 1928). The proxy connects to an address that this machine has looked up. The default port
        /// is 1080.
        case socks5
        /// As `socks5`, but the proxy looks up a name that this machine cannot look up. The default port is 1080.
        case socks5h

        /// The port of a proxy whose address names none.
        var defaultPort: Int {
            switch self {
            case .http: 80
            case .https: 443
            case .socks5, .socks5h: 1080
            }
        }

        /// Whether this is SOCKS, which tunnels the bytes of all URLs.
        package var isSOCKS: Bool { self == .socks5 || self == .socks5h }
    }

    /// The protocol of the proxy. Default: `http`.
    public var scheme: Scheme
    /// The host and port of the proxy.
    public var host: HostName
    /// The user name; `nil` for a proxy without authentication.
    public var user: String?
    /// The password. Only the proxy receives it: no message, log or index contains it.
    public var password: String?

    /// The proxy at `host`, with optional credentials.
    public init(scheme: Scheme = .http, host: HostName, user: String? = nil, password: String? = nil) {
        (self.scheme, self.host, self.user, self.password) = (scheme, host, user, password)
    }

    /// Reads `http://user:password@host:port/`, or the same with `https`, `socks5` or `socks5h`. Scheme, user, password and
    /// port are optional; the default is http.
    ///
    /// - Throws: `invalidConfiguration` for another scheme, and for text without a valid host. The message does not
    ///   contain the credentials.
    public init(_ text: String) throws(AvatarStoreError) {
        var rest = String(text.withoutBlanks)
        scheme = .http
        if let mark = rest.firstRange(of: "://") {
            let name = rest[..<mark.lowerBound].lowercased()
            guard let known = Scheme(rawValue: name) else {
                // Text before "://" that is not a scheme may be a password.
                let isScheme = name.allSatisfy { $0.isLetter || $0.isNumber }
                throw Self.unusable(
                    "must begin with http://, https://, socks5:// or socks5h://"
                        + (isScheme ? ", not \"\(name.prefix(20))://\"" : "")
                )
            }
            scheme = known
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
            guard let host = try AvatarKey(url: "http://\(rest)/").host else {
                throw Self.unusable("has no valid host; write it as http://host:port")
            }
            self.host = Self.hasPort(rest) ? host : HostName(name: host.name, port: scheme.defaultPort)
        } catch {
            throw Self.unusable("has no valid host; write it as http://host:port")
        }
    }

    /// The host and port, without credentials.
    public var description: String { host.description }

    /// Whether `authority` names a port. The colons of an IPv6 address are in brackets.
    private static func hasPort(_ authority: String) -> Bool {
        let end = authority.utf8.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
        return authority.utf8[end...].contains(UInt8(ascii: ":"))
    }

    private static func decoded(_ text: Substring) -> String {
        text.percentDecoded ?? String(text)
    }

    private static func unusable(_ why: String) -> AvatarStoreError {
        AvatarStoreError(.invalidConfiguration, "The address of the proxy \(why).")
    }
}
