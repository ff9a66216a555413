import Workload

/// The images of each contact, and the content of each image, in a store that has room for all of them.
struct ContactModel {
    /// By image.
    private(set) var owners: [ImageKey: Set<Int>] = [:]
    private(set) var images: [ImageKey: Image] = [:]

    mutating func run(_ operation: StoreOperation, came outcome: Outcome) {
        if case .refused = outcome { return }
        switch operation {
        case .save(let name, let version, _): show(.own(name), version)
        case .fetch(let slot, let version, _, let policy):
            // A stored image is enough for one policy, and may be fresh enough for the other: the result tells.
            let image = Image(of: .remote(slot), version: version)
            let isNew = images[.remote(slot)] == nil || outcome == .image(Image.digest(of: image.bytes))
            if policy == .reload || isNew { show(.remote(slot), version) }
        case .remove(let keys):
            for key in keys { remove(key) }
        case .forget(let contact):
            for key in owners.filter({ $0.value.contains(contact) }).keys {
                unlink(contact, key)
                if owners[key] == nil { remove(key) }
            }
        case .link(let contact, let key): link(contact, key)
        case .unlink(let contact, let key): unlink(contact, key)
        case .sync(let list, _, _): reconcile(list, [:])
        case .reconcile(let list, let photos):
            reconcile(list, photos)
            let named = Set(list.map(\.contact))
            for (key, contacts) in owners where !key.isOwn {
                for contact in contacts.subtracting(named) { unlink(contact, key) }
            }
        case .read, .move, .trim, .setBudget: break
        }
    }

    private mutating func show(_ key: ImageKey, _ version: Int) {
        images[key] = Image(of: key, version: version)
    }

    private mutating func link(_ contact: Int, _ key: ImageKey) {
        if images[key] != nil { owners[key, default: []].insert(contact) }
    }

    private mutating func unlink(_ contact: Int, _ key: ImageKey) {
        owners[key]?.remove(contact)
        if owners[key]?.isEmpty == true { owners[key] = nil }
    }

    private mutating func remove(_ key: ImageKey) {
        owners[key] = nil
        images[key] = nil
    }

    /// The list decides about the contacts that it names, but not about links that the host program made itself.
    private mutating func reconcile(_ list: [StoreOperation.Listed], _ photos: [Int: Int]) {
        for listed in list {
            var keys: Set<ImageKey> = [.remote(listed.slot)]
            show(.remote(listed.slot), listed.version)
            if let version = photos[listed.contact] {
                show(.photo(listed.contact), version)
                keys.insert(.photo(listed.contact))
            }
            for key in owners.keys where !keys.contains(key) && !key.isOwn { unlink(listed.contact, key) }
            for key in keys { link(listed.contact, key) }
        }
    }
}
