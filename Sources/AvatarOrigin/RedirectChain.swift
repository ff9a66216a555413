import AvatarCore
import Foundation
import HTTPTypes

/// The hops of one fetch: how many, and to where.
struct RedirectChain {
    let limit: Int
    private var count = 0
    private let first: AvatarKey
    private let conditionalURL: String
    /// Where the next request goes.
    private(set) var url: AvatarKey
    /// The hops since a cookie last changed: a redirect back to one of them would lead in a circle.
    private var visited: [AvatarKey]
    /// The cookies that redirects have set, for the hops that follow.
    private(set) var cookies = CookieJar()
    /// Whether the present hop is of another origin (scheme, host and port) than the first one.
    private(set) var hasLeftOrigin = false
    /// Where the redirects have led so far, and how long that holds.
    private(set) var redirection: Redirection?
    /// Whether a redirect led from https to http, so that everybody on the way reads along.
    private(set) var hasLostEncryption = false

    /// Begins at the URL of `request`.
    init(from request: OriginRequest, limit: Int) throws {
        first = try request.key ?? Self.key { () throws(AvatarStoreError) in try AvatarKey(url: request.url) }
        self.url = first
        conditionalURL = request.conditionalURL ?? first.rawValue
        self.limit = limit
        visited = [first]
    }

    /// Whether the conditions are about the present hop.
    var isConditional: Bool { url.rawValue == conditionalURL }

    /// Goes on to what `location` (RFC 9110 section 10.2.2) names, relative to the present hop, as an answer with this
    /// status and these fields says.
    mutating func follow(_ location: String, status: Int, fields: HTTPFields) throws {
        // Over HTTP/2 bytes that are not UTF-8 are lost by now; the URL without them could be another person's.
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
        if cookies.store(fields[values: .setCookie], from: url, at: now) { visited.removeAll() }
        guard !visited.contains(next) else {
            throw OriginError(
                .tooManyRedirects,
                "\(url.redacted) redirects in a circle to \(next.redacted)."
            )
        }
        if url.isSecure, !next.isSecure { hasLostEncryption = true }
        hasLeftOrigin = next.host != first.host || next.isSecure != first.isSecure
        count += 1
        visited.append(next)
        url = next
        var redirection = redirection ?? Redirection(to: next.rawValue)
        redirection.url = next.rawValue
        redirection.add(status: status, fields: fields, at: now)
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
