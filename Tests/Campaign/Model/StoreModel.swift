import AvatarStore
import Workload

/// What a store holds, as a dictionary: what must be there after each operation, to the file.
///
/// It follows the rules of the store's promises and shares no code with it. Times are microseconds since the manual
/// clock's beginning; a tick is a second.
struct StoreModel {
    struct File: Hashable {
        var storageClass: StorageClass
        var picture: Picture
        var lastAccess: Int64
    }

    struct Entry: Hashable {
        var storageClass: StorageClass
        var file: Int?
        var isEvicted = false
        /// The version whose validator is kept.
        var version: Int?
        /// In ticks.
        var freshUntil: Int?
        var owners: Set<Int> = []
        /// The owners who keep their other images until this one is there.
        var waiting: Set<Int> = []
    }

    var budget = 256 << 20
    /// By row id: equal times are evicted in this order.
    var files: [Int: File] = [:]
    var entries: [ImageKey: Entry] = [:]
    /// Uses that a process has not yet written to the index.
    var touches: [Int: [Int: Int64]] = [:]
    var lastFile = 0

    static let microsecondsPerTick: Int64 = 1_000_000

    var lowWatermark: Int { budget * 9 / 10 }

    /// The bytes of the files in `caches`.
    var bytes: Int { files.values.reduce(0) { $0 + ($1.storageClass == .caches ? $1.picture.byteCount : 0) } }

    /// The files in `caches` in the order in which they are evicted.
    var evictionOrder: [Int] {
        files.filter { $0.value.storageClass == .caches }
            .sorted { ($0.value.lastAccess, $0.key) < ($1.value.lastAccess, $1.key) }
            .map(\.key)
    }

    func file(of key: ImageKey) -> File? {
        entries[key]?.file.flatMap { files[$0] }
    }

    /// The file with the bytes of `picture`: a class holds them at most once.
    func file(with picture: Picture, in storageClass: StorageClass) -> Int? {
        files.first { $0.value.picture == picture && $0.value.storageClass == storageClass }?.key
    }

    /// Notes a use of a file. The order of the uses within one tick is the store's own; once it is known, it counts.
    mutating func use(_ id: Int, at time: Int64) {
        guard let file = files[id], time / Self.microsecondsPerTick > file.lastAccess / Self.microsecondsPerTick else {
            return
        }
        files[id]?.lastAccess = time
    }

    /// Takes over uses that the index has by now: a store writes them after half a minute, whatever else happens.
    mutating func noteUses(writtenIn found: StoreModel) {
        for (id, time) in touches.values.flatMap(\.self) {
            guard let file = found.files[id],
                file.lastAccess / Self.microsecondsPerTick >= time / Self.microsecondsPerTick
            else { continue }
            use(id, at: time)
        }
    }
}
