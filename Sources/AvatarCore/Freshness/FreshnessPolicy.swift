/// How long a stored image is served without asking its origin. All times are in seconds.
package struct FreshnessPolicy: Hashable, Sendable {
    /// Whether the origin's word is law. Default: `offlineFirst`.
    package var mode = CachingMode.offlineFirst

    /// For how long after an answer the origin is not asked again, whatever it says, `no-cache` and `no-store`
    /// included. Default: 0. Without effect in `strict` mode.
    package var minimum: Int64 = 0

    /// The longest an image is fresh, whatever the origin says. Default: `nil`, no limit. At 0 the origin is always
    /// asked.
    package var maximum: Int64?

    /// How long an image is fresh where the origin says nothing to judge by. Default: 86,400, a day. Without effect in
    /// `strict` mode, where such an image is stale at once.
    package var defaultLifetime: Int64 = 86_400

    /// The part of an image's age since Last-Modified for which it is fresh if the origin names no time. Default: 0.1,
    /// as RFC 9111 section 4.2.2 proposes. At 0 such an image is stale at once.
    package var heuristicFraction = 0.1

    /// The most that `heuristicFraction` may come to. Default: 604,800, a week: a picture that was left alone for ten
    /// years is still noticed within days when it changes.
    package var heuristicMaximum: Int64 = 604_800

    /// After how long an image is fetched in full even if its origin keeps saying that it did not change, since some
    /// origins build validators that do not follow the bytes. Default: 2,592,000, 30 days. At 0 each check is a fetch.
    package var maximumAgeWithoutFetch: Int64 = 2_592_000

    /// Whether a response that says `no-store` is left out of the store. Default: `false`. `strict` mode implies it.
    package var respectsNoStore = false

    /// The defaults.
    package init() {}

    /// Whether the next check has to fetch the image in full, without validators, as the bytes came at `fetched`.
    ///
    /// Also where that is later than now: it was said by a clock that ran ahead, and may be any time ago.
    package func requiresFullFetch(fetched: Timestamp, now: Timestamp) -> Bool {
        now.seconds(since: fetched) >= maximumAgeWithoutFetch || fetched.isAhead(of: now)
    }
}
