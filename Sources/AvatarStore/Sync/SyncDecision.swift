import AvatarCore
import HTTPTypes

/// What a sync does about one image.
enum SyncDecision: Equatable, Sendable {
    /// It is fresh, or good enough for the policy.
    case keep
    /// It is left alone for now.
    case skip
    /// The origin is asked; `brings`: an image is bound to come that is not stored.
    case ask(brings: Bool)
}

/// Decides from what is stored, without asking anybody.
struct SyncPolicy: Sendable {
    let policy: FetchOptions.Policy
    let includesFresh: Bool
    /// Whether a smaller image will do where one is stored.
    let isConstrained: Bool
    let now: Timestamp
    /// Whether addresses are guarded as strictly as ever. Else one that was refused may be allowed by now: that was the
    /// caller's setting, and says nothing of the URL.
    let refusesAddresses: Bool
    /// Whether an image is asked for although it backs off because its host failed.
    let ignoresPauses: Bool
    /// Judges freshness anew from the stored header fields; `nil`: what was judged when they came holds.
    let freshness: FreshnessPolicy?

    init(
        policy: FetchOptions.Policy,
        includesFresh: Bool,
        isConstrained: Bool = false,
        now: Timestamp,
        refusesAddresses: Bool = true,
        ignoresPauses: Bool = false,
        freshness: FreshnessPolicy?
    ) {
        self.policy = policy
        self.includesFresh = includesFresh
        self.isConstrained = isConstrained
        self.now = now
        self.refusesAddresses = refusesAddresses
        self.ignoresPauses = ignoresPauses
        self.freshness = freshness
    }

    init(_ options: SyncOptions, _ limits: Limits, isConstrained: Bool, refusesAddresses: Bool, now: Timestamp) {
        self.init(
            policy: options.policy,
            includesFresh: options.includesFresh,
            isConstrained: isConstrained,
            now: now,
            refusesAddresses: refusesAddresses,
            ignoresPauses: options.ignoresPauses,
            freshness: options.mode == nil && limits.freshness.mode == .offlineFirst ? nil : limits.freshness
        )
    }

    /// - Parameter hasFile: whether the entry's file was seen, with its indexed length.
    /// - Parameter isBlocked: whether the host wants no request now.
    /// - Parameter request: what a request for the image would say, if that is known.
    func decide(
        _ entry: AvatarEntry?,
        hasFile: Bool,
        isBlocked: Bool,
        request: (AvatarEntry) throws -> HTTPFields? = { _ in nil }
    ) rethrows -> SyncDecision {
        guard let entry, hasFile else {
            return isLeftAlone(entry, isBlocked) ? .skip : .ask(brings: true)
        }
        if entry.isLowData, !isConstrained {
            return isLeftAlone(entry, isBlocked) ? .skip : .ask(brings: false)
        }
        if policy == .cacheFirst { return .keep }
        if try policy != .reload && !includesFresh && isFresh(entry, request) { return .keep }
        return isLeftAlone(entry, isBlocked) ? .skip : .ask(brings: false)
    }

    /// Why an image is left alone for which the decision is `skip`.
    ///
    /// - Parameter host: why its host is not asked, if it is not.
    func reasonToSkip(_ entry: AvatarEntry?, host: SkipReason?) -> SkipReason {
        policy == .offline ? .forbidden : host ?? .backoff(entry?.validation.failure)
    }

    private func isLeftAlone(_ entry: AvatarEntry?, _ isBlocked: Bool) -> Bool {
        if policy == .offline || isBlocked { return true }
        // A reload asks although the entry is backing off.
        guard policy != .reload, let validation = entry?.validation else { return false }
        if ignoresPauses && validation.failure?.blame == .host { return false }
        return validation.isBackingOff(at: now) && (refusesAddresses || validation.failure != .forbiddenAddress)
    }

    private func isFresh(_ entry: AvatarEntry, _ request: (AvatarEntry) throws -> HTTPFields?) rethrows -> Bool {
        let validation = entry.validation
        // An entry that could not be checked is asked for again when its backoff is over, although it may still be fresh.
        guard validation.failure == nil || validation.isBackingOff(at: now), validation.isFresh(at: now) else {
            return false
        }
        guard let freshness else { return true }
        return try freshness.assess(ResponseMetadata(stored: validation), for: request(entry)).isFresh(at: now)
    }
}
