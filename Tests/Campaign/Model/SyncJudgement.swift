import AvatarStore
import Workload

/// Whether the store found after a sync, or in the middle of one, is one that a sync may leave.
///
/// The order in which images arrive is not known, so once room is scarce there is no single right result. There are
/// rules: a wanted image stays or is replaced by the one served; only unwanted images are evicted, the least recently
/// used first; nothing else changes.
struct SyncJudgement {
    let before: StoreModel
    let found: StoreModel
    let list: [StoreOperation.Listed]
    let storage: FetchOptions.Storage
    let tick: Int
    /// `nil`: the sync was stopped.
    let outcome: Outcome?

    private(set) var faults: [String] = []

    /// - Parameter before: the state before the sync, including the uses buffered by its process.
    init(
        before: StoreModel,
        found: StoreModel,
        _ command: Command,
        by process: Int,
        outcome: Outcome?
    ) {
        guard case .sync(let list, let storage, _) = command.operation else {
            preconditionFailure("\(command) is no sync")
        }
        var before = before
        for (id, time) in before.touches[process] ?? [:] {
            before.use(id, at: time)
        }
        self.before = before
        self.found = found
        self.list = list
        self.storage = storage
        self.outcome = outcome
        tick = command.tick
        judge()
    }

    private var versions: [ImageKey: Int] {
        Dictionary(list.map { (ImageKey.remote($0.slot), $0.version) }, uniquingKeysWith: { first, _ in first })
    }

    private mutating func judge() {
        if before.budget != found.budget { faults.append("a sync changed the budget to \(found.budget)") }
        if found.bytes > found.budget { faults.append("\(found.bytes) bytes, the budget is \(found.budget)") }
        let versions = versions
        for key in Set(before.entries.keys).union(found.entries.keys) {
            if let version = versions[key] { judgeWanted(key, version) } else { judgeOther(key) }
        }
        judgeEvictions(wanted: Set(versions.keys))
        judgeOwners()
        if let outcome { judgeOutcome(outcome, versions) }
    }

    // MARK: What is wanted

    private mutating func judgeWanted(_ key: ImageKey, _ version: Int) {
        guard let entry = found.entries[key] else { return faults.append("\(key), which is wanted, went away") }
        let old = before.entries[key]
        let oldFile = before.file(of: key)
        guard let file = found.file(of: key) else {
            if oldFile != nil { faults.append("\(key), which is wanted, lost its file") }
            return
        }
        let served = Image(of: key, version: version)
        let isOld = file.image == oldFile?.image && entry.version == old?.version
        let isNew = file.image == served && entry.version == version
        if !isOld && !isNew { faults.append("\(key) is \(found.line(of: key) ?? ""), neither old nor served") }
        if entry.storageClass != file.storageClass { faults.append("\(key) is in two classes") }
        if old?.file != nil, oldFile?.storageClass == .documents, file.storageClass != .documents {
            faults.append("\(key) was a document")
        }
        if storage == .caches, oldFile?.storageClass != .documents, file.storageClass == .documents {
            faults.append("\(key) became a document")
        }
        let fresh = tick + VersionedOrigin.lifetime(of: Int(key.description.dropFirst()) ?? 0)
        if entry.freshUntil != old?.freshUntil && entry.freshUntil != fresh {
            faults.append("\(key) is fresh until \(String(describing: entry.freshUntil))")
        }
    }

    private func isServed(_ key: ImageKey, _ version: Int) -> Bool {
        guard let entry = found.entries[key], let file = found.file(of: key) else { return false }
        if storage == .documents && file.storageClass != .documents { return false }
        if let fresh = before.entries[key]?.freshUntil, before.file(of: key) != nil, fresh > tick { return true }
        return entry.version == version && file.image == Image(of: key, version: version)
    }

    private mutating func judgeOutcome(_ outcome: Outcome, _ versions: [ImageKey: Int]) {
        guard case .synced(let wanted, let leftOut) = outcome else {
            return faults.append("the sync came to \(outcome)")
        }
        if wanted != versions.count { faults.append("\(wanted) images wanted, not \(versions.count)") }
        let missing = versions.filter { !isServed($0.key, $0.value) }
        if missing.count != leftOut {
            let names = missing.keys.map(\.description).sorted().joined(separator: ", ")
            faults.append("\(leftOut) images left out, and not as served are: \(names)")
        }
    }

    // MARK: What is not

    private mutating func judgeOther(_ key: ImageKey) {
        var (old, new) = (before, found)
        guard new.entries[key] != nil else { return faults.append("\(key), which was not asked for, went away") }
        old.entries[key]?.owners = []
        new.entries[key]?.owners = []
        if old.line(of: key) == new.line(of: key) { return }
        if new.entries[key]?.isEvicted == true, old.file(of: key)?.storageClass == .caches {
            old.entries[key]?.file = nil
            old.entries[key]?.isEvicted = true
            old.entries[key]?.version = nil
        }
        if old.line(of: key) != new.line(of: key) {
            faults.append(
                "\(key), which was not asked for, is \(new.line(of: key) ?? ""), was \(old.line(of: key) ?? "")"
            )
        }
    }

    /// The evicted files are the least recently used unwanted ones.
    private mutating func judgeEvictions(wanted: Set<ImageKey>) {
        // A wanted image may now share a file that other entries had before.
        let wantedFiles = Set(wanted.flatMap { [before.entries[$0]?.file, found.entries[$0]?.file] })
        var firstKept: Int?
        for id in before.evictionOrder where !wantedFiles.contains(id) {
            guard let file = before.files[id] else { continue }
            let isThere = found.files[id]?.image == file.image
            if isThere { firstKept = firstKept ?? id }
            if !isThere, let firstKept {
                let kept = before.files[firstKept].map { "\($0)" } ?? ""
                faults.append("the file \(id), \(file), was evicted before \(firstKept), \(kept)")
            }
        }
    }

    // MARK: Contacts

    private mutating func judgeOwners() {
        for listed in list {
            let contact = listed.contact
            let was = Set(before.entries.filter { $0.value.owners.contains(contact) }.keys)
            let now = Set(found.entries.filter { $0.value.owners.contains(contact) }.keys)
            let image = ImageKey.remote(listed.slot)
            // Until the new image arrives, the contact keeps the old one, but waits for no other.
            let waiting = Set(was.filter { before.entries[$0]?.waiting.contains(contact) == true })
            let kept = was.filter { before.file(of: $0) != nil || before.entries[$0]?.isEvicted == true }
            let allowed: [Set<ImageKey>] =
                if outcome == nil || found.file(of: image) == nil {
                    // One that it waited for may have arrived for another contact, before it was known to be superseded.
                    [was, kept.subtracting(waiting).union([image]), [image]]
                        + waiting.filter { found.file(of: $0) != nil }.flatMap { [[$0], [$0, image]] }
                } else {
                    [[image]]
                }
            if !allowed.contains(now) {
                faults.append("contact \(contact) with \(image) now has \(now), had \(was)")
            }
        }
        let listed = Set(list.map(\.contact))
        for (key, entry) in found.entries {
            let strangers = entry.owners.subtracting(listed).subtracting(before.entries[key]?.owners ?? [])
            if !strangers.isEmpty { faults.append("\(key) is now of \(strangers), who are not in the list") }
        }
    }
}
