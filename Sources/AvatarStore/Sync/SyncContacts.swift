import AvatarCore

/// The contacts of one sync that wait: for the outcome of a request, or for the end of the sync, when replaced images
/// are unlinked from them.
final class SyncContacts {
    /// A contact and an image to unlink from it.
    typealias Link = (contact: String, key: AvatarKey)

    /// Further contacts of images in flight.
    private var waiting: [AvatarKey: [String]] = [:]
    /// Contacts with several candidates that wait for the outcome of one of them.
    private var chains: [AvatarKey: [CandidateChain]] = [:]
    /// Images in flight whose failure counts, because some contact has no other candidate.
    private var namedPlainly: Set<AvatarKey> = []
    /// The records that name images whose outcome is to come, for the report of a failure.
    private var places: [AvatarKey: ListPlace] = [:]
    /// Chains whose candidate turned out to have no image.
    private var toAdvance: [CandidateChain] = []

    /// Images to unlink once one of `successors` is stored.
    private var replaced: [(contact: String, former: [AvatarKey], successors: [AvatarKey])] = []
    /// Images of contacts whose records name no image any more. They are unlinked if the sync prunes.
    private(set) var toPrune: [Link] = []

    // MARK: In flight

    /// Records that a request for `key` begins for `chain`.
    func begin(_ key: AvatarKey, for chain: CandidateChain) {
        chains[key] = [chain]
    }

    /// Records that the record at `place` names `key`, whose outcome is to come.
    func note(_ place: ListPlace, of key: AvatarKey) {
        places[key] = place
    }

    /// Takes the record that names `key`; `nil` if the list does not tell its places.
    func takePlace(of key: AvatarKey) -> ListPlace? { places.removeValue(forKey: key) }

    /// Records that `contact` shares the image of `key`, which is in flight.
    func share(_ key: AvatarKey, with contact: String) {
        if chains[key] != nil { namedPlainly.insert(key) }
        waiting[key, default: []].append(contact)
    }

    /// Records that `chain` waits for `key`, its current candidate, which is in flight.
    func wait(_ chain: CandidateChain, for key: AvatarKey) {
        chains[key, default: []].append(chain)
        waiting[key, default: []].append(chain.contact)
        if !chain.hasNext && !chain.isByEmail { namedPlainly.insert(key) }
    }

    /// Takes the contacts that share the image of `key`, apart from the first one. They do not wait any more.
    func takeWaiting(for key: AvatarKey) -> [String] {
        waiting.removeValue(forKey: key) ?? []
    }

    /// Records that `key` failed.
    ///
    /// - Returns: whether the failure counts, because some contact has no other candidate.
    func takeLastResort(_ key: AvatarKey) -> Bool {
        namedPlainly.remove(key) != nil
    }

    /// Records that the candidate `key` has no image: its chains go on to their next candidates.
    ///
    /// - Parameter isIgnored: whether it has an ignored one. Then e-mail addresses follow the last URL. Default: no.
    /// - Returns: the change in the number of settled contacts. It is negative if contacts that were counted with `key`
    ///   are open again.
    func fail(_ key: AvatarKey, isIgnored: Bool = false) -> Int {
        var settled = 0
        for chain in chains.removeValue(forKey: key) ?? [] {
            // The contact is settled when its last candidate is.
            let isSettled = isIgnored ? !chain.hasNextIfIgnored : !chain.hasNext && !chain.isByEmail
            settled += (isSettled ? 1 : 0) - (chain.ownsTarget ? 1 : 0)
            if !isSettled { toAdvance.append(chain) }
        }
        return settled
    }

    /// Records that the candidate `key` is settled and has an image, or may have one later. Its chains end.
    ///
    /// - Returns: the number of contacts settled by this, apart from the one that `key` is counted with.
    func endChains(at key: AvatarKey) -> Int {
        namedPlainly.remove(key)
        places[key] = nil
        return chains.removeValue(forKey: key)?.count { !$0.ownsTarget } ?? 0
    }

    /// Whether a chain waits to be advanced.
    var hasChainsToAdvance: Bool { !toAdvance.isEmpty }

    /// Takes the chains whose next candidate has to be planned.
    func takeChainsToAdvance() -> [CandidateChain] {
        defer { toAdvance = [] }
        return toAdvance
    }

    // MARK: At the end

    /// Unlinks `former` from `contact` at the end of the sync, if one of `successors` is stored by then.
    func replace(_ former: [AvatarKey], by successors: [AvatarKey], of contact: String) {
        replaced.append((contact, former, successors))
    }

    /// Unlinks `keys` from `contact` at the end of the sync, if the sync prunes.
    func prune(_ keys: [AvatarKey], from contact: String) {
        toPrune += keys.map { (contact, $0) }
    }

    /// The links that other images have replaced.
    ///
    /// - Parameter isStored: says whether the image of at least one of the keys is stored.
    /// - Throws: any error of `isStored`.
    func replacedImages(where isStored: ([AvatarKey]) throws -> Bool) rethrows -> [Link] {
        try replaced.flatMap { contact, former, successors in
            try isStored(successors) ? former.map { (contact, $0) } : []
        }
    }
}
