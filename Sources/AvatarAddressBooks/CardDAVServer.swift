public import AvatarCore
public import AvatarOriginRules
public import AvatarStore
import AvatarFoundation

/// A CardDAV server (RFC 6352) with address books: `ContactSource.cardDAV(_:)` makes a source of a sync of it.
///
/// ```swift
/// var server = try CardDAVServer(url: "https://dav.example.org/")
/// server.login = CardDAVServer.Login(user: "ada", password: password)
/// let report = try await store.sync(from: [.cardDAV(server)])
/// ```
public struct CardDAVServer: Sendable {
    /// A user and the password. They go to the server's scheme, host and port only: by Basic over TLS and to loopback, by Digest
    /// where the server asks for it. They are in no message, no log and no index.
    public struct Login: Sendable {
        /// The user.
        public var user: String
        /// The password.
        public var password: String

        /// The login of `user`.
        public init(user: String, password: String) { (self.user, self.password) = (user, password) }

        /// The Kerberos ticket of the session, for a server that asks for Negotiate (RFC 4559): no user and no password. libcurl must
        /// have GSS-API. Requests for images do not use it.
        public static let ticket = Login(user: "", password: "")

        /// Whether it is the ticket.
        var isTicket: Bool { user.isEmpty && password.isEmpty }
    }

    /// The URL of an address book, or any other URL of the server, at which the search for the user's books begins (RFC 6764).
    public let url: String
    /// The login. Default: none; a token can be given with `http.fieldsForHost`.
    public var login: Login?
    /// The names of the books to read, as the server shows them or as they stand at the end of their URLs. Default: all.
    public var books: [String] = []
    /// The settings of the client. The host of the server may be private, whatever they say, because the caller named it; no redirect
    /// to another host is followed.
    public var http = OriginConfiguration()
    /// The scheme, host and port.
    let base: String
    /// The host and the port as keys have them.
    let host: String
    /// The path of `url`.
    let path: String

    /// The server at `url`, which must be http or https, without a user, a password, a query or a fragment.
    ///
    /// - Throws: `unsupportedURL`.
    public init(url: String) throws(AvatarStoreError) {
        let key = try AvatarKey(url: url)
        let text = key.rawValue
        let scheme = text.hasPrefix("https:") ? "https://" : "http://"
        let rest = text.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard let host = key.host?.description, !rest.contains("?") else {
            throw AvatarStoreError(.unsupportedURL, "The URL of a CardDAV server must have no query: \(key).")
        }
        self.url = text
        self.host = host
        base = scheme + authority
        let path = String(rest.dropFirst(authority.count))
        self.path = DAVPath.canonical(path.isEmpty ? "/" : path)
    }

    /// The name of the host, as `netrc` files have it.
    public var hostName: String {
        let end = host.lastIndex(of: ":") ?? host.endIndex
        return String(host[..<end].drop { $0 == "[" }.prefix { $0 != "]" })
    }

    /// Whether a password may be sent as it is: over TLS, or to this machine.
    var isPrivate: Bool { base.hasPrefix("https:") || hostName == "localhost" || isLoopbackAddress }

    private var isLoopbackAddress: Bool {
        guard let address = IPAddress(hostName) else { return false }
        return "\(address)" == "::1" || "\(address)".hasPrefix("127.")
    }

    /// The header fields with the login; none without one, and where a password must not be sent as it is.
    var loginFields: [(name: String, value: String)] {
        guard isPrivate, let login, !login.isTicket else { return [] }
        return [("Authorization", login.basic)]
    }

    /// Adds the login to requests for images at the scheme, host and port of the server.
    public func addLogin(to configuration: inout OriginConfiguration) {
        let (others, fields, start) = (configuration.fieldsForURL, loginFields, base + "/")
        configuration.fieldsForURL = { url in url.rawValue.hasPrefix(start) ? fields : others?(url) ?? [] }
    }
}

extension CardDAVServer.Login {
    /// The credentials of Basic (RFC 7617).
    var basic: String { "Basic " + Data("\(user):\(password)".utf8).base64EncodedString() }
}

extension ContactSource {
    /// The address books of `server`. A sync asks for what changed since the last one (RFC 6578) where the server can tell, else
    /// it compares the ETags of all cards; changed cards are read many at once.
    ///
    /// Nothing is unlinked if an answer was cut short, cannot be read or is about another path.
    public static func cardDAV(_ server: CardDAVServer) -> ContactSource {
        ContactSource(name: server.url, kind: .cardDAV, origin: server.base) { update in
            let client = try DAVClient(server, update)
            do {
                var reader = AddressBookReader(server, client, update)
                try await reader.run()
            } catch {
                await client.close()
                throw error
            }
            await client.close()
        }
    }
}
