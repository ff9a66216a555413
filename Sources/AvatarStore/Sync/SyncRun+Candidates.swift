import AvatarCore
import AvatarFiles
import AvatarIndex

/// A contact with several candidates for its picture, on its way from one to the next: URLs that the list has, or sources for
/// its e-mail addresses.
struct CandidateChain: Sendable {
    let contact: String
    /// The candidates, in order.
    let candidates: [AvatarKey]
    /// Where a smaller image is that stands in for the first candidate.
    var lowDataURL: String?
    /// The images that the contact had when the sync came to it.
    let linked: Set<AvatarKey>
    /// How many of the candidates are known as none.
    var position = 0
    /// Whether the current candidate is asked for because of this contact, and counted with its image.
    var ownsTarget = false

    var current: AvatarKey? { position < candidates.count ? candidates[position] : nil }

    /// Whether the candidates are what sources have for e-mail addresses.
    var isByEmail: Bool { candidates.first?.isEmailImage == true }

    /// Whether another URL is left. What becomes of the last one is the contact's result.
    var hasNext: Bool { !isByEmail && position + 1 < candidates.count }

    /// Whether the contact stays linked to the candidates before this one, which are gone.
    var keepsGone: Bool { !isByEmail && position > 0 }
}

extension AvatarEntry {
    /// Whether the origin said that there is no image (404 or 410), and none is stored.
    var hasNothing: Bool { file == nil && validation.failure == .gone }
}

extension FetchFailure {
    /// Whether the origin said that there is no image, and none is stored. A picture that was there is not given up for it.
    func hasNothing(for target: FetchTarget) -> Bool {
        kind == .gone && target.entry?.file == nil
    }

    /// Whether it is no failure yet: the next candidate is asked for, or the source has no picture for the address.
    func isNone(for target: FetchTarget) -> Bool {
        hasNothing(for: target) && (target.hasSuccessor || target.key.isEmailImage)
    }
}

extension FetchResult {
    func isNone(for target: FetchTarget) -> Bool {
        if case .failed(let failure) = content { failure.isNone(for: target) } else { false }
    }

    func hasNothing(for target: FetchTarget) -> Bool {
        if case .failed(let failure) = content { failure.hasNothing(for: target) } else { false }
    }
}

/// Each candidate is an entry like any other, with its host's limits; several contacts with one candidate wait for one answer.
/// One that is gone stays linked to the contact: it is asked for again when it is due, and then takes the place of the next.
extension SyncRun {
    /// Several URLs for one contact.
    func sort(_ candidates: [AvatarKey], _ lowDataURL: String?, of contact: String) async throws {
        report.contacts += 1
        noteName(contact)
        let linked = Set(try store.index.imageKeys(of: contact))
        let former = try linked.filter {
            try $0.isURL && !candidates.contains($0) && store.index.entry(for: $0)?.hasNothing == true
        }
        try await writer.unlink(former.map { (contact, $0) })
        let chain = CandidateChain(contact: contact, candidates: candidates, lowDataURL: lowDataURL, linked: linked)
        try await advance(chain)
    }

    /// Asks for the next candidate of those that the one before did not help.
    func advanceChains() async {
        let chains = chainsToAdvance
        chainsToAdvance = []
        for chain in chains where !shouldStop {
            do {
                try await advance(chain)
            } catch {
                failure = failure ?? error
            }
        }
    }

    /// Records a failure. It does not count while the contacts have other candidates.
    ///
    /// - Parameter contact: the contact that the list names with the image.
    func settle(_ failure: FetchFailure, _ key: AvatarKey, of contact: String?, isNone: Bool, hasNothing: Bool) {
        if namedPlainly.remove(key) != nil || !isNone {
            count(failure, key, of: contact)
        } else {
            report.answered += 1
        }
        guard hasNothing else { return }
        for var chain in chains.removeValue(forKey: key) ?? [] {
            // The contact is settled when its last candidate is.
            let isSettled = !chain.hasNext && !chain.isByEmail
            done += (isSettled ? 1 : 0) - (chain.ownsTarget ? 1 : 0)
            guard !isSettled else { continue }
            chain.position += 1
            chain.ownsTarget = false
            chainsToAdvance.append(chain)
        }
    }

    /// The candidate is settled, and not as none: the next ones are not needed.
    func endChains(at key: AvatarKey) {
        namedPlainly.remove(key)
        done += chains.removeValue(forKey: key)?.count { !$0.ownsTarget } ?? 0
    }

    func advance(_ chain: CandidateChain) async throws {
        var chain = chain
        while let key = chain.current {
            let entry = try store.index.entry(for: key)
            if try !isPassedOver(entry, in: chain) {
                guard isInFlight(key) else { return try await settle(chain, key, entry) }
                chains[key, default: []].append(chain)
                laterOwners[key]?.append(chain.contact)
                if !chain.hasNext && !chain.isByEmail { namedPlainly.insert(key) }
                return
            }
            if !chain.linked.contains(key) { collectLink(key, chain.contact, keepsGone: chain.keepsGone) }
            chain.position += 1
        }
        countWithoutImage()
        if options.prunes {
            formerImages += chain.linked.filter { !chain.candidates.contains($0) }.map { (chain.contact, $0) }
        }
    }

    private func isInFlight(_ key: AvatarKey) -> Bool {
        chains[key] != nil || laterOwners[key] != nil
    }

    /// Whether there is no image at the current candidate, and it is not asked for again now.
    private func isPassedOver(_ entry: AvatarEntry?, in chain: CandidateChain) throws -> Bool {
        guard let entry else { return false }
        if chain.isByEmail { return !isInFlight(entry.key) && isBelieved(entry) }
        guard chain.hasNext, entry.hasNothing else { return false }
        if !isInFlight(entry.key), seen.contains(KeyFingerprint(entry.key.rawValue)) { return true }
        let isBlocked =
            entry.sourceURL.flatMap { AvatarKey(stored: $0).host }.map { reasonToSkip($0.description) != nil } ?? false
        return try policy.decide(entry, hasFile: false, isBlocked: isBlocked) == .skip
    }

    private func settle(_ chain: CandidateChain, _ key: AvatarKey, _ entry: AvatarEntry?) async throws {
        guard seen.insert(KeyFingerprint(key.rawValue)).inserted else {
            // Settled with another contact.
            done += 1
            if entry != nil, try !isLinked(chain) { collectLink(key, chain.contact, keepsGone: chain.keepsGone) }
            return
        }
        var (chain, entry) = (chain, entry)
        // A source is asked again at the list's word, and not when its entry is due.
        if entry?.isKnownNone == true { entry?.validation.failure = nil }
        chain.ownsTarget = true
        chains[key] = [chain]
        laterOwners[key] = []
        let hasFile = entry?.file.map { store.roots.contains($0) } ?? false
        let lowDataURL = chain.position == 0 ? chain.lowDataURL : nil
        guard try await sort(key, entry, hasFile: hasFile, chain.contact, lowDataURL, in: chain) else {
            // Settled at once, unless it is on its way.
            if laterOwners[key] == nil { endChains(at: key) }
            return
        }
        endChains(at: key)
        laterOwners[key] = nil
        if try !isLinked(chain) { collectLink(key, chain.contact, keepsGone: chain.keepsGone) }
    }

    /// Whether the index says already that the current candidate is the contact's one fetched image.
    private func isLinked(_ chain: CandidateChain) throws -> Bool {
        guard let key = chain.current, chain.linked.contains(key) else { return false }
        let others = chain.linked.subtracting(chain.candidates.prefix(chain.position + 1)).filter { !$0.isOwnImage }
        guard chain.isByEmail else { return others.isEmpty }
        // Later sources that had none are remembered; one whose picture was shown until now gives way.
        return try others.allSatisfy { try chain.candidates.contains($0) && store.index.entry(for: $0)?.file == nil }
    }
}
