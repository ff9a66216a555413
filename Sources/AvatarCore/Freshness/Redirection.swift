// Re-exported: header fields are part of the interface of the store.
@_exported public import HTTPTypes

/// The redirects that led from the requested URL to the final response, and how long they may be reused.
///
/// The validators of the response belong to the final URL. They do not tell whether the redirects will lead there again
/// (RFC 9110 section 8.8). The response is fresh for the requested URL only as long as each redirect, which is a
/// response with its own freshness (RFC 9111 section 4).
///
/// A client of your own records the redirects that it follows: `init(to:status:fields:at:)` for the first one, then
/// `follow(to:status:fields:at:)` for each further one. It sets them as `OriginResponse.redirection`.
public struct Redirection: Hashable, Sendable {
    /// The final URL, normalised.
    public private(set) var url: String
    /// The shortest lifetime of the redirects in seconds; `nil` if no redirect states one.
    package private(set) var lifetime: Int64?
    /// Whether a temporary redirect states no lifetime.
    package private(set) var isOpen = false

    /// Redirects to `url`, before `add` has recorded their lifetimes.
    package init(to url: String) {
        self.url = url
    }

    /// One redirect to `target`, the key of an http or https URL, which `AvatarKey(reference:relativeTo:)` makes of the
    /// Location field.
    ///
    /// - Parameters:
    ///   - target: the target of the redirect.
    ///   - status: the status of the redirect, 301 and 308 being permanent.
    ///   - fields: its header fields, which say for how long it may be reused.
    ///   - now: when it arrived.
    public init(to target: AvatarKey, status: Int, fields: HTTPFields, at now: Timestamp) {
        url = target.rawValue
        add(status: status, fields: fields, at: now)
    }

    /// Adds a further redirect, to `target`, with the same parameters as `init(to:status:fields:at:)`.
    public mutating func follow(to target: AvatarKey, status: Int, fields: HTTPFields, at now: Timestamp) {
        url = target.rawValue
        add(status: status, fields: fields, at: now)
    }

    /// Adds the lifetime of one redirect.
    ///
    /// - Parameters:
    ///   - status: the status of the redirect, 301 and 308 being permanent.
    ///   - fields: its header fields.
    ///   - now: when it arrived.
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

    /// The first character of the line, which distinguishes it from a header line.
    private static let mark = "@"

    /// The text form in the index: `@SECONDS URL`, without the seconds if `lifetime` is `nil`, and with `?` before the
    /// space if `isOpen`.
    var line: String { "\(Self.mark)\(lifetime.map(String.init) ?? "")\(isOpen ? "?" : "") \(url)" }

    /// Reads the first of `lines` in the form of `line`; `nil` if no line has it.
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
