package import AvatarCore
import AvatarFoundation
package import AvatarProviders
package import HTTPTypes

/// The redirects of one fetch: the current hop, the hops before it, and their cookies.
package struct RedirectChain: Sendable {
    /// The maximum number of redirects.
    package let limit: Int
    /// The number of redirects followed.
    private var count = 0
    /// The URL of the first hop.
    private let first: AvatarKey
    /// The URL that the conditions of the request apply to.
    private let conditionalURL: String
    /// The URL of the current hop.
    package private(set) var url: AvatarKey
    /// The hops before the current one, since a cookie last changed. A redirect back to one of them is a circle.
    private var visited: [AvatarKey] = []
    /// The cookies that redirects have set, for later hops.
    package private(set) var cookies = CookieJar()
    /// Whether the current hop has another origin (scheme, host and port) than the first one.
    package private(set) var hasLeftOrigin = false
    /// Whether a redirect has led to another origin, even if a later one has led back.
    package private(set) var hasWandered = false
    /// The final URL so far, and how long the redirects may be reused; `nil` without redirects.
    package private(set) var redirection: Redirection?
    /// Whether a redirect led from https to http, so that the network can read the requests.
    package private(set) var hasLostEncryption = false

    /// A chain that begins at the URL of `request`.
    ///
    /// - Throws: `OriginError` with the kind `unsupportedURL` for an invalid URL.
    package init(from request: OriginRequest, limit: Int) throws {
        first = try request.key ?? Self.key { () throws(AvatarStoreError) in try AvatarKey(url: request.url) }
        self.url = first
        conditionalURL = request.conditionalURL ?? first.rawValue
        self.limit = limit
    }

    /// Whether the conditions of the request belong to the current hop.
    package var isConditional: Bool { url.rawValue == conditionalURL }

    /// Moves to the next hop.
    ///
    /// - Parameters:
    ///   - location: the Location field (RFC 9110 section 10.2.2), relative to the current hop.
    ///   - status: the status of the redirect.
    ///   - fields: all of its header fields.
    /// - Throws: `OriginError` with the kind `tooManyRedirects` for a circle or more redirects than the limit,
    ///   `unsupportedURL` for an invalid target, or `unexpectedStatus` for a target with bytes that are not UTF-8.
    package mutating func follow(_ location: String, status: Int, fields: HTTPFields) throws {
        // Over HTTP/2, bytes that are not UTF-8 are lost by now, and the URL without them could be another contact's.
        guard !location.unicodeScalars.contains("\u{FFFD}") else {
            throw OriginError(
                .unexpectedStatus,
                "\(url.redacted) redirects to a URL with bytes that are not UTF-8; they must be percent-encoded."
            )
        }
        let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        let next = try Self.key { () throws(AvatarStoreError) in try AvatarKey(reference: location, relativeTo: url) }
        guard count < limit else {
            throw OriginError(
                .tooManyRedirects,
                "\(url.redacted) redirects again, and the limit is \(limit) redirects for one image."
            )
        }
        if cookies.store(fields[values: .setCookie], from: url, at: now) {
            visited.removeAll()
        } else {
            visited.append(url)
        }
        guard !visited.contains(next) else {
            throw OriginError(
                .tooManyRedirects,
                "\(url.redacted) redirects in a circle to \(next.redacted)."
            )
        }
        if url.isSecure, !next.isSecure { hasLostEncryption = true }
        hasLeftOrigin = next.host != first.host || next.isSecure != first.isSecure
        if hasLeftOrigin { hasWandered = true }
        count += 1
        url = next
        var redirection = redirection ?? Redirection(to: next.rawValue)
        redirection.follow(to: next, status: status, fields: fields, at: now)
        self.redirection = redirection
    }

    private static func key(_ make: () throws(AvatarStoreError) -> AvatarKey) throws -> AvatarKey {
        do {
            return try make()
        } catch {
            throw OriginError(.unsupportedURL, error.message)
        }
    }
}
