import AvatarStore
import AvatarStoreTesting

/// Operations drawn from a seed, on so few images that they often interact.
package struct RandomOperations {
    private var random: SplitMix64
    /// The versions last served, for revalidations without a change.
    private var served: [Int: Int] = [:]
    private let names: Int
    private let slots: Int
    private let contacts: Int
    private let keepsDocuments: Bool

    /// - Parameter keepsDocuments: Whether images in the upper half of the names are always stored as documents.
    package init(seed: UInt64, names: Int = 8, slots: Int = 14, contacts: Int = 10, keepsDocuments: Bool = false) {
        random = SplitMix64(seed: seed)
        self.keepsDocuments = keepsDocuments
        self.names = names
        self.slots = slots
        self.contacts = contacts
    }

    /// The next operation.
    ///
    /// - Parameter allowsSync: Whether it may be a sync.
    package mutating func next(allowsSync: Bool = true) -> StoreOperation {
        switch number(below: allowsSync ? 100 : 88) {
        case ..<20: return save()
        case ..<48: return fetch()
        case ..<56: return .read(key())
        case ..<66: return move()
        case ..<74: return .remove((0..<(chance(70) ? 1 : 3)).map { _ in key() })
        case ..<77: return .forget(number(below: contacts))
        case ..<82: return .trim(to: chance(40) ? nil : number(below: 40_000))
        case ..<88: return .setBudget(budget())
        default: return sync()
        }
    }

    /// The next operation; about half of them are about contacts.
    package mutating func nextAboutContacts() -> StoreOperation {
        switch number(below: 100) {
        case ..<45: return next()
        case ..<65: return .link(number(below: contacts), key())
        case ..<80: return .unlink(number(below: contacts), key())
        default: return reconcile()
        }
    }

    private mutating func reconcile() -> StoreOperation {
        guard case .sync(let list, _, _) = sync(), !list.isEmpty else { return .forget(number(below: contacts)) }
        let photos = list.filter { _ in chance(30) }.map { ($0.contact, version()) }
        return .reconcile(list, photos: Dictionary(uniqueKeysWithValues: photos))
    }

    package mutating func budget() -> Int { 12_000 + number(below: 32_000) }

    package mutating func sync() -> StoreOperation {
        let listed = (0..<contacts).filter { _ in chance(60) }.map { contact in
            let slot = number(below: slots)
            return StoreOperation.Listed(contact: contact, slot: slot, version: version(of: slot))
        }
        // An image has one version, even if two contacts use it.
        let versions = Dictionary(listed.map { ($0.slot, $0.version) }, uniquingKeysWith: { first, _ in first })
        let list = listed.map {
            StoreOperation.Listed(contact: $0.contact, slot: $0.slot, version: versions[$0.slot] ?? 1)
        }
        for listed in list { served[listed.slot] = listed.version }
        return .sync(list, chance(80) ? .caches : .documents, batchSize: chance(50) ? 256 : 1 + number(below: 3))
    }

    /// A number from 0 to `limit` − 1.
    package mutating func number(below limit: Int) -> Int {
        Int(random.next() % UInt64(limit))
    }

    package mutating func chance(_ percent: Int) -> Bool { number(below: 100) < percent }

    private mutating func save() -> StoreOperation {
        let name = number(below: names)
        let isCached = chance(60) && !isKept(.own(name))
        return .save(name, version: version(), isCached ? .caches : .documents)
    }

    private mutating func move() -> StoreOperation {
        let key = key()
        return .move(key, to: chance(50) && !isKept(key) ? .caches : .documents)
    }

    private func isKept(_ key: ImageKey) -> Bool {
        guard keepsDocuments, case .own(let name) = key else { return false }
        return 2 * name >= names
    }

    private mutating func fetch() -> StoreOperation {
        let slot = number(below: slots)
        let version = version(of: slot)
        served[slot] = version
        let policy: FetchOptions.Policy = chance(50) ? .revalidate : chance(50) ? .reload : .cacheFirst
        return .fetch(slot, version: version, chance(80) ? .caches : .documents, policy)
    }

    private mutating func version(of slot: Int) -> Int {
        if let last = served[slot], chance(40) { return last }
        return version()
    }

    private mutating func version() -> Int { 1 + number(below: 40) }

    private mutating func key() -> ImageKey {
        chance(35) ? .own(number(below: names)) : .remote(number(below: slots))
    }
}
