import AvatarStore

extension Command: LosslessStringConvertible {
    package var description: String { "\(number) \(tick) \(operation)" }

    package init?(_ description: String) {
        let words = description.split(separator: " ", maxSplits: 2)
        guard words.count == 3, let number = Int(words[0]), let tick = Int(words[1]),
            let operation = StoreOperation(String(words[2]))
        else { return nil }
        self.init(number: number, tick: tick, operation)
    }
}

extension StoreOperation: LosslessStringConvertible {
    package var description: String {
        switch self {
        case .save(let name, let version, let storageClass): "save \(name) \(version) \(storageClass.rawValue)"
        case .fetch(let slot, let version, let storage, let policy):
            "fetch \(slot) \(version) \(storage.rawValue) \(policy.rawValue)"
        case .read(let key): "read \(key)"
        case .move(let key, let storageClass): "move \(key) \(storageClass.rawValue)"
        case .remove(let keys): "remove " + keys.map(\.description).joined(separator: ",")
        case .forget(let contact): "forget \(contact)"
        case .trim(let target): "trim \(target.map(String.init) ?? "low")"
        case .setBudget(let bytes): "budget \(bytes)"
        case .sync(let list, let storage, let batchSize):
            "sync \(storage.rawValue) \(batchSize) " + list.map(\.description).joined(separator: ",")
        case .link(let contact, let key): "link \(contact) \(key)"
        case .unlink(let contact, let key): "unlink \(contact) \(key)"
        case .reconcile(let list, let photos):
            "reconcile " + list.map(\.description).joined(separator: ",") + " "
                + photos.map { "\($0.key):\($0.value)" }.sorted().joined(separator: ",")
        }
    }

    package init?(_ description: String) {
        let words = description.split(separator: " ").map(String.init)
        guard let name = words.first, words.count > 1 else { return nil }
        switch (name, words.count) {
        case ("save", 4): self.init(saving: words)
        case ("fetch", 5): self.init(fetching: words)
        case ("read", 2): self.init(ImageKey(words[1])) { .read($0) }
        case ("move", 3):
            self.init(ImageKey(words[1]), StorageClass(rawValue: words[2])) { .move($0, to: $1) }
        case ("remove", 2): self = .remove(words[1].split(separator: ",").compactMap { ImageKey(String($0)) })
        case ("forget", 2): self.init(Int(words[1])) { .forget($0) }
        case ("trim", 2): self = .trim(to: Int(words[1]))
        case ("budget", 2): self.init(Int(words[1])) { .setBudget($0) }
        case ("sync", 3...4): self.init(syncing: words)
        case ("link", 3): self.init(Int(words[1]), ImageKey(words[2])) { .link($0, $1) }
        case ("unlink", 3): self.init(Int(words[1]), ImageKey(words[2])) { .unlink($0, $1) }
        case ("reconcile", 2...3): self.init(reconciling: words)
        default: return nil
        }
    }

    private init?(saving words: [String]) {
        guard let name = Int(words[1]), let version = Int(words[2]), let storageClass = StorageClass(rawValue: words[3])
        else { return nil }
        self = .save(name, version: version, storageClass)
    }

    private init?(fetching words: [String]) {
        guard let slot = Int(words[1]), let version = Int(words[2]),
            let storage = FetchOptions.Storage(rawValue: words[3]),
            let policy = FetchOptions.Policy(rawValue: words[4])
        else { return nil }
        self = .fetch(slot, version: version, storage, policy)
    }

    private init?(syncing words: [String]) {
        guard let storage = FetchOptions.Storage(rawValue: words[1]), let batchSize = Int(words[2]) else { return nil }
        // A list may be empty.
        let list = (words.count > 3 ? words[3] : "").split(separator: ",").compactMap { Listed(String($0)) }
        self = .sync(list, storage, batchSize: batchSize)
    }

    private init?(reconciling words: [String]) {
        let list = words[1].split(separator: ",").compactMap { Listed(String($0)) }
        let photos = (words.count > 2 ? words[2] : "").split(separator: ",").map { photo in
            photo.split(separator: ":").compactMap { Int($0) }
        }
        guard !list.isEmpty, photos.allSatisfy({ $0.count == 2 }) else { return nil }
        self = .reconcile(list, photos: Dictionary(photos.map { ($0[0], $0[1]) }, uniquingKeysWith: { $1 }))
    }

    private init?<Value>(_ value: Value?, _ make: (Value) -> StoreOperation) {
        guard let value else { return nil }
        self = make(value)
    }

    private init?<First, Second>(_ first: First?, _ second: Second?, _ make: (First, Second) -> StoreOperation) {
        guard let first, let second else { return nil }
        self = make(first, second)
    }
}

extension StoreOperation.Listed: LosslessStringConvertible {
    package var description: String { "\(contact):\(slot):\(version)" }

    package init?(_ description: String) {
        let numbers = description.split(separator: ":").compactMap { Int($0) }
        guard numbers.count == 3 else { return nil }
        self.init(contact: numbers[0], slot: numbers[1], version: numbers[2])
    }
}
