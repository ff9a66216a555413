import AvatarCore

/// The cookies of one redirect chain (RFC 6265): they are set by a redirect, sent on later hops of the same chain, and
/// forgotten with it.
///
/// A cookie goes back to the host that set it and to no other, also if it has a `Domain`: which parent domains are open to
/// registration, and so shared by strangers, is not known here.
struct CookieJar {
    private struct Cookie: Hashable {
        let name: Substring
        let host: String
        var path: Substring
        var isSecure = false
        var value: Substring
    }

    /// The most cookies of a chain. Later ones are ignored.
    static let maximumCount = 50
    /// The most bytes of name and value. Longer ones are ignored.
    static let maximumBytes = 4_096

    private var cookies: [Cookie] = []

    /// Takes in the `Set-Cookie` fields of the response from `url`.
    ///
    /// - Returns: whether a later request to that host would differ by it.
    mutating func store(_ fields: [String], from url: AvatarKey, at now: Timestamp) -> Bool {
        let before = cookies
        for field in fields { store(field, from: url, at: now) }
        return cookies != before
    }

    /// The `Cookie` field of a request to `url`; `nil` if no cookie belongs to it.
    func field(for url: AvatarKey) -> String? {
        guard let host = url.host?.bareName else { return nil }
        let path = Self.path(of: url)
        let sent = cookies.filter { cookie in
            cookie.host == host && (url.isSecure || !cookie.isSecure) && Self.matches(path, cookie.path)
        }
        // Longer paths first (section 5.4).
        let sorted = sent.enumerated().sorted {
            ($1.element.path.utf8.count, $0.offset) < ($0.element.path.utf8.count, $1.offset)
        }
        let pairs = sorted.map { $0.element.name.isEmpty ? $0.element.value : "\($0.element.name)=\($0.element.value)" }
        return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
    }

    // MARK: How it works

    private mutating func store(_ field: String, from url: AvatarKey, at now: Timestamp) {
        guard let host = url.host?.bareName else { return }
        let parts = field.split(separator: ";", omittingEmptySubsequences: false)
        let (name, value) = Self.pair(parts[0])
        // The replacement character stands for bytes that are lost.
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

    /// `name=value`; without an equals sign the name of an attribute, or nothing of a cookie.
    private static func pair(_ text: Substring, isAttribute: Bool = false) -> (name: Substring, value: Substring) {
        guard let sign = text.firstIndex(of: "=") else { return (isAttribute ? text.withoutBlanks : "", "") }
        return (text[..<sign].withoutBlanks, text[sign...].dropFirst().withoutBlanks)
    }

    /// Whether `domain` is `host` or a parent of it (section 5.1.3). An empty one says nothing.
    private static func covers(_ domain: String, _ host: String) -> Bool {
        let domain = domain.hasPrefix(".") ? domain.dropFirst() : domain[...]
        return domain.isEmpty || host == domain || (host.hasSuffix("." + domain) && IPAddress(host) == nil)
    }

    private static func path(of url: AvatarKey) -> Substring {
        url.originAndTarget.target.prefix { $0 != "?" }
    }

    /// The folder of the URL (section 5.1.4).
    private static func defaultPath(of url: AvatarKey) -> Substring {
        let folder = path(of: url).reversed().drop { $0 != "/" }.dropFirst()
        return folder.isEmpty ? "/" : Substring(String(folder.reversed()))
    }

    private static func matches(_ path: Substring, _ cookiePath: Substring) -> Bool {
        guard path.hasPrefix(cookiePath) else { return false }
        return cookiePath.hasSuffix("/") || path.count == cookiePath.count
            || path.dropFirst(cookiePath.count).first == "/"
    }
}
