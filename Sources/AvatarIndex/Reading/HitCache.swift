import AvatarCore
import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What look-ups found, kept in memory: an entry that was used before is found again without SQLite.
///
/// It must never give what is no longer so, whoever changed it. That is SQLite's own word: what is kept holds while the
/// header of the WAL-index is what it was (`WALIndex`). Every commit of every program changes that, also of an older
/// version of this one, of a shell, and of a process that was killed right after it; there is no counter of our own that
/// somebody could forget to count, to finish, or to remove. What it costs: a commit of another process makes everything
/// here be looked up once more, also if it concerned none of it. Processes that only read write their times of access
/// every half minute at the most, so this is rare.
///
/// Of its own commits the process knows what they changed (`CommitWatch`). Those make only that be looked up again, and
/// times of access nothing.
final class HitCache: Sendable {
    /// So many of the last used entries are kept, and at the most twice as many; each takes about 400 bytes.
    static let capacity = 1 << 17
    fileprivate static let shardCount = 64
    /// So many that a batch of a sync, which changes some hundred entries, leaves nearly all others in memory.
    private static let stripeCount = 1 << 18

    fileprivate struct Found {
        let hit: IndexHit
        /// How often entries of the same stripe had been changed by this process.
        let changes: UInt32
    }

    fileprivate struct Shard {
        /// `nil` until something is kept, and after closing.
        var walIndex: WALIndex?
        /// While it is this, what is kept holds.
        var state = WALIndex.State()
        var isClosed = false
        /// When `young` is full, it becomes `old`, and what was old and not used since is forgotten.
        /// By the hash of the key, which is compared in full all the same: should two share a hash, one is kept.
        var young: [Int: Found] = [:]
        var old: [Int: Found] = [:]
    }

    private final class Lock: Sendable {
        let shard = Mutex(Shard())
    }

    private let locks = (0..<shardCount).map { _ in Lock() }
    /// How often this process changed entries, by the last bits of their row ids.
    private nonisolated(unsafe) let stripes: UnsafeMutablePointer<Atomic<UInt32>>  // Only used by atomic operations.
    private let isUsed = Atomic(false)
    private let isCommitting = Atomic(false)

    init() {
        // Zero bytes are an `Atomic(0)`, which is stored as its value is. So nothing is written for what no process
        // that only opens and reads one entry ever counts: the system gives such pages when they are first touched.
        guard let zeros = calloc(Self.stripeCount, MemoryLayout<Atomic<UInt32>>.stride) else {
            // As every allocation of Swift's ends the process where there is no memory left.
            preconditionFailure("No memory for \(Self.stripeCount) counters.")
        }
        stripes = zeros.bindMemory(to: Atomic<UInt32>.self, capacity: Self.stripeCount)
    }

    deinit { free(stripes) }

    /// What is kept for `key`, if it still holds.
    func hit(for key: AvatarKey) -> IndexHit? {
        let hash = key.hashValue
        return lock(of: hash).shard.withLock { shard in
            guard let walIndex = shard.walIndex else { return nil }
            guard walIndex.isIn(shard.state) else {
                // What our own commit leaves as it was is kept; it says so in a moment.
                if !isCommitting.load(ordering: .acquiring) { shard.forget() }
                return nil
            }
            if let found = shard.young[hash] { return holds(found, for: key) ? found.hit : nil }
            guard let found = shard.old.removeValue(forKey: hash), holds(found, for: key) else { return nil }
            shard.keep(found, for: hash)
            return found.hit
        }
    }

    /// Keeps what a look-up gave.
    ///
    /// - Parameter state: the state before the look-up, in `walIndex`.
    func keep(_ hit: IndexHit, in walIndex: WALIndex, _ state: WALIndex.State) {
        isUsed.store(true, ordering: .relaxed)
        let hash = hit.key.hashValue
        let found = Found(hit: hit, changes: changes(of: hit))
        lock(of: hash).shard.withLock { shard in
            // Changes are counted once the commit is to be seen. So if it is still not, then none is missed in `found`.
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

    /// Forgets everything and keeps nothing any more. SQLite's memory may go away after this.
    func close() {
        for lock in locks {
            lock.shard.withLock { shard in
                shard.forget()
                shard.walIndex = nil
                shard.isClosed = true
            }
        }
    }

    // MARK: Commits of this process

    /// Whether there is something that a commit could leave as it is.
    var isWorthKeeping: Bool { isUsed.load(ordering: .relaxed) }

    /// Until `endCommit`, a state that changed does not make everything be forgotten.
    func beginCommit() { isCommitting.store(true, ordering: .releasing) }

    func endCommit() { isCommitting.store(false, ordering: .releasing) }

    /// One commit of this process, and nothing else, led from one state to the other and changed the entries with the
    /// row ids `changed`.
    func commit(in walIndex: WALIndex, from before: WALIndex.State, to after: WALIndex.State, changed: Set<Int64>) {
        for id in changed { stripes[Self.stripe(id)].wrappingAdd(1, ordering: .acquiringAndReleasing) }
        for lock in locks {
            lock.shard.withLock { shard in
                if shard.walIndex == walIndex, shard.state == before { shard.state = after }
            }
        }
    }

    @inline(__always)
    private func holds(_ found: Found, for key: AvatarKey) -> Bool {
        changes(of: found.hit) == found.changes && found.hit.key == key
    }

    private func lock(of hash: Int) -> Lock { locks[hash & (Self.shardCount - 1)] }

    private func changes(of hit: IndexHit) -> UInt32 { stripes[Self.stripe(hit.entryID)].load(ordering: .acquiring) }

    private static func stripe(_ id: Int64) -> Int { Int(truncatingIfNeeded: id) & (stripeCount - 1) }
}

extension HitCache.Shard {
    fileprivate mutating func keep(_ found: HitCache.Found, for hash: Int) {
        young[hash] = found
        guard young.count >= HitCache.capacity / HitCache.shardCount else { return }
        old = young
        young = [:]
    }

    fileprivate mutating func forget() {
        guard !young.isEmpty || !old.isEmpty else { return }
        young = [:]
        old = [:]
    }
}
