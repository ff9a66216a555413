import AvatarCore
import AvatarFoundation
import Dispatch
import Synchronization

/// Hits kept in memory: an entry that was looked up before is found again without SQLite.
///
/// It must never return an outdated hit, whichever program changed the entry. It relies on SQLite itself: a hit is
/// valid while the header of the WAL-index is the same as at its lookup (`WALIndex`). Every commit changes that header:
/// a commit of this process or another, of an older version of this program, of a shell, and of a process that was
/// killed right after it. No counter of our own could be forgotten. The price: after a commit of another process,
/// everything is looked up once more, even if the commit changed none of it. Processes that only read write access
/// times at most every half minute, so this is rare.
///
/// Of its own commits the process knows the rows that they changed (`CommitWatch`). Only those are looked up again, and
/// access times change no hit.
final class HitCache: Sendable {
    /// The number of recently used entries that are kept at least; at most twice as many. Each takes about 400 bytes.
    static let capacity = 1 << 17
    /// The number of hits from which on another thread frees them.
    private static let manyHits = 1000
    /// The number of locks. Keys are spread over them by their hash, so that reads seldom wait for each other.
    fileprivate static let shardCount = 64
    /// Large enough that a batch of a sync, which changes some hundred entries, leaves nearly all others in memory.
    private static let stripeCount = 1 << 18

    /// A hit, and the count by which the cache sees that this process has changed its entry.
    fileprivate struct Found {
        /// The hit as it was looked up.
        let hit: IndexHit
        /// The changes of this process to entries of the same stripe, counted at the lookup.
        let changes: UInt32
    }

    /// The hits whose keys share a lock.
    fileprivate struct Shard {
        /// `nil` until something is kept, and after closing.
        var walIndex: WALIndex?
        /// The state of the index in which the hits of this shard are valid.
        var state = WALIndex.State()
        /// Whether the index is closed. `walIndex` would then point to memory that SQLite has unmapped.
        var isClosed = false
        /// When `young` is full it becomes `old`, and the entries of `old` that were not used since are forgotten.
        /// By the hash of the key. The key is compared in full too: of two keys with the same hash, one is kept.
        var young: [Int: Found] = [:]
        /// The hits of the generation before `young`. One that is used again moves to `young`.
        var old: [Int: Found] = [:]
    }

    /// A shard behind its mutex.
    private final class Lock: Sendable {
        /// The hits of this lock. A class, because an array cannot hold a mutex itself.
        let shard = Locked(Shard())
    }

    /// The shards, by the last bits of the hash of a key.
    private let locks = (0..<shardCount).map { _ in Lock() }
    /// The number of changes of this process, by the last bits of the entries' row ids.
    private nonisolated(unsafe) let stripes: UnsafeMutablePointer<Atomic<UInt32>>  // Only used by atomic operations.
    /// Whether any hit was ever kept. Until then commits need not be watched.
    private let isUsed = Atomic(false)
    /// Whether this process is in a write transaction, whose commit will change the state of the index.
    private let isCommitting = Atomic(false)

    /// Allocates the counters, 1 MiB of address space.
    init() {
        // Zero bytes are an `Atomic(0)`. So a process that reads one entry and counts nothing never touches these
        // pages.
        guard let zeros = calloc(Self.stripeCount, MemoryLayout<Atomic<UInt32>>.stride) else {
            // Every other allocation of Swift also ends the process without memory.
            preconditionFailure("No memory for \(Self.stripeCount) counters.")
        }
        stripes = zeros.bindMemory(to: Atomic<UInt32>.self, capacity: Self.stripeCount)
    }

    deinit { free(stripes) }

    /// The hit that is kept for `key`, if it is still valid.
    func hit(for key: AvatarKey) -> IndexHit? {
        let hash = key.hashValue
        return lock(of: hash).shard.withLock { shard in
            guard let walIndex = shard.walIndex else { return nil }
            guard walIndex.isIn(shard.state) else {
                // During our own commit nothing is forgotten: `commit` says in a moment which hits stay valid.
                if !isCommitting.load(ordering: .acquiring) { shard.forget() }
                return nil
            }
            if let found = shard.young[hash] { return holds(found, for: key) ? found.hit : nil }
            guard let found = shard.old.removeValue(forKey: hash), holds(found, for: key) else { return nil }
            shard.keep(found, for: hash)
            return found.hit
        }
    }

    /// Keeps the hit that a lookup found.
    ///
    /// - Parameter state: the state of `walIndex` before the lookup.
    func keep(_ hit: IndexHit, in walIndex: WALIndex, _ state: WALIndex.State) {
        isUsed.store(true, ordering: .relaxed)
        let hash = hit.key.hashValue
        let found = Found(hit: hit, changes: changes(of: hit))
        lock(of: hash).shard.withLock { shard in
            // Changes are counted after their commit is visible. While the state is the same, `found` misses no change.
            guard !shard.isClosed, walIndex.isIn(state) else { return }
            if shard.walIndex != walIndex || shard.state != state {
                guard !isCommitting.load(ordering: .acquiring) else { return }
                shard.forget()
                shard.walIndex = walIndex
                shard.state = state
            }
            shard.keep(found, for: hash)
        }
    }

    /// Forgets everything, and keeps nothing from now on. SQLite may unmap its memory after this.
    func close() {
        var hits: [[Int: Found]] = []
        for lock in locks {
            lock.shard.withLock { shard in
                hits += [shard.young, shard.old]
                shard.forget()
                shard.walIndex = nil
                shard.isClosed = true
            }
        }
        // Many hits take longer to free than the store to close, so another thread frees them.
        if hits.reduce(0, { $0 + $1.count }) > Self.manyHits {
            // A global queue needs /proc (`avatar_run_tasks_without_proc`).
            DispatchQueue(label: "avatars.releases").async { [hits] in _ = hits }
        }
    }

    // MARK: Commits of this process

    /// Whether any hit was ever kept.
    var isWorthKeeping: Bool { isUsed.load(ordering: .relaxed) }

    /// Until `endCommit`, a changed state does not make the cache forget everything.
    func beginCommit() { isCommitting.store(true, ordering: .releasing) }

    /// Ends what `beginCommit` began, whether the transaction was committed or not.
    func endCommit() { isCommitting.store(false, ordering: .releasing) }

    /// Tells the cache that exactly one commit, of this process, led from one state to the other.
    ///
    /// - Parameter changed: the row ids of the entries that it changed or deleted.
    func commit(in walIndex: WALIndex, from before: WALIndex.State, to after: WALIndex.State, changed: Set<Int64>) {
        for id in changed { stripes[Self.stripe(id)].wrappingAdd(1, ordering: .acquiringAndReleasing) }
        for lock in locks {
            lock.shard.withLock { shard in
                if shard.walIndex == walIndex, shard.state == before { shard.state = after }
            }
        }
    }

    /// Whether a kept hit is of `key`, and this process has not changed its entry since the lookup.
    @inline(__always)
    private func holds(_ found: Found, for key: AvatarKey) -> Bool {
        changes(of: found.hit) == found.changes && found.hit.key == key
    }

    /// The shard for a hash.
    private func lock(of hash: Int) -> Lock { locks[hash & (Self.shardCount - 1)] }

    /// The number of changes of this process to entries of the hit's stripe.
    private func changes(of hit: IndexHit) -> UInt32 { stripes[Self.stripe(hit.entryID)].load(ordering: .acquiring) }

    /// The stripe of an entry: the last bits of its row id.
    private static func stripe(_ id: Int64) -> Int { Int(truncatingIfNeeded: id) & (stripeCount - 1) }
}

extension HitCache.Shard {
    /// Keeps a hit. Once `young` is full, it replaces `old`.
    fileprivate mutating func keep(_ found: HitCache.Found, for hash: Int) {
        young[hash] = found
        guard young.count >= HitCache.capacity / HitCache.shardCount else { return }
        old = young
        young = [:]
    }

    /// Removes all hits.
    fileprivate mutating func forget() {
        guard !young.isEmpty || !old.isEmpty else { return }
        young = [:]
        old = [:]
    }
}
