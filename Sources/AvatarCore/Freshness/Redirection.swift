package import HTTPTypes

/// That an answer came from another URL than the one that was asked for, and how long that can be relied on.
///
/// Its validators are those of that other resource: nothing can be learnt from them about what the redirects may lead to
/// the next time (RFC 9110 section 8.8). And it stands for the URL that was asked for no longer than the redirects do,
/// each of which is a response with a freshness of its own (RFC 9111 section 4).
package struct Redirection: Hashable, Sendable {
    /// Where the answer came from, normalised.
    package var url: String
    /// For how many seconds the redirects hold, the least of what they say; `nil` if none of them says anything.
    package private(set) var lifetime: Int64?
    /// Whether one that is not permanent says nothing of how long it holds.
    package private(set) var isOpen = false

    /// Redirects to `url`, of which nothing is known yet.
    package init(to url: String) {
        self.url = url
    }

    /// Takes in one more redirect.
    package mutating func add(status: Int, fields: HTTPFields, at now: Timestamp) {
        let hop = ResponseMetadata(status: status, fields: fields, requestTime: now, responseTime: now)
        let directives = CacheControl(hop.fields)
        let isForNow = directives.noStore || directives.noCache || hop.saysPragmaNoCache
        if let said = isForNow ? 0 : directives.maxAge ?? hop.expiresAfter(exactly: true) {
            lifetime = min(lifetime ?? .max, max(0, said - hop.initialAge))
        } else if status != 301 && status != 308 {
            isOpen = true
        }
    }

    // MARK: As text

    /// What begins the line, so that it does not look like a header line.
    private static let mark = "@"

    /// `@SECONDS URL`; `?` after the seconds, or in their place, if one of the redirects says nothing.
    var line: String { "\(Self.mark)\(lifetime.map(String.init) ?? "")\(isOpen ? "?" : "") \(url)" }

    /// Reads what `line` wrote; `nil` if none of `lines` is one.
    init?(lines: some Sequence<Substring>) {
        guard let line = lines.first(where: { $0.utf8.starts(with: Self.mark.utf8) }),
            let space = line.utf8.firstIndex(of: UInt8(ascii: " "))
        else { return nil }
        url = String(line[space...].dropFirst())
        let said = line[..<space].dropFirst()
        isOpen = said.hasSuffix("?")
        lifetime = Int64(isOpen ? said.dropLast() : said)
    }
}
