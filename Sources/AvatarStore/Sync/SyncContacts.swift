import AvatarCore

/// The contacts of one sync that wait for something: for the outcome of a request, or for the end, when they lose the
/// images that others replaced.
struct SyncContacts {
    /// An image that a contact is to lose.
    typealias Link = (contact: String, key: AvatarKey)

    /// Further contacts of images in flight.
    private var waiting: [AvatarKey: [String]] = [:]
    /// Contacts with several candidates that wait for the outcome of one of them.
    private var chains: [AvatarKey: [CandidateChain]] = [:]
    /// Images in flight that also belong to a contact without another candidate.
    private var namedPlainly: Set<AvatarKey> = []
    /// Chains whose candidate turned out to have no image.
    private var toAdvance: [CandidateChain] = []

    /// Images to unlink once one of `successors` is stored.
    private var replaced: [(contact: String, former: [AvatarKey], successors: [AvatarKey])] = []
    /// Images of contacts that have none any more, to unlink if the sync prunes.
    private(set) var toPrune: [Link] = []

    // MARK: In flight

    /// A request for `key` begins for `chain`.
    mutating func begin(_ key: AvatarKey, for chain: CandidateChain) {
        chains[key] = [chain]
    }

    /// One more contact shares the image of `key`, which is in flight.
    mutating func share(_ key: AvatarKey, with contact: String) {
        if chains[key] != nil { namedPlainly.insert(key) }
        waiting[key, default: []].append(contact)
    }

    /// `chain` waits for the image of its current candidate, which is in flight.
    mutating func wait(_ chain: CandidateChain, for key: AvatarKey) {
        chains[key, default: []].append(chain)
        waiting[key, default: []].append(chain.contact)
        if !chain.hasNext && !chain.isByEmail { namedPlainly.insert(key) }
    }

    /// The contacts that came after the first one; they do not wait any more.
    mutating func takeWaiting(for key: AvatarKey) -> [String] {
        waiting.removeValue(forKey: key) ?? []
    }

    /// Takes note that `key` failed.
    ///
    /// - Returns: whether that counts, because a contact without another candidate waited for it.
    mutating func takeLastResort(_ key: AvatarKey) -> Bool {
        namedPlainly.remove(key) != nil
    }

    /// The candidate `key` has no image: its chains go on to their next candidates.
    ///
    /// - Returns: how many contacts are settled by that. Below zero: contacts that were counted with `key` and are open again.
    mutating func fail(_ key: AvatarKey) -> Int {
        var settled = 0
        for chain in chains.removeValue(forKey: key) ?? [] {
            // The contact is settled when its last candidate is.
            let isSettled = !chain.hasNext && !chain.isByEmail
            settled += (isSettled ? 1 : 0) - (chain.ownsTarget ? 1 : 0)
            if !isSettled { toAdvance.append(chain) }
        }
        return settled
    }

    /// The candidate `key` is settled and has an image, or may have one later: its chains end here.
    ///
    /// - Returns: how many contacts are settled by that, beside the one that `key` is counted with.
    mutating func endChains(at key: AvatarKey) -> Int {
        namedPlainly.remove(key)
        return chains.removeValue(forKey: key)?.count { !$0.ownsTarget } ?? 0
    }

    /// Whether a chain waits to be advanced.
    var hasChainsToAdvance: Bool { !toAdvance.isEmpty }

    mutating func takeChainsToAdvance() -> [CandidateChain] {
        defer { toAdvance = [] }
        return toAdvance
    }

    // MARK: At the end

    mutating func replace(_ former: [AvatarKey], by successors: [AvatarKey], of contact: String) {
        replaced.append((contact, former, successors))
    }

    mutating func prune(_ keys: [AvatarKey], from contact: String) {
        toPrune += keys.map { (contact, $0) }
    }

    /// The images whose place another one has taken.
    ///
    /// - Parameter isStored: whether an image of one of the keys is stored.
    func replacedImages(where isStored: ([AvatarKey]) throws -> Bool) rethrows -> [Link] {
        try replaced.flatMap { contact, former, successors in
            try isStored(successors) ? former.map { (contact, $0) } : []
        }
    }
}
