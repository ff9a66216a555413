import AvatarCore
import Foundation

/// The hops of one fetch: how many, and to where.
struct RedirectChain {
    let limit: Int
    private var visited: Set<AvatarKey> = []

    init(limit: Int) {
        self.limit = limit
    }

    /// The first hop.
    mutating func start(_ url: String) throws -> AvatarKey {
        let first = try key(url)
        visited.insert(first)
        return first
    }

    /// The hop that `location` (RFC 9110 section 10.2.2) names, relative to `url`.
    mutating func follow(_ location: String, from url: AvatarKey) throws -> AvatarKey {
        guard let base = URL(string: url.rawValue),
            let target = URL(string: location, relativeTo: base)?.absoluteString
        else {
            throw OriginError(
                .unexpectedStatus,
                "\(url.redacted) redirects to something that is no URL."
            )
        }
        let next = try key(target)
        guard visited.count <= limit else {
            throw OriginError(
                .tooManyRedirects,
                "\(url.redacted) redirects once more after \(limit) redirects, the limit."
            )
        }
        guard visited.insert(next).inserted else {
            throw OriginError(
                .tooManyRedirects,
                "\(url.redacted) redirects in a circle to \(next.redacted)."
            )
        }
        return next
    }

    private func key(_ url: String) throws -> AvatarKey {
        do {
            return try AvatarKey(url: url)
        } catch {
            throw OriginError(.unsupportedURL, error.message)
        }
    }
}
