package import HTTPTypes

/// Which of store and origin gives an image: the policy of a read or a sync.
public enum ReadPolicy: String, Sendable, CaseIterable {
    /// The stored image, fresh or stale; the origin only if nothing is stored.
    case cacheFirst = "cache-first"
    /// RFC 9111: the stored image while it is fresh, else a conditional request; the stale image if the origin fails.
    case revalidate
    /// An unconditional request; the stored image if the origin fails.
    case reload
    /// The stored image. No request is ever sent.
    case offline
}

/// The rules by which a sync classifies images, the same for all images of the sync.
package struct SyncRules: Sendable {
    package var policy: ReadPolicy
    /// Whether fresh images are requested too.
    package var checksAll: Bool
    /// Whether the network is constrained, so that a smaller image suffices where one is stored.
    package var isConstrained = false
    /// Whether the guard refuses every address that is not global. If it does not, an address that was refused before
    /// may be allowed now: the refusal was the caller's setting and says nothing about the URL.
    package var refusesAddresses = true
    /// Whether an image in backoff is requested if its host was at fault.
    package var ignoresPauses = false
    /// Judges freshness from the stored header fields. `nil`: the judgement made when they arrived holds.
    package var freshness: FreshnessPolicy?
    /// The header fields that a request for an entry would carry, for `Vary`; `nil` if its response varies by none.
    package var requestFields: @Sendable (AvatarEntry) throws -> HTTPFields? = { _ in nil }

    /// The storage class of new images.
    package var storageClass = StorageClass.caches
    /// The largest number of requests; `nil`: no limit.
    package var requestLimit: Int?
    /// Whether contacts are unlinked that the list omits or gives no image.
    package var prunes = false
    /// Whether the contacts with images are noted although the sync does not prune.
    package var notesImages = false
    /// The time for which an e-mail source that had no image is not asked again, in milliseconds.
    package var emailRecheckMilliseconds: Int64 = 0

    package init(policy: ReadPolicy = .revalidate, checksAll: Bool = false) {
        self.policy = policy
        self.checksAll = checksAll
    }
}

/// The classification of one image.
package enum SyncDecision: Hashable, Sendable {
    /// It stays as it is: fresh, or good enough for the policy.
    case keep
    /// It gets no request now.
    case skip(SkipReason)
    /// It is requested. `isNew`: a success brings an image that is not stored.
    case request(isNew: Bool)
}

extension SyncRules {
    /// Classifies an image from what is stored, without a request.
    ///
    /// - Parameters:
    ///   - entry: the stored entry; `nil` without one.
    ///   - hasFile: whether the entry's file was seen with its indexed length.
    ///   - hostReason: why the host gets no request; `nil` if it may get one.
    ///   - now: the time of the sync.
    /// - Throws: an error of `requestFields`.
    package func classify(
        _ entry: AvatarEntry?,
        hasFile: Bool,
        hostReason: SkipReason?,
        at now: Timestamp
    ) throws -> SyncDecision {
        // An ignored image is revalidated like a stored one.
        guard let entry, hasFile || entry.isIgnored else {
            return request(entry, isNew: true, hostReason: hostReason, at: now)
        }
        if entry.isLowData, !isConstrained { return request(entry, isNew: false, hostReason: hostReason, at: now) }
        if policy == .cacheFirst { return .keep }
        if policy != .reload, !checksAll, try isFresh(entry, at: now) { return .keep }
        return request(entry, isNew: false, hostReason: hostReason, at: now)
    }

    private func request(
        _ entry: AvatarEntry?,
        isNew: Bool,
        hostReason: SkipReason?,
        at now: Timestamp
    ) -> SyncDecision {
        if policy == .offline { return .skip(.forbidden) }
        if let hostReason { return .skip(hostReason) }
        return isBackingOff(entry, at: now) ? .skip(.backoff(entry?.validation.failure)) : .request(isNew: isNew)
    }

    private func isBackingOff(_ entry: AvatarEntry?, at now: Timestamp) -> Bool {
        // A reload requests an entry that is backing off.
        guard policy != .reload, let validation = entry?.validation else { return false }
        if ignoresPauses && validation.failure?.blame == .host { return false }
        return validation.isBackingOff(at: now) && (refusesAddresses || validation.failure != .forbiddenAddress)
    }

    private func isFresh(_ entry: AvatarEntry, at now: Timestamp) throws -> Bool {
        let validation = entry.validation
        // An entry whose last check failed is requested again after its backoff, even if it may still be fresh.
        guard validation.failure == nil || validation.isBackingOff(at: now), validation.isFresh(at: now) else {
            return false
        }
        guard let freshness else { return true }
        return try freshness.assess(ResponseMetadata(stored: validation), for: requestFields(entry)).isFresh(at: now)
    }

    /// Whether the e-mail source of `entry` said recently that it has no image, so that it is not asked again.
    package func believes(_ entry: AvatarEntry, at now: Timestamp) -> Bool {
        guard policy != .reload, let checked = entry.validation.checked else { return false }
        // A clock that was set back is no reason to wait.
        return checked <= now && now < checked.adding(milliseconds: emailRecheckMilliseconds)
    }
}

extension AvatarEntry {
    /// Whether the origin answered 404 or 410, and no image is stored.
    package var hasNothing: Bool { file == nil && validation.failure == .gone }

    /// Whether an e-mail source answered that it has no image for the address. Only a list with the address asks again.
    package var isKnownNone: Bool { key.isEmailImage && hasNothing }
}
