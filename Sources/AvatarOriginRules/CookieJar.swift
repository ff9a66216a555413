package import AvatarCore

/// The cookies of one redirect chain (RFC 6265). A redirect sets them, later hops of the same chain send them, and they
/// are dropped at its end.
///
/// A cookie is sent only to the host that set it, even if it has a `Domain`. The client has no public suffix list, so
/// it cannot tell which parent domains are shared by strangers.
package struct CookieJar {
    /// A stored cookie. It is sent to `host` only, to paths that `path` matches, and over https only if it is secure.
    private struct Cookie: Hashable {
        let name: Substring
        let host: String
        var path: Substring
        var isSecure = false
        var value: Substring
    }

    /// The maximum number of cookies in a chain. Further ones are ignored.
    package static let maximumCount = 50
    /// The maximum length of name and value together, in bytes. Longer cookies are ignored.
    package static let maximumBytes = 4_096

    /// The cookies of the chain.
    private var cookies: [Cookie] = []

    /// No cookies.
    package init() {}

    /// Stores the `Set-Cookie` fields of a response from `url`.
    ///
    /// - Parameters:
    ///   - fields: the values of the fields.
    ///   - url: the URL of the response.
    ///   - now: the current time, which decides whether a cookie has expired.
    /// - Returns: whether the cookies changed, so that a later request to the host would differ.
    package mutating func store(_ fields: [String], from url: AvatarKey, at now: Timestamp) -> Bool {
        let before = cookies
        for field in fields { store(field, from: url, at: now) }
        return cookies != before
    }

    /// The value of the `Cookie` field in a request to `url`; `nil` without a matching cookie.
    package func field(for url: AvatarKey) -> String? {
        guard !cookies.isEmpty, let host = url.host?.bareName else { return nil }
        let path = Self.path(of: url)
        let sent = cookies.filter { cookie in
            cookie.host == host && (url.isSecure || !cookie.isSecure) && Self.matches(path, cookie.path)
        }
        // Cookies with longer paths come first (section 5.4).
        let sorted = sent.enumerated().sorted {
            ($1.element.path.utf8.count, $0.offset) < ($0.element.path.utf8.count, $1.offset)
        }
        let pairs = sorted.map { $0.element.name.isEmpty ? $0.element.value : "\($0.element.name)=\($0.element.value)" }
        return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
    }

    // MARK: Storing

    /// Stores one `Set-Cookie` field (section 5.2), or removes the cookie that it lets expire.
    private mutating func store(_ field: String, from url: AvatarKey, at now: Timestamp) {
        guard let host = url.host?.bareName else { return }
        let parts = field.split(separator: ";", omittingEmptySubsequences: false)
        let (name, value) = Self.pair(parts[0])
        // U+FFFD stands for bytes that were not UTF-8, so the cookie could not be sent back verbatim.
        guard !name.isEmpty, name.utf8.count + value.utf8.count <= Self.maximumBytes, !field.contains("\u{FFFD}") else {
            return
        }
        var cookie = Cookie(name: name, host: host, path: Self.defaultPath(of: url), value: value)
        var isForeign = false
        var expires: Bool?
        var endsByAge: Bool?
        for part in parts.dropFirst() {
            let (attribute, value) = Self.pair(part, isAttribute: true)
            switch attribute.lowercased() {
            case "path": cookie.path = value.hasPrefix("/") ? value : Self.defaultPath(of: url)
            case "domain": isForeign = !Self.covers(value.lowercased(), host)
            case "secure": cookie.isSecure = true
            case "max-age": endsByAge = Int64(value).map { $0 <= 0 } ?? (value.hasPrefix("-") ? true : endsByAge)
            case "expires": expires = HTTPDate.parse(String(value), now: now).map { $0 <= now }
            default: break
            }
        }
        guard !isForeign, url.isSecure || !cookie.isSecure else { return }
        let place = cookies.firstIndex { $0.name == cookie.name && $0.host == host && $0.path == cookie.path }
        if endsByAge ?? expires ?? false {
            if let place { cookies.remove(at: place) }
        } else if let place {
            cookies[place] = cookie
        } else if cookies.count < Self.maximumCount {
            cookies.append(cookie)
        }
    }

    /// Splits `name=value`. Without an equals sign, an attribute has only a name, and a cookie is invalid.
    private static func pair(_ text: Substring, isAttribute: Bool = false) -> (name: Substring, value: Substring) {
        guard let sign = text.firstIndex(of: "=") else { return (isAttribute ? text.withoutBlanks : "", "") }
        return (text[..<sign].withoutBlanks, text[sign...].dropFirst().withoutBlanks)
    }

    /// Whether `domain` is empty, `host`, or a parent domain of `host` (section 5.1.3).
    private static func covers(_ domain: String, _ host: String) -> Bool {
        let domain = domain.hasPrefix(".") ? domain.dropFirst() : domain[...]
        return domain.isEmpty || host == domain || (host.hasSuffix("." + domain) && IPAddress(host) == nil)
    }

    /// The path of a URL, without its query.
    private static func path(of url: AvatarKey) -> Substring {
        url.originAndTarget.target.prefix { $0 != "?" }
    }

    /// The default path of a cookie: the folder of the URL (section 5.1.4).
    private static func defaultPath(of url: AvatarKey) -> Substring {
        let folder = path(of: url).reversed().drop { $0 != "/" }.dropFirst()
        return folder.isEmpty ? "/" : Substring(String(folder.reversed()))
    }

    /// Whether a request for `path` gets a cookie with `cookiePath` (section 5.1.4).
    private static func matches(_ path: Substring, _ cookiePath: Substring) -> Bool {
        guard path.hasPrefix(cookiePath) else { return false }
        return cookiePath.hasSuffix("/") || path.count == cookiePath.count
            || path.dropFirst(cookiePath.count).first == "/"
    }
}
