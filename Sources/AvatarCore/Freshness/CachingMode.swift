/// How closely the store follows the origin's word on what may be kept and served.
public enum CachingMode: String, Hashable, Sendable, CaseIterable {
    /// An old picture is better than none: responses that say `no-store` are kept too, and a stale image is served
    /// when the origin cannot confirm it, also against `must-revalidate`. A knowing departure from RFC 9111.
    case offlineFirst
    /// RFC 9111 to the letter, as a private cache.
    case strict
}
