import AvatarCore
import AvatarFiles
import AvatarIndex

/// A contact without a picture of its own, on its way from source to source.
struct EmailChain: Sendable {
    let contact: String
    /// What may be asked, in order.
    let candidates: [AvatarKey]
    /// The images that the contact had when the sync came to it.
    let linked: Set<AvatarKey>
    /// How many of the candidates are known as none.
    var position = 0

    var current: AvatarKey? { position < candidates.count ? candidates[position] : nil }
}

extension AvatarEntry {
    /// Whether a source said that it has no picture for an address: asked about anew by the sync of a list that has the
    /// address, when the time has come.
    var isKnownNone: Bool {
        key.isEmailImage && file == nil && validation.failure == .gone
    }
}

extension SyncOptions {
    /// Whether the source of `none` need not be asked again: it said so not long ago.
    func believes(_ none: AvatarEntry, at now: Timestamp) -> Bool {
        guard policy != .reload, let checked = none.validation.checked else { return false }
        let age = now.milliseconds - checked.milliseconds
        // A clock that was set back is no reason to wait.
        return age >= 0 && age < Int64(emailRecheck / .milliseconds(1))
    }
}

extension FetchFailure {
    /// Whether it is a source's word that it has no picture for the address. A picture that was there is not given up for it.
    func isNone(for target: FetchTarget) -> Bool {
        kind == .gone && target.key.isEmailImage && target.entry?.file == nil
    }
}

extension FetchResult {
    func isNone(for target: FetchTarget) -> Bool {
        if case .failed(let failure) = content { failure.isNone(for: target) } else { false }
    }
}

/// Contacts without a picture of their own: sources are asked for their e-mail addresses, one after the other.
///
/// Each candidate is an entry like any other, with its host's limits; several contacts with one address wait for one answer.
/// "None" is kept with the entry, which belongs to the contact as a picture would: it goes when the contact goes.
extension SyncRun {
    func sort(_ emails: [String], of contact: String) async throws {
        let candidates = try options.emailCandidates(for: emails)
        guard !candidates.isEmpty else {
            report.contacts += 1
            return countWithoutImage()
        }
        guard isContact(contact) else { return countUnreadable("A contact's id is empty or holds NUL.") }
        report.contacts += 1
        let linked = Set(try store.index.imageKeys(of: contact))
        let photos = linked.filter(\.isContactPhoto)
        if !photos.isEmpty { formerPhotos.append((contact, Array(photos), candidates)) }
        try await forget(linked.filter { $0.isEmailImage && !candidates.contains($0) }, of: contact)
        try await advance(EmailChain(contact: contact, candidates: candidates, linked: linked))
    }

    /// Asks the next source for those whom the one before did not know.
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

    /// A source has no picture: that is no failure, and others may have one.
    func settleNone(_ key: AvatarKey) {
        let chains = emailChains.removeValue(forKey: key) ?? []
        // The contact is settled when its last source is.
        if !chains.isEmpty { done -= 1 }
        chainsToAdvance += chains.map { chain in
            var chain = chain
            chain.position += 1
            return chain
        }
    }

    /// The candidate is settled, and not as none: nobody waits for the next one.
    func endChains(at key: AvatarKey) {
        // The first one is counted with its image.
        if let chains = emailChains.removeValue(forKey: key) { done += chains.count - 1 }
    }

    private func advance(_ chain: EmailChain) async throws {
        var chain = chain
        while let key = chain.current {
            if emailChains[key] != nil {
                emailChains[key]?.append(chain)
                laterOwners[key]?.append(chain.contact)
                return
            }
            let entry = try store.index.entry(for: key)
            guard let entry, isBelieved(entry) else { return try await settle(chain, key, entry) }
            if !chain.linked.contains(key) { collectLink(key, chain.contact) }
            chain.position += 1
        }
        countWithoutImage()
        if options.prunes {
            formerImages += chain.linked.filter { !chain.candidates.contains($0) }.map { (chain.contact, $0) }
        }
    }

    /// Whether the source need not be asked again: it had none, and that is not long ago.
    private func isBelieved(_ entry: AvatarEntry) -> Bool {
        guard entry.isKnownNone else { return false }
        return seen.contains(KeyFingerprint(entry.key.rawValue)) || options.believes(entry, at: store.clock.now())
    }

    private func settle(_ chain: EmailChain, _ key: AvatarKey, _ entry: AvatarEntry?) async throws {
        guard seen.insert(KeyFingerprint(key.rawValue)).inserted else {
            // Settled with another contact's address.
            done += 1
            if entry != nil, try !isLinked(chain) { collectLink(key, chain.contact) }
            return
        }
        var entry = entry
        // It is asked again at the list's word, and not when it is due.
        if entry?.isKnownNone == true { entry?.validation.failure = nil }
        emailChains[key] = [chain]
        laterOwners[key] = []
        let hasFile = entry?.file.map { store.roots.contains($0) } ?? false
        guard try await sort(key, entry, hasFile: hasFile, chain.contact, nil) else {
            // Settled at once, unless it is on its way.
            if laterOwners[key] == nil { endChains(at: key) }
            return
        }
        endChains(at: key)
        laterOwners[key] = nil
        if try !isLinked(chain) { collectLink(key, chain.contact) }
    }

    /// Whether the index says already that the current candidate is the contact's one fetched image.
    private func isLinked(_ chain: EmailChain) throws -> Bool {
        guard let key = chain.current, chain.linked.contains(key) else { return false }
        let others = chain.linked.subtracting(chain.candidates.prefix(chain.position + 1)).filter { !$0.isOwnImage }
        // Later sources that had none are remembered; one whose picture was shown until now gives way.
        return try others.allSatisfy { try chain.candidates.contains($0) && store.index.entry(for: $0)?.file == nil }
    }

    /// What is known of addresses that the contact has no more; a picture stays until another one has come.
    private func forget(_ former: Set<AvatarKey>, of contact: String) async throws {
        let none = try former.filter { try store.index.entry(for: $0)?.file == nil }
        try await writer.unlink(none.map { (contact, $0) })
    }

    private func countWithoutImage() {
        report.withoutImage += 1
        done += 1
    }
}
