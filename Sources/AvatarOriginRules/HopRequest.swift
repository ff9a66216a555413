import AvatarCore
package import HTTPTypes

/// The URL, the target and the header fields of a request for one hop.
package struct HopRequest {
    /// The scheme and authority of the origin.
    package let origin: String
    /// Path and query, byte for byte.
    private let pathAndQuery: String
    /// The whole URL.
    private let url: String
    /// The header fields.
    package private(set) var fields: RequestFields

    /// The request for the current hop of `hops`.
    ///
    /// Fields for one origin are never sent to another, so `fieldsForHost` is called for each hop. The conditions are
    /// sent only to the URL that they belong to.
    ///
    /// - Parameters:
    ///   - hops: the redirect chain.
    ///   - fields: the fields of the store's request.
    ///   - configuration: the settings of the client.
    package init(
        _ hops: RedirectChain,
        fields: HTTPFields,
        configuration: OriginConfiguration
    ) {
        (origin, pathAndQuery) = hops.url.originAndTarget
        url = hops.url.rawValue
        self.fields = RequestFields(userAgent: configuration.userAgent)
        for field in fields where Self.conditions.contains(field.name) ? hops.isConditional : !hops.hasLeftOrigin {
            self.fields.set(field.name.rawName, field.value)
        }
        if let hook = configuration.fieldsForHost, !hops.hasLostEncryption, let host = hops.url.host {
            for field in hook(host.description) { self.fields.set(field.name, field.value) }
        }
        if let hook = configuration.fieldsForURL, !hops.hasLostEncryption {
            for field in hook(hops.url) { self.fields.set(field.name, field.value) }
        }
        if let cookies = hops.cookies.field(for: hops.url) { self.fields.addCookies(cookies) }
    }

    /// The request target: for a proxy that forwards, the whole URL (RFC 9112 section 3.2.2).
    package func target(along route: Route) -> String {
        if case .forward = route { return url }
        return pathAndQuery
    }

    private static let conditions: [HTTPField.Name] = [
        .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange, .range,
    ]
}

/// The header fields of a request: the three that every request has, and others.
package struct RequestFields: Sendable {
    /// The fields that every request has, as long as no other field replaces them.
    private var userAgent: String?
    private var accept: String? = "image/*, */*;q=0.1"
    /// The store keeps the image's own bytes, so a content coding would have to be decoded first.
    private var acceptEncoding: String? = "identity"
    /// All other fields, in order.
    package private(set) var others: [(name: String, value: String)] = []

    /// The fields of a request without conditions.
    package init(userAgent: String) {
        self.userAgent = userAgent
    }

    /// Whether no field replaces one that every request has.
    package var isStandard: Bool { userAgent != nil && accept != nil && acceptEncoding != nil }

    /// All fields.
    package var all: [(name: String, value: String)] {
        let standard = [("User-Agent", userAgent), ("Accept", accept), ("Accept-Encoding", acceptEncoding)]
        return standard.compactMap { name, value in value.map { (name, $0) } } + others
    }

    /// Adds a field, or replaces the one of the same name.
    mutating func set(_ name: String, _ value: String) {
        if Self.equal(name, "User-Agent") { userAgent = nil }
        if Self.equal(name, "Accept") { accept = nil }
        if Self.equal(name, "Accept-Encoding") { acceptEncoding = nil }
        if let place = others.firstIndex(where: { Self.equal($0.name, name) }) {
            others[place].value = value
        } else {
            others.append((name, value))
        }
    }

    /// Adds `cookies` to the `Cookie` field (RFC 6265 section 5.4).
    mutating func addCookies(_ cookies: String) {
        let own = others.first { Self.equal($0.name, "Cookie") }
        set("Cookie", own.map { "\($0.value); \(cookies)" } ?? cookies)
    }

    /// Whether two field names are the same, in any case (RFC 9110 section 5.1).
    private static func equal(_ one: String, _ other: String) -> Bool {
        let (left, right) = (one.utf8, other.utf8)
        return left.count == right.count && zip(left, right).allSatisfy { $0 | 0x20 == $1 | 0x20 }
    }
}
