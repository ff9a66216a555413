import AvatarCore
import AvatarIndex
package import AvatarReports

/// Makes room in `caches`: chooses the files to evict, the least recently used ones first, and evicts them.
///
/// The choice among the files is `EvictionPlan`, a value. Room is made before a file is published, so the budget is never
/// exceeded. An evicted file goes through the steps of a deletion (`StoreWriter`).
package final class Evictor {
    /// Evicted files and their bytes.
    package typealias Freed = (files: Int, bytes: Int)

    /// Files that a transaction took from the index to make room. `finish` unlinks them after the commit.
    struct Eviction {
        /// The row that names them.
        let batch: PendingBatch
        /// The files, with the renditions of evicted originals.
        let files: [PendingFile]
        /// Their bytes.
        var bytes: Int { files.reduce(0) { $0 + $1.sizeBytes } }
    }

    let index: AvatarIndex
    let places: StorePlaces
    private let accesses: AccessRecorder
    private let metrics: any WriterMetrics
    private let boot: BootRecord
    let pending: PendingWork
    /// At least the bytes of all renditions, but for those that other processes have made since it was counted; `nil`: not
    /// counted yet.
    private var renditionBytes: Int?
    /// All that this process has evicted.
    private var evicted: Freed = (0, 0)

    init(
        _ index: AvatarIndex,
        _ places: StorePlaces,
        _ accesses: AccessRecorder,
        _ metrics: any WriterMetrics,
        _ boot: BootRecord,
        _ pending: PendingWork
    ) {
        (self.index, self.places, self.accesses) = (index, places, accesses)
        (self.metrics, self.boot, self.pending) = (metrics, boot, pending)
    }

    // MARK: Victims

    /// The row ids of the files to evict before `incoming` bytes may be published; none if there is room.
    ///
    /// The budget is read again here: a process that lowered it may rely on it from then on.
    ///
    /// - Parameter spared: files that are about to be replaced. They are evicted only if the image does not fit
    ///   otherwise.
    /// - Parameter isPrepared: whether `prepareRoom` was called.
    /// - Returns: `nil` if files may have to be evicted, and `prepareRoom` must be called first.
    /// - Throws: `overBudget` if the image exceeds the budget or the room that can be made, and `ProtectionNeeded`. In
    ///   both cases nothing was evicted.
    func victims(
        for incoming: Int,
        sparing spared: Set<Int64> = [],
        under rules: RoomRules,
        isPrepared: Bool,
        in transaction: IndexTransaction
    ) throws -> [Int64]? {
        guard incoming > 0 else { return [] }
        let budget = min(rules.limits.budget, try transaction.budget())
        guard incoming <= budget else { throw AvatarStoreError.largerThanBudget(incoming, budget) }
        let bytes = try transaction.total(of: .caches).accountedBytes
        guard isPrepared || bytes + incoming <= budget else { return nil }
        if rules.isRendition {
            return try renditionVictims(for: incoming, budget, bytes, under: rules, in: transaction)
        }
        let start = EvictionPlan(
            bytes: bytes,
            incoming: incoming,
            limit: budget,
            lowWatermark: min(rules.limits.lowWatermark, budget)
        )
        guard start.needsEviction else { return [] }
        if case .unknown = rules.protection { throw ProtectionNeeded() }
        var plan = try choose(start, under: rules, sparing: spared, in: transaction)
        if !plan.fits && !spared.isEmpty { plan = try choose(start, under: rules, sparing: [], in: transaction) }
        guard plan.fits else {
            throw AvatarStoreError(
                .overBudget,
                "\(incoming) bytes do not fit: the budget is \(budget) bytes, \(plan.bytes) are in use, and only "
                    + "\(plan.freed) of them may be evicted now. Nothing was evicted. Raise the budget or remove images.",
                failure: .storage
            )
        }
        return plan.victims
    }

    /// The renditions to evict before another one of `incoming` bytes may be published; none if there is room. No original is
    /// evicted: a client that asks for many sizes must not cost any contact its image.
    ///
    /// - Throws: `overBudget` if the rendition exceeds the share of renditions, or the budget is full of originals.
    private func renditionVictims(
        for incoming: Int,
        _ budget: Int,
        _ total: Int,
        under rules: RoomRules,
        in transaction: IndexTransaction
    ) throws -> [Int64] {
        let share = try transaction.renditionBudget(budget: budget)
        // Counting reads a row for each rendition, so it is done only when the share seems used up.
        var bytes = renditionBytes ?? .max
        if bytes > share - incoming { bytes = try transaction.renditionBytes() }
        renditionBytes = bytes + incoming
        let excess = max(
            // As with the budget, an eviction makes more room than it has to, so that not every rendition causes one.
            bytes + incoming > share ? bytes - min(share / 10 * 9, share - incoming) : 0,
            total + incoming - budget
        )
        guard excess > 0 else { return [] }
        var plan = EvictionPlan(bytes: excess, trimmingTo: 0)
        try transaction.forEachRendition { rendition in
            guard rules.allowsEviction(of: rendition.fileID) else { return true }
            return plan.offer(fileID: rendition.fileID, sizeBytes: rendition.sizeBytes)
        }
        guard bytes - plan.freed + incoming <= share, total - plan.freed + incoming <= budget else {
            renditionBytes = bytes
            throw AvatarStoreError(
                .overBudget,
                "A rendition of \(incoming) bytes does not fit: renditions may use \(share) of the \(budget) bytes of the "
                    + "budget, and evict no image. Raise the budget or `rendition-budget`.",
                failure: .storage
            )
        }
        return plan.victims
    }

    /// The plan after it was offered the files that `rules` allow to evict, the least recently used first.
    private func choose(
        _ plan: EvictionPlan,
        under rules: RoomRules,
        sparing spared: Set<Int64>,
        in transaction: IndexTransaction
    ) throws -> EvictionPlan {
        var plan = plan
        try transaction.forEachEvictionCandidate(accessedBefore: rules.accessedBefore) { candidate in
            guard rules.allowsEviction(of: candidate.fileID), !spared.contains(candidate.fileID) else {
                return !plan.isComplete
            }
            return plan.offer(fileID: candidate.fileID, sizeBytes: candidate.sizeBytes)
        }
        return plan
    }

    // MARK: Eviction

    /// Removes the files from the index.
    ///
    /// - Returns: the files for `finish`; `nil` if the index has none of them.
    func evict(_ victims: [Int64], in transaction: IndexTransaction) throws -> Eviction? {
        try transaction.retireFiles(ids: victims, absence: .evicted, holder: places.holder.name).map {
            Eviction(batch: $0, files: $0.files + transaction.retiredRenditions)
        }
    }

    /// Counts and unlinks evicted files, once their transaction is committed.
    func finish(_ eviction: Eviction?) throws {
        guard let eviction else { return }
        metrics.evict(files: eviction.files.count, bytes: eviction.bytes)
        evicted.files += eviction.files.count
        evicted.bytes += eviction.bytes
        try pending.unlink([], [eviction.batch])
    }

    /// The most files evicted in one transaction on a disk that was full: such a transaction needs little room.
    private static let smallBatch = 64

    /// Evicts until at most `target` bytes count against the budget. Works on a full disk too.
    ///
    /// - Parameter batches: the most files evicted in one transaction. Files that were used one after another lie on pages
    ///   anywhere, so a large batch rewrites each page fewer times; 4,096 hold the lock for about a tenth of a second.
    /// - Parameter canStop: whether a cancelled task ends it after a batch.
    /// - Returns: the files and bytes evicted.
    package func trim(
        to target: Int,
        in batches: Int = 4096,
        canStop: Bool = true,
        progress: ProgressHandler = { _ in }
    ) throws -> Freed {
        let before = evicted
        try makingRoom { _ in
            try boot.markChanged()
            try flushAccesses()
            try pending.finishOwnLeftovers()
            try pending.finishDeadHolders()
        }
        let excess = max(0, try index.total(of: .caches).accountedBytes - target)
        var isDiskFull = false
        progress(WorkProgress(.evicting, .bytes, of: excess))
        try index.withLargeCache {
            while !canStop || !Task.isCancelled {
                let (batch, isComplete) = try makingRoom { isFull in
                    if isFull { isDiskFull = true }
                    return try evictBatch(to: target, atMost: isDiskFull ? min(batches, Self.smallBatch) : batches)
                }
                try finish(batch)
                let freed = evicted.bytes - before.bytes
                progress(WorkProgress(.evicting, .bytes, done: min(freed, excess), of: excess))
                if isComplete { break }
            }
        }
        try pending.settle()
        return (evicted.files - before.files, evicted.bytes - before.bytes)
    }

    /// One transaction of `trim`.
    ///
    /// - Returns: the evicted files, and whether it was the last transaction.
    private func evictBatch(to target: Int, atMost most: Int) throws -> (evicted: Eviction?, isComplete: Bool) {
        try pending.write { transaction in
            var plan = EvictionPlan(
                bytes: try transaction.total(of: .caches).accountedBytes,
                trimmingTo: target
            )
            try transaction.forEachEvictionCandidate(accessedBefore: .max) {
                plan.offer(fileID: $0.fileID, sizeBytes: $0.sizeBytes) && plan.victims.count < most
            }
            let evicted = try evict(plan.victims, in: transaction)
            // Without a file that it names, a foreign row would be the first candidate for ever.
            return (evicted, plan.isComplete || evicted == nil)
        }
    }

    // MARK: Room

    /// Before files are evicted: finishes pending deletions, and brings the order of uses up to date.
    func prepareRoom() throws {
        try flushAccesses()
        if try !index.pendingHolders().isEmpty {
            try pending.finishOwnLeftovers()
            try pending.finishDeadHolders()
        }
    }

    /// The bytes that could be published under `rules` once all evictable files are gone.
    func roomThatCanBeMade(_ rules: RoomRules) throws -> Int {
        try pending.write { transaction in
            let budget = min(rules.limits.budget, try transaction.budget())
            let bytes = try transaction.total(of: .caches).accountedBytes
            let plan = try choose(
                EvictionPlan(bytes: bytes, trimmingTo: 0),
                under: rules,
                sparing: [],
                in: transaction
            )
            return max(0, budget - (bytes - plan.freed))
        }
    }

    /// Whether `bytes` more could be published under `rules`. Evicts nothing.
    func couldFit(_ bytes: Int, _ rules: RoomRules) throws -> Bool {
        do {
            try flushAccesses()
            return try pending.write { transaction in
                _ = try victims(for: bytes, under: rules, isPrepared: true, in: transaction)
                return true
            }
        } catch let error as AvatarStoreError where error.code == .overBudget {
            return false
        }
    }

    /// Checks `Setting.minimumFree` on the disks of both roots. Staged files are on the disk already.
    ///
    /// - Throws: `diskFull` if less is free.
    func requireFreeSpace(_ limits: Limits) throws {
        guard limits.minimumFree > 0 else { return }
        for storageClass in StorageClass.allCases {
            let root = places.files(of: storageClass).root
            let free = try root.freeBytes()
            guard free >= limits.minimumFree else {
                throw AvatarStoreError(
                    .diskFull,
                    "The disk of \"\(root.path)\" has \(ByteSize.text(free)) free; the setting `min-free` requires "
                        + "\(ByteSize.limit(limits.minimumFree)). Free some space, or lower the setting with `avatars config min-free`.",
                    failure: .storage
                )
            }
        }
    }

    // MARK: The order of uses

    /// The number of access times from which on they are written with more memory.
    private static let manyAccesses = 1000

    /// Writes the buffered access times.
    ///
    /// The times of many files rewrite the same pages, so a transaction takes as many as it can in 50 milliseconds: other
    /// processes wait that long for the lock, and as long again for the commit.
    ///
    /// - Parameter scope: which times. Default: all.
    func flushAccesses(_ scope: AccessRecorder.Scope = .all) throws {
        guard accesses.bufferedCount > Self.manyAccesses else { return try writeAccesses(scope) }
        try index.withLargeCache { try writeAccesses(scope) }
    }

    private func writeAccesses(_ scope: AccessRecorder.Scope) throws {
        var times = accesses.drain(scope)[...]
        while !times.isEmpty {
            do {
                let end = ContinuousClock.now + .milliseconds(50)
                times = try pending.write { try $0.touch(times) { .now < end } }
            } catch {
                accesses.restore(times)
                throw error
            }
        }
    }
}

extension AvatarStoreError {
    /// An image larger than the whole budget.
    static func largerThanBudget(_ bytes: Int, _ budget: Int) -> AvatarStoreError {
        AvatarStoreError(
            .overBudget,
            "\(bytes) bytes exceed the whole budget of \(budget) bytes. Nothing was evicted. Raise the budget or "
                + "store the image in `documents`.",
            failure: .tooLarge
        )
    }

    /// The same error with `key` in front of its message.
    func naming(_ key: AvatarKey) -> AvatarStoreError {
        var error = self
        error.message = "\(key): \(message)"
        return error
    }
}
