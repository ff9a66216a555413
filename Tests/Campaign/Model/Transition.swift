import AvatarStore
import Workload

/// The steps of an operation on a model.
///
/// `states` are those that a process killed in the middle may leave: the one before, those after each transaction, and
/// the one after the call returns.
struct Transition {
    private(set) var states: [StoreModel]
    private(set) var outcome = Outcome.done
    private var model: StoreModel
    private let tick: Int
    private let process: Int
    private let book: ImageBook
    private var uses: Int64 = 0

    /// The effect of `command`, which is not a sync, in the process numbered `process`.
    init(_ model: StoreModel, _ command: Command, by process: Int, _ book: ImageBook) {
        self.model = model
        states = [model]
        tick = command.tick
        self.process = process
        self.book = book
        outcome = run(command.operation)
        commit()
    }

    var final: StoreModel { model }

    /// The effect of closing the store, which writes buffered uses.
    init(closing model: StoreModel, by process: Int, _ book: ImageBook) {
        self.model = model
        states = [model]
        tick = 0
        self.process = process
        self.book = book
        flush()
    }

    private mutating func run(_ operation: StoreOperation) -> Outcome {
        switch operation {
        case .save(let name, let version, let storageClass):
            return save(Image(of: .own(name), version: version), as: .own(name), in: storageClass)
        case .fetch(let slot, let version, let storage, let policy):
            return fetch(slot, version, storage, policy)
        case .read(let key): return image(touch(key))
        case .move(let key, let storageClass): return move(key, to: storageClass)
        case .remove(let keys):
            for key in keys { remove(key) }
        case .forget(let contact): forget(contact)
        case .trim(let target):
            flush()
            evict(victims(downTo: target ?? model.lowWatermark))
        case .setBudget(let bytes): setBudget(bytes)
        case .sync: return .refused(Outcome.Refusal(.invalidConfiguration, "a sync is judged by SyncJudgement"))
        case .link, .unlink, .reconcile:
            return .refused(Outcome.Refusal(.invalidConfiguration, "whose image it is, ContactModel knows"))
        }
        return .done
    }

    /// The end of a transaction.
    private mutating func commit() {
        states.append(model)
    }

    /// A time later than every one before.
    private mutating func now() -> Int64 {
        uses += 1
        return Int64(tick) * StoreModel.microsecondsPerTick + uses
    }

    // MARK: Reading

    /// Records a use of the stored image.
    private mutating func touch(_ key: ImageKey) -> StoreModel.File? {
        guard let id = model.entries[key]?.file, let file = model.files[id] else { return nil }
        model.touches[process, default: [:]][id] = now()
        return file
    }

    private func image(_ file: StoreModel.File?) -> Outcome {
        file.map { .image(book.digest(of: $0.image)) } ?? .nothing
    }

    /// Writes the uses to the index.
    private mutating func flush() {
        for (id, time) in model.touches[process] ?? [:] {
            model.use(id, at: time)
        }
        model.touches[process] = nil
        commit()
    }

    // MARK: Fetching

    private mutating func fetch(
        _ slot: Int,
        _ version: Int,
        _ storage: FetchOptions.Storage,
        _ policy: FetchOptions.Policy
    ) -> Outcome {
        let key = ImageKey.remote(slot)
        let stored = touch(key)
        if stored != nil, accepts(key, policy) { return promoted(key, storage) }
        let before = model.entries[key]
        let fresh = tick + VersionedOrigin.lifetime(of: slot)
        if policy != .reload, stored != nil, before?.version == version {
            model.entries[key]?.freshUntil = fresh
            commit()
            _ = touch(key)
            return promoted(key, storage)
        }
        let isDocument = storage == .documents || before?.storageClass == .documents
        let received = Image(of: key, version: version)
        guard publish(received, as: key, in: isDocument ? .documents : .caches, version: version, fresh) else {
            return stored == nil ? .refused(Outcome.Refusal(.overBudget)) : image(touch(key))
        }
        return image(touch(key))
    }

    private func accepts(_ key: ImageKey, _ policy: FetchOptions.Policy) -> Bool {
        switch policy {
        case .cacheFirst, .offline: true
        case .reload: false
        case .revalidate: (model.entries[key]?.freshUntil ?? 0) > tick
        }
    }

    /// An image in `caches` that is read as a document becomes one.
    private mutating func promoted(_ key: ImageKey, _ storage: FetchOptions.Storage) -> Outcome {
        if storage == .documents, model.file(of: key)?.storageClass == .caches {
            _ = move(key, to: .documents)
            return image(touch(key))
        }
        return image(model.file(of: key))
    }

    // MARK: Publishing

    private mutating func save(_ image: Image, as key: ImageKey, in storageClass: StorageClass) -> Outcome {
        publish(image, as: key, in: storageClass) ? .done : .refused(Outcome.Refusal(.overBudget))
    }

    private mutating func move(_ key: ImageKey, to storageClass: StorageClass) -> Outcome {
        guard let file = model.file(of: key) else { return .refused(Outcome.Refusal(.noSuchEntry)) }
        guard file.storageClass != storageClass else { return .done }
        return save(file.image, as: key, in: storageClass)
    }

    /// Stores the image; false if there is no room for it.
    private mutating func publish(
        _ image: Image,
        as key: ImageKey,
        in storageClass: StorageClass,
        version: Int? = nil,
        _ freshUntil: Int? = nil
    ) -> Bool {
        guard storageClass == .documents || makeRoom(for: image, replacing: key) else { return false }
        let old = model.entries[key]?.file
        // The first store is a use. A new version inherits the time of the old one.
        let time =
            old.flatMap { id in
                model.files[id].map { max($0.lastAccess, model.touches[process]?[id] ?? 0) }
            } ?? now()
        let new = share(image, in: storageClass, time)
        var entry = model.entries[key] ?? StoreModel.Entry(storageClass: storageClass)
        entry.storageClass = storageClass
        entry.file = new
        entry.isEvicted = false
        entry.version = version ?? entry.version
        entry.freshUntil = freshUntil ?? entry.freshUntil
        let waiting = old == nil ? entry.waiting : []
        entry.waiting.subtract(waiting)
        model.entries[key] = entry
        for other in model.entries.keys where other != key && !other.isOwn {
            model.entries[other]?.owners.subtract(waiting)
            model.entries[other]?.waiting.subtract(waiting)
        }
        if let old, old != new { dropIfUnused(old) }
        commit()
        return true
    }

    /// The file with these bytes: the existing one, used now, or a new one.
    private mutating func share(_ image: Image, in storageClass: StorageClass, _ time: Int64) -> Int {
        if let id = model.file(with: image, in: storageClass), let file = model.files[id] {
            model.files[id]?.lastAccess = max(file.lastAccess, time)
            return id
        }
        model.lastFile += 1
        model.files[model.lastFile] = StoreModel.File(storageClass: storageClass, image: image, lastAccess: time)
        return model.lastFile
    }

    // MARK: Room

    /// Evicts the minimum that makes room for `image`; `false`, with nothing evicted, if that is not possible.
    private mutating func makeRoom(for image: Image, replacing key: ImageKey) -> Bool {
        let size = image.byteCount
        if model.file(with: image, in: .caches) != nil { return true }
        guard size <= model.budget else { return false }
        guard model.bytes + size > model.budget else { return true }
        flush()
        let target = min(model.lowWatermark, model.budget - size)
        var chosen = victims(downTo: target, sparing: model.entries[key]?.file)
        // The file that is about to be replaced is evicted only if the image does not fit otherwise.
        if model.bytes - bytes(of: chosen) + size > model.budget { chosen = victims(downTo: target) }
        evict(chosen)
        return true
    }

    private func victims(downTo target: Int, sparing spared: Int? = nil) -> [Int] {
        var chosen: [Int] = []
        var bytes = model.bytes
        for id in model.evictionOrder where id != spared {
            guard bytes > target else { break }
            chosen.append(id)
            bytes -= model.files[id]?.image.byteCount ?? 0
        }
        return chosen
    }

    private func bytes(of ids: [Int]) -> Int {
        ids.reduce(0) { $0 + (model.files[$1]?.image.byteCount ?? 0) }
    }

    private mutating func evict(_ ids: [Int]) {
        for id in ids {
            for key in model.entries.keys where model.entries[key]?.file == id {
                model.entries[key]?.file = nil
                model.entries[key]?.isEvicted = true
                model.entries[key]?.version = nil
            }
            model.files[id] = nil
        }
        commit()
    }

    private mutating func setBudget(_ bytes: Int) {
        if model.bytes > bytes {
            flush()
            evict(victims(downTo: bytes * 9 / 10))
        }
        model.budget = bytes
    }

    // MARK: Removing

    private mutating func remove(_ key: ImageKey) {
        guard let entry = model.entries.removeValue(forKey: key) else { return }
        if let file = entry.file { dropIfUnused(file) }
    }

    private mutating func forget(_ contact: Int) {
        for (key, entry) in model.entries where entry.owners.contains(contact) {
            model.entries[key]?.owners.remove(contact)
            if entry.owners.count == 1 { remove(key) }
        }
    }

    private mutating func dropIfUnused(_ file: Int) {
        if !model.entries.values.contains(where: { $0.file == file }) { model.files[file] = nil }
    }
}
