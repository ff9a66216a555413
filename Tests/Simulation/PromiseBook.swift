import AvatarStore
import Workload

/// What the calls on a store that have returned promise about each image.
///
/// After each call all images are read: that is what the caller has seen. The book then knows what a later opening must
/// find, after the end of the process and after a loss of power.
struct PromiseBook: Sendable {
    /// An image as it was read.
    struct Seen: Hashable, Sendable {
        let digest: String
        let storageClass: StorageClass
    }

    /// How the store came to its end.
    enum End: Sendable {
        /// The process was killed.
        case process
        /// The power was lost.
        case power
    }

    /// The images as the last finished call left them.
    private(set) var seen: [ImageKey: Seen] = [:]
    /// The digests that each image may have had at any time.
    private var ever: [ImageKey: Set<String>] = [:]
    /// The images in `caches` that replaced another, or were documents: those are on stable storage.
    private var lasting: Set<ImageKey> = []
    /// The images that a call has removed.
    private var removed: Set<ImageKey> = []
    /// Whether writes may find the disk full.
    var isDiskFull = false
    /// Whether no image is evicted. Where room is scarce, an image may be evicted for its own successor.
    var hasRoom = true
    /// The call that is under way.
    private var running: StoreOperation?
    /// The digests that a loss of power may leave of an image, after a call on it that failed or whose process died; `nil` for none.
    ///
    /// A commit whose synchronization failed is undone, but its pages may have reached the disk; that of a process that died is seen, but
    /// may not have. The next durable commit decides.
    private var undecided: [ImageKey: Set<String?>] = [:]
    /// The same after the end of all processes. A commit whose process died may be whole in the log and not seen by the others:
    /// the next process that finds the log without a user takes it for committed.
    private var undecidedOfDead: [ImageKey: Set<String?>] = [:]
    /// The digests of images that are ignored. If the call was interrupted, the next sync takes them away.
    private var ignored: Set<String> = []
    /// The images as the backup has them; `nil` as long as there is none.
    private(set) var backup: [ImageKey: Seen]?

    /// Notes that a call begins.
    mutating func begin(_ operation: StoreOperation) {
        running = operation
        for (key, image) in operation.contents { ever[key, default: []].insert(Self.digest(of: image)) }
    }

    /// Notes that images with this digest are about to be ignored. Own images are not affected.
    mutating func beginIgnoring(_ digest: String) {
        begin(.remove(seen.filter { !$0.key.isOwn && $0.value.digest == digest }.map(\.key)))
        ignored.insert(digest)
    }

    /// Notes that a backup is complete, of the images as they can be read now.
    mutating func endBackup() { backup = seen }

    /// Notes that a call has returned, with the images as they can be read now.
    ///
    /// - Parameters:
    ///   - isUndecided: whether it has thrown an error, or its process has died.
    ///   - isOfDead: whether its process has died.
    mutating func end(_ found: [ImageKey: Seen], isUndecided: Bool = false, isOfDead: Bool = false) {
        let isRemoval =
            switch running {
            case .remove, .forget, .reconcile, .sync, .unlink: true
            default: false
            }
        var isDurable = false
        for key in Set(seen.keys).union(found.keys) {
            switch (seen[key], found[key]) {
            case (let old?, let new?):
                removed.remove(key)
                if old.digest != new.digest || old.storageClass == .documents { lasting.insert(key) }
                if old.digest != new.digest { isDurable = true }
            case (nil, let new?):
                removed.remove(key)
                lasting.remove(key)
                if new.storageClass == .documents { isDurable = true }
            case (let old?, nil):
                lasting.remove(key)
                if isRemoval, hasRoom || old.storageClass == .documents || running?.names(key) == true {
                    removed.insert(key)
                    isDurable = true
                }
            case (nil, nil): break
            }
        }
        if isUndecided, let running {
            for key in Set(seen.keys).union(found.keys).union(running.contents.map(\.0)) {
                var digests: Set = [seen[key]?.digest, found[key]?.digest]
                for (_, image) in running.contents.filter({ $0.0 == key }) {
                    digests.insert(Self.digest(of: image))
                }
                if running.mayRemove(key) || mayIgnore(key, in: running) { digests.insert(nil) }
                if digests.count > 1 {
                    undecided[key, default: []].formUnion(digests)
                    if isOfDead { undecidedOfDead[key, default: []].formUnion(digests) }
                }
            }
        } else if isDurable, !isUndecided {
            (undecided, undecidedOfDead) = ([:], [:])
        }
        seen = found
        running = nil
    }

    /// Notes that the store was opened after its end, with the images that it has: no call is undecided any more.
    mutating func reopen(_ found: [ImageKey: Seen]) {
        end(found)
        (undecided, undecidedOfDead) = ([:], [:])
    }

    /// The promises that are broken by what was found after `end`.
    ///
    /// - Parameter mayLose: whether images may be lost, but none may be a wrong one.
    func violations(_ found: [ImageKey: Seen], after end: End, mayLose: Bool) -> [String] {
        Set(seen.keys).union(found.keys).union(ever.keys).sorted { $0.description < $1.description }.compactMap { key in
            let digest = found[key]?.digest
            if let digest, !ever[key, default: []].contains(digest) {
                return "\(key) shows another image: \(name(digest))"
            }
            guard !allows(digest, of: key, after: end), !mayLose || end == .process else { return nil }
            let before = seen[key].map { "\(name($0.digest)) in \($0.storageClass)" } ?? "nothing"
            return
                "\(key) is \(digest.map(name) ?? "gone"), was \(before), running \(running.map { "\($0)" } ?? "nothing")"
        }
    }

    /// Whether the call may take the image away because its bytes are ignored: those that it has, if an earlier call was interrupted, or
    /// those that the origin sends now.
    private func mayIgnore(_ key: ImageKey, in running: StoreOperation) -> Bool {
        guard !key.isOwn else { return false }
        if running.isSync, let before = seen[key], ignored.contains(before.digest) { return true }
        return running.contents.contains { $0.0 == key && ignored.contains(Self.digest(of: $0.1)) }
    }

    private func allows(_ digest: String?, of key: ImageKey, after end: End) -> Bool {
        let before = seen[key]
        if digest == before?.digest { return true }
        if let running {
            if running.mayLeave(digest, of: key) { return true }
            if digest == nil, mayIgnore(key, in: running) { return true }
            // An image of the cache may make room for another; on a full disk, for the index too.
            let mayEvict = running.mayEvict || isDiskFull && running.changesIndex
            if digest == nil, before?.storageClass != .documents, mayEvict { return true }
        }
        if (end == .power ? undecided : undecidedOfDead)[key]?.contains(digest) == true { return true }
        guard end == .power else { return false }
        switch before?.storageClass {
        case .documents: return false
        case .caches: return !hasRoom || !lasting.contains(key)
        default: return !removed.contains(key)
        }
    }

    private func name(_ digest: String) -> String {
        for (key, digests) in ever where digests.contains(digest) {
            for version in 1...40 where Self.digest(of: Image(of: key, version: version)) == digest {
                return "\(key) version \(version)"
            }
        }
        return "unknown bytes"
    }

    fileprivate static func digest(of image: Image) -> String { Digests.shared.digest(of: image) }
}

extension StoreOperation {
    /// Whether the call removes this image by its key. Another call that removes images may also evict some, to have room on the disk.
    fileprivate func names(_ key: ImageKey) -> Bool {
        if case .remove(let keys) = self { keys.contains(key) } else { false }
    }

    /// The contents that the call may give images.
    var contents: [(ImageKey, Image)] {
        switch self {
        case .save(let name, let version, _): [(.own(name), Image(of: .own(name), version: version))]
        case .fetch(let slot, let version, _, _): [(.remote(slot), Image(of: .remote(slot), version: version))]
        case .sync(let list, _, _): list.map { (.remote($0.slot), Image(of: .remote($0.slot), version: $0.version)) }
        case .reconcile(let list, let photos):
            list.map { (.remote($0.slot), Image(of: .remote($0.slot), version: $0.version)) }
                + photos.map { (.photo($0.key), Image(of: .photo($0.key), version: $0.value)) }
        case .read, .move, .remove, .forget, .trim, .setBudget, .link, .unlink: []
        }
    }

    /// Whether the call may leave the image with the bytes of `digest`; `nil`: without any.
    fileprivate func mayLeave(_ digest: String?, of key: ImageKey) -> Bool {
        guard let digest else { return mayRemove(key) }
        return contents.contains { $0.0 == key && PromiseBook.digest(of: $0.1) == digest }
    }

    /// Whether the call may take the image away.
    fileprivate func mayRemove(_ key: ImageKey) -> Bool {
        switch self {
        case .remove(let keys): keys.contains(key)
        // The images of a contact are not known here.
        case .forget, .reconcile, .unlink: true
        // A list without a photo takes it from the contacts that it names.
        case .sync(let list, _, _): list.contains { .photo($0.contact) == key }
        default: false
        }
    }

    /// Whether the call syncs a list.
    fileprivate var isSync: Bool {
        switch self {
        case .sync, .reconcile: true
        default: false
        }
    }

    /// Whether the call writes to the index.
    fileprivate var changesIndex: Bool {
        if case .read = self { false } else { true }
    }

    /// Whether the call may evict images of the cache.
    fileprivate var mayEvict: Bool {
        switch self {
        case .read, .remove, .forget, .link, .unlink: false
        default: true
        }
    }
}
