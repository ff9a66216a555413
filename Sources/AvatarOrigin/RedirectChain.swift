import AvatarCore
import Foundation
import HTTPTypes

/// The hops of one fetch: how many, and to where.
struct RedirectChain {
    let limit: Int
    private let first: AvatarKey
    private let conditionalURL: String
    /// Where the next request goes.
    private(set) var url: AvatarKey
    private var visited: [AvatarKey]
    /// Whether the present hop is of another origin (scheme, host and port) than the first one.
    private(set) var hasLeftOrigin = false
    /// Where the redirects have led so far, and how long that holds.
    private(set) var redirection: Redirection?
    /// Whether a redirect led from https to http, so that everybody on the way reads along.
    private(set) var hasLostEncryption = false

    /// Begins at the URL of `request`.
    init(from request: OriginRequest, limit: Int) throws {
        first = try request.key ?? Self.key(request.url)
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
        guard let base = URL(string: url.rawValue),
            let target = URL(string: location, relativeTo: base)?.absoluteString
        else {
            throw OriginError(
                .unexpectedStatus,
                "\(url.redacted) redirects to something that is no URL."
            )
        }
        let next = try Self.key(target)
        guard visited.count <= limit else {
            throw OriginError(
                .tooManyRedirects,
                "\(url.redacted) redirects once more after \(limit) redirects, the limit."
            )
        }
        guard !visited.contains(next) else {
            throw OriginError(
                .tooManyRedirects,
                "\(url.redacted) redirects in a circle to \(next.redacted)."
            )
        }
        if url.isSecure, !next.isSecure { hasLostEncryption = true }
        hasLeftOrigin = next.host != first.host || next.isSecure != first.isSecure
        visited.append(next)
        url = next
        var redirection = redirection ?? Redirection(to: next.rawValue)
        redirection.url = next.rawValue
        redirection.add(
            status: status,
            fields: fields,
            at: Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        )
        self.redirection = redirection
    }

    private static func key(_ url: String) throws -> AvatarKey {
        do {
            return try AvatarKey(url: url)
        } catch {
            throw OriginError(.unsupportedURL, error.message)
        }
    }
}
