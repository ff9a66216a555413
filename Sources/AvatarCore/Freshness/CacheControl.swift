package import HTTPTypes

/// What the Cache-Control field of a response says (RFC 9111 section 5.2.2, RFC 5861, RFC 8246).
///
/// Directives are read in either case, with their argument quoted or not, and unknown ones are skipped (sections 5.2
/// and 5.2.3). Of two with the same name the first counts; an argument that is no number of seconds, or breaks the
/// grammar, makes a lifetime zero and a permission void (section 4.2.1); larger numbers than 2^31 count as that
/// (section 1.2.2). A directive that takes no argument counts also with one.
package struct CacheControl: Hashable, Sendable {
    /// Seconds of freshness; 0 also where the number cannot be read.
    package private(set) var maxAge: Int64?
    /// As `maxAge`, but for caches that serve several users. Ours serves one host program, so nothing follows from it.
    package private(set) var sharedMaxAge: Int64?
    /// The response is not to be kept.
    package private(set) var noStore = false
    /// The response is not to be used before the origin has confirmed it.
    package private(set) var noCache = false
    /// The fields that `no-cache="…"` names: only they are not to be reused.
    package private(set) var noCacheFields: [String] = []
    /// Once stale, the response is not to be used before the origin has confirmed it.
    package private(set) var mustRevalidate = false
    /// Caches with several users may not keep it; ours may.
    package private(set) var isPrivate = false
    /// The fields that `private="…"` names: only they are not for caches with several users.
    package private(set) var privateFields: [String] = []
    /// May be kept whatever its status.
    package private(set) var isPublic = false
    /// Does not change while it is fresh.
    package private(set) var immutable = false
    /// A cache that knows the status ignores `no-store`.
    package private(set) var mustUnderstand = false
    /// How many seconds a stale response may be used when the origin answers with an error.
    package private(set) var staleIfError: Int64?

    /// What all Cache-Control lines of `fields` say together.
    package init(_ fields: HTTPFields) {
        self.init(fields[.cacheControl] ?? "")
    }

    /// What the value of a Cache-Control field says.
    package init(_ value: String) {
        var seen: Set<String> = []
        for directive in DirectiveReader(value)
        where directive.isQualified || seen.insert(directive.name).inserted {
            apply(directive)
        }
    }

    private mutating func apply(_ directive: DirectiveReader.Directive) {
        switch directive.name {
        case "max-age": maxAge = directive.seconds ?? 0
        case "s-maxage": sharedMaxAge = directive.seconds ?? 0
        case "no-store": noStore = true
        case "no-cache" where directive.isQualified: noCacheFields += directive.fieldNames
        case "no-cache": noCache = true
        case "must-revalidate": mustRevalidate = true
        case "private" where directive.isQualified: privateFields += directive.fieldNames
        case "private": isPrivate = true
        case "public": isPublic = true
        case "immutable": immutable = true
        case "must-understand": mustUnderstand = true
        case "stale-if-error": staleIfError = directive.seconds
        default: break
        }
    }
}
