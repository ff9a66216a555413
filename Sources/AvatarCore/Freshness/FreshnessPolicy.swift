package import HTTPTypes

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

extension FreshnessPolicy {
    /// What the response `metadata` comes to: how long it is fresh, and whether it may be kept and served stale.
    ///
    /// Judged as a private cache: `private` may be kept, `s-maxage` and `proxy-revalidate` are for others. The time now
    /// is not asked for: the result holds until another response comes.
    /// - Parameter request: the fields that a request for the image would have now; `nil`: as those of the one that
    ///   brought it.
    package func assess(_ metadata: ResponseMetadata, for request: HTTPFields? = nil) -> Freshness {
        let directives = CacheControl(metadata.fields)
        let (lifetime, own) = limited(lifetime(of: metadata, directives, request))
        let age = metadata.initialAge
        let ownRemaining = max(0, lifetime - age)
        let remaining = min(ownRemaining, metadata.redirection.map { self.lifetime(of: $0) } ?? .max)
        let reason = remaining < ownRemaining ? Freshness.Reason.redirect : own
        let isProlonged = mode == .offlineFirst && minimum > remaining
        return Freshness(
            lifetime: lifetime,
            initialAge: age,
            responseTime: metadata.responseTime,
            freshUntil: metadata.responseTime.adding(seconds: isProlonged ? minimum : remaining),
            allowsStore: allowsStore(metadata, directives),
            mustRevalidate: mode == .strict && (directives.mustRevalidate || Self.forbidsReuse.contains(reason)),
            servesStaleFreely: mode == .offlineFirst,
            staleIfError: directives.staleIfError ?? 0,
            reason: isProlonged ? .minimum : reason
        )
    }

    // MARK: Lifetime (RFC 9111 sections 4.2.1 and 4.2.2)

    /// Not to be used again without the origin's word, fresh or stale.
    private static let forbidsReuse: Set<Freshness.Reason> = [.noStore, .noCache, .pragma, .varyAll, .varied]

    /// Where directives contradict each other, the one that allows least is followed (section 4.2.1).
    private func lifetime(
        of metadata: ResponseMetadata,
        _ directives: CacheControl,
        _ request: HTTPFields?
    ) -> (seconds: Int64, reason: Freshness.Reason) {
        if forbidsStore(metadata, directives) { return (0, .noStore) }
        if VaryRule(metadata.fields).matchesNothing { return (0, .varyAll) }
        if let request, !allowsSelection(of: metadata, for: request) { return (0, .varied) }
        if directives.noCache { return (0, .noCache) }
        if metadata.saysPragmaNoCache { return (0, .pragma) }
        if let maxAge = directives.maxAge { return (maxAge, .maxAge) }
        if let expires = metadata.expiresAfter(exactly: mode == .strict) { return (expires, .expires) }
        if let seconds = heuristicLifetime(of: metadata, directives) { return (seconds, .heuristic) }
        return mode == .strict ? (0, .unspecified) : (defaultLifetime, .defaultLifetime)
    }

    /// For how long redirects hold.
    private func lifetime(of redirection: Redirection) -> Int64 {
        let unsaid = mode == .strict ? 0 : defaultLifetime
        return min(redirection.lifetime ?? .max, redirection.isOpen ? unsaid : .max)
    }

    /// Whether the stored response answers `request` (section 4.1). `offlineFirst` does not ask.
    func allowsSelection(of metadata: ResponseMetadata, for request: HTTPFields) -> Bool {
        guard mode == .strict, let selection = metadata.selection else { return true }
        return selection.matches(request)
    }

    /// `nil` if there is nothing to guess from, or guessing is not allowed.
    private func heuristicLifetime(of metadata: ResponseMetadata, _ directives: CacheControl) -> Int64? {
        guard metadata.isHeuristicallyCacheable || directives.isPublic || mode == .offlineFirst,
            let unchangedFor = metadata.unchangedFor
        else { return nil }
        let seconds = min(Double(unchangedFor) * heuristicFraction, Double(heuristicMaximum))
        return Int64(exactly: seconds.rounded(.down))
    }

    private func limited(_ lifetime: (seconds: Int64, reason: Freshness.Reason)) -> (Int64, Freshness.Reason) {
        guard let maximum, maximum < lifetime.seconds else { return lifetime }
        return (maximum, .maximum)
    }

    // MARK: Storing (RFC 9111 section 3)

    private func allowsStore(_ metadata: ResponseMetadata, _ directives: CacheControl) -> Bool {
        guard metadata.isStorable else { return false }
        guard !forbidsStore(metadata, directives) || !(respectsNoStore || mode == .strict) else { return false }
        guard mode == .strict else { return true }
        // What no request will ever match is not worth keeping.
        guard !VaryRule(metadata.fields).matchesNothing else { return false }
        guard !directives.mustUnderstand || metadata.isUnderstood else { return false }
        return metadata.isHeuristicallyCacheable || directives.isPublic || directives.isPrivate
            || directives.maxAge != nil || metadata.hasExpires
    }

    /// Section 5.2.2.3: who knows the status passes over a `no-store` beside `must-understand`.
    private func forbidsStore(_ metadata: ResponseMetadata, _ directives: CacheControl) -> Bool {
        directives.noStore && !(directives.mustUnderstand && metadata.isUnderstood)
    }
}

/// How closely the store follows the origin's word on what may be kept and served.
public enum CachingMode: String, Hashable, Sendable, CaseIterable {
    /// An old picture is better than none. These are the knowing departures from RFC 9111:
    ///
    /// - What says `no-store` is kept too, unless `respectsNoStore` is set (section 5.2.2.5), and so is what says
    ///   `Vary: *`.
    /// - A stale image is served whenever the origin cannot confirm it, also against `must-revalidate` and `no-cache`
    ///   (sections 4.2.4, 5.2.2.2 and 5.2.2.4), and also where the origin answered with an error or with something that
    ///   is no image (section 4.3.3).
    /// - The configured minimum keeps an image fresh for longer than the origin says (section 4.2.1).
    /// - A redirect that is not permanent and says nothing is followed for the default lifetime without being asked again
    ///   (section 4.2; RFC 9110 section 15.4).
    /// - A 304 is believed also where it names the same tag with or without `W/`, or a date where none is stored
    ///   (section 4.3.4).
    /// - An Expires that is nearly a date counts as that date (section 5.3).
    /// - Vary is ignored, except that `Vary: *` makes an image stale at once: a stored image is reused whatever
    ///   User-Agent, Accept or credentials requests carry now (section 4.1). After a change of these, the policy `reload`
    ///   fetches the image in full.
    case offlineFirst
    /// RFC 9111 to the letter, as a private cache, and where it leaves a choice, the more careful one: `Pragma: no-cache`
    /// counts as `Cache-Control: no-cache` (section 5.4), and an image is as old as the older of Age and Date says
    /// (section 4.2.3).
    ///
    /// A 304 without a validator confirms the stored image, as it answers the image's own validators (section 4.3.3).
    /// `stale-while-revalidate` is ignored, which RFC 5861 section 3 permits: a stale image is revalidated before it is
    /// served. A `sync` revalidates in the background.
    case strict
}
