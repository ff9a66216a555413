package import HTTPTypes

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
