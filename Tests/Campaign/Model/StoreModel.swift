import AvatarStore
import Workload

/// The content of a store as a dictionary: the files that must exist after each operation.
///
/// It follows the promises of the store and shares no code with it. Times are microseconds since the manual clock's
/// start; a tick is a second.
struct StoreModel {
    struct File: Hashable {
        var storageClass: StorageClass
        var image: Image
        var lastAccess: Int64
    }

    struct Entry: Hashable {
        var storageClass: StorageClass
        var file: Int?
        var isEvicted = false
        /// The version whose validator is stored.
        var version: Int?
        /// In ticks.
        var freshUntil: Int?
        var owners: Set<Int> = []
        /// The contacts that keep their other images until this one arrives.
        var waiting: Set<Int> = []
    }

    var budget = 256 << 20
    /// By row id: equal times are evicted in this order.
    var files: [Int: File] = [:]
    var entries: [ImageKey: Entry] = [:]
    /// Uses that a process has not yet written to the index.
    var touches: [Int: [Int: Int64]] = [:]
    var lastFile = 0
    /// Whether a use counts that follows another one of the same file within one tick.
    var tellsUsesWithinTicksApart = false

    static let microsecondsPerTick: Int64 = 1_000_000

    var lowWatermark: Int { budget * 9 / 10 }

    /// The bytes of the files in `caches`.
    var bytes: Int { files.values.reduce(0) { $0 + ($1.storageClass == .caches ? $1.image.byteCount : 0) } }

    /// The files in `caches` in the order in which they are evicted.
    var evictionOrder: [Int] {
        files.filter { $0.value.storageClass == .caches }
            .sorted { ($0.value.lastAccess, $0.key) < ($1.value.lastAccess, $1.key) }
            .map(\.key)
    }

    func file(of key: ImageKey) -> File? {
        entries[key]?.file.flatMap { files[$0] }
    }

    /// The file with the bytes of `image`: a class holds them at most once.
    func file(with image: Image, in storageClass: StorageClass) -> Int? {
        files.first { $0.value.image == image && $0.value.storageClass == storageClass }?.key
    }

    /// Records a use of a file. The order of uses within one tick is up to the store; once it is known, it counts.
    mutating func use(_ id: Int, at time: Int64) {
        let unit = tellsUsesWithinTicksApart ? 1 : Self.microsecondsPerTick
        guard let file = files[id], time / unit > file.lastAccess / unit else { return }
        files[id]?.lastAccess = time
    }

    /// Adopts uses that the index has by now: a store writes them after 30 seconds, whatever else happens.
    mutating func noteUses(writtenIn found: StoreModel) {
        for (id, time) in touches.values.flatMap(\.self) {
            guard let file = found.files[id],
                file.lastAccess / Self.microsecondsPerTick >= time / Self.microsecondsPerTick
            else { continue }
            use(id, at: time)
        }
    }
}
