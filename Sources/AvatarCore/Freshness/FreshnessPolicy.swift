package import HTTPTypes

/// The freshness rules of a store: how long it serves an image without a request. All durations are in seconds.
package struct FreshnessPolicy: Hashable, Sendable {
    /// How strictly the rules follow the origin. Default: `offlineFirst`.
    package var mode = CachingMode.offlineFirst

    /// The minimum freshness lifetime after a response, even if it says `no-cache` or `no-store`. Default: 0. No effect
    /// in `strict` mode.
    package var minimum: Int64 = 0

    /// The maximum freshness lifetime, whatever the origin says. Default: `nil`, no limit. 0 revalidates an image at
    /// each read.
    package var maximum: Int64?

    /// The freshness lifetime if the response has neither an explicit lifetime nor Last-Modified. Default: 86,400, a
    /// day. No effect in `strict` mode, where such an image is stale at once.
    package var defaultLifetime: Int64 = 86_400

    /// The fraction of the time since Last-Modified that an image without an explicit lifetime stays fresh. Default:
    /// 0.1, as RFC 9111 section 4.2.2 proposes. At 0 such an image is stale at once.
    package var heuristicFraction = 0.1

    /// The maximum lifetime by `heuristicFraction`. Default: 604,800, a week, so that a change of an image is noticed
    /// within days even after ten years without one.
    package var heuristicMaximum: Int64 = 604_800

    /// The time after which a check downloads the image in full instead of revalidating it, because some origins have
    /// validators that do not change with the bytes. Default: 2,592,000, 30 days. At 0 each check is a download.
    package var maximumAgeWithoutFetch: Int64 = 2_592_000

    /// Whether the store refuses a response that says `no-store`. Default: `false`. `strict` mode implies it.
    package var respectsNoStore = false

    /// The default rules.
    package init() {}

    /// Whether the next check must download the image in full, because the last download at `fetched` is too long ago.
    ///
    /// This also holds if `fetched` is later than `now`: a clock that ran ahead wrote it, so its age is unknown.
    package func requiresFullFetch(fetched: Timestamp, now: Timestamp) -> Bool {
        now.seconds(since: fetched) >= maximumAgeWithoutFetch || fetched.isAhead(of: now)
    }
}

extension FreshnessPolicy {
    /// Determines how long a response is fresh, and whether it may be stored and served stale.
    ///
    /// The rules are those of a private cache: `private` responses may be stored, `s-maxage` and `proxy-revalidate` do
    /// not apply. The result does not depend on the current time, so it holds until another response arrives.
    ///
    /// - Parameters:
    ///   - metadata: the stored response.
    ///   - request: the fields that a request for the image would have now; `nil` if they are the same as in the
    ///     request for the stored response.
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

    /// The reasons that forbid reuse without revalidation, whether fresh or stale.
    private static let forbidsReuse: Set<Freshness.Reason> = [.noStore, .noCache, .pragma, .varyAll, .varied]

    /// The freshness lifetime. If directives contradict each other, the strictest one counts (section 4.2.1).
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

    /// How many seconds the redirects on the way may be reused.
    private func lifetime(of redirection: Redirection) -> Int64 {
        let unsaid = mode == .strict ? 0 : defaultLifetime
        return min(redirection.lifetime ?? .max, redirection.isOpen ? unsaid : .max)
    }

    /// Whether the stored response may be used for `request` by its Vary (section 4.1). `offlineFirst` ignores Vary.
    func allowsSelection(of metadata: ResponseMetadata, for request: HTTPFields) -> Bool {
        guard mode == .strict, let selection = metadata.selection else { return true }
        return selection.matches(request)
    }

    /// The lifetime by heuristics (section 4.2.2); `nil` without Last-Modified, or for a status that forbids
    /// heuristics.
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
        // With `Vary: *` no later request matches, so the response is not stored.
        guard !VaryRule(metadata.fields).matchesNothing else { return false }
        guard !directives.mustUnderstand || metadata.isUnderstood else { return false }
        return metadata.isHeuristicallyCacheable || directives.isPublic || directives.isPrivate
            || directives.maxAge != nil || metadata.hasExpires
    }

    /// Whether `no-store` counts. A cache that understands the status ignores a `no-store` beside `must-understand`
    /// (section 5.2.2.3).
    private func forbidsStore(_ metadata: ResponseMetadata, _ directives: CacheControl) -> Bool {
        directives.noStore && !(directives.mustUnderstand && metadata.isUnderstood)
    }
}

/// A response and its freshness under a policy, which is determined once.
package struct AssessedResponse: Hashable, Sendable {
    /// The response, after a 304 the updated one.
    package let metadata: ResponseMetadata
    /// Its freshness for the request that it answered.
    package let freshness: Freshness

    /// Determines the freshness of the response under `policy`.
    package init(_ metadata: ResponseMetadata, under policy: FreshnessPolicy) {
        self.metadata = metadata
        freshness = policy.assess(metadata)
    }

    /// The stored response `stored`, confirmed at `time` and then fresh until `end`, as another machine learned.
    package init(
        _ stored: ResponseMetadata,
        confirmed time: Timestamp,
        freshUntil end: Timestamp,
        under policy: FreshnessPolicy
    ) {
        var (metadata, freshness) = (stored, policy.assess(stored))
        (metadata.requestTime, metadata.responseTime) = (time, time)
        // The lifetime is that of the other machine, within the maximum of this one.
        let latest = policy.maximum.map { min(end, time.adding(seconds: $0)) } ?? end
        (freshness.responseTime, freshness.freshUntil) = (time, max(time, latest))
        (self.metadata, self.freshness) = (metadata, freshness)
    }
}

/// How strictly the store follows the caching rules of RFC 9111.
public enum CachingMode: String, Hashable, Sendable, CaseIterable {
    /// An old image is better than none. This mode departs from RFC 9111 in these points:
    ///
    /// - Responses with `no-store` are stored, unless `respectsNoStore` is set (section 5.2.2.5). So are responses with
    ///   `Vary: *`.
    /// - A stale image is served whenever the origin cannot confirm it, even with `must-revalidate` or `no-cache`
    ///   (sections 4.2.4, 5.2.2.2 and 5.2.2.4), and even if the origin responds with an error or a body that is not an
    ///   image (section 4.3.3).
    /// - The configured minimum keeps an image fresh for longer than the origin allows (section 4.2.1).
    /// - A temporary redirect without a lifetime is reused for the default lifetime (section 4.2; RFC 9110 section
    ///   15.4).
    /// - A 304 confirms the stored image even if its tag differs in `W/`, or it has a date and the image has none
    ///   (section 4.3.4).
    /// - An Expires with a nearly valid date counts as that date (section 5.3).
    /// - Vary is ignored, except that `Vary: *` makes an image stale at once. The store reuses an image whatever
    ///   User-Agent, Accept or credentials requests have now (section 4.1). After a change of these, the policy
    ///   `reload` downloads the image again.
    case offlineFirst
    /// RFC 9111 to the letter, as a private cache. Where the RFC leaves a choice, the store takes the safer one:
    /// `Pragma: no-cache` counts as `Cache-Control: no-cache` (section 5.4), and the age of an image is the larger of
    /// the ages by Age and by Date (section 4.2.3).
    ///
    /// A 304 without a validator confirms the stored image, because the request has sent its validators (section
    /// 4.3.3). `stale-while-revalidate` is ignored, as RFC 5861 section 3 permits: the store revalidates a stale image
    /// before it serves it. A `sync` revalidates in the background.
    case strict
}
