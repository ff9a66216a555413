import AvatarCore
import AvatarFiles
package import AvatarIndex
import Dispatch
import Logging

/// Changes index and files together. Each process has one writer for a store, and nothing else changes the store.
///
/// Index and files cannot change in one step, so each step leaves a state that the next opening understands:
///
/// ```
/// publish   1  commit a pending row for the batch    the bytes of its files count against the budget from here on
///           2  rename from staging, or write the file under its name
///           3  commit: pending row → file rows, entries, owners;
///                      each replaced file, and each file of the batch that is not needed → a pending row of its own
/// delete    1  commit: file row → pending row; several files that are evicted → one pending row for the batch
///           2  unlink
///           3  commit: drop the pending row
/// ```
///
/// So each file that may exist is named by one row at any moment: its own, or that of its batch. A process killed in
/// between leaves pending rows that name its holder. The next process that finds the holder dead unlinks those files and
/// drops the rows.
///
/// No method awaits between its steps, so within a process each method runs as a whole.
///
/// The steps are in `StoreWriter+Publish.swift` (1 and 2), `StoreWriter+Apply.swift` and `StoreWriter+Links.swift` (3), and
/// here (delete); what is deleted and why in `StoreWriter+Evict.swift`, `StoreWriter+Remove.swift` and
/// `StoreWriter+Ignore.swift`; a dead process's work in `StoreWriter+Recover.swift`.
package actor StoreWriter {
    /// The index: the only writer in this process is here.
    package let index: AvatarIndex
    /// The directories, and this process's locks.
    package let places: StorePlaces
    /// Buffers the times of use until they are written.
    let accesses: AccessRecorder
    let metrics: StoreMetrics
    /// Files that were unlinked, and whose pending rows the next transaction drops.
    private var unlinked: [PendingFile] = []
    /// Batches whose files were unlinked, but for those that could not be. The next transaction drops their rows.
    private var unlinkedBatches: [(batch: PendingBatch, rest: [PendingFile])] = []
    /// Files that the current transaction evicts. The metrics count them once it is committed.
    var uncountedEvictions: [PendingFile] = []
    /// Whether a file that this process made pending is still to be unlinked.
    private(set) var hasLeftovers = false
    /// Whether a sync of this process is running.
    private var isSyncing = false
    /// Whether the holder keeps room on the disk for the transaction that ends its work.
    private var keepsRoom = false
    /// How far the files are on stable storage.
    var bootMark = BootMark.none
    /// At least the bytes of all renditions, but for those that other processes have made since it was counted; `nil`: not
    /// counted yet.
    var renditionBytes: Int?
    /// The number of files published since the durable point was last moved.
    var publishedSinceDurable = 0

    private let thread = StoreThread(label: "avatar-store.writer")

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.asUnownedSerialExecutor()
    }

    init(index: AvatarIndex, places: StorePlaces, accesses: AccessRecorder, metrics: StoreMetrics) {
        self.index = index
        self.places = places
        self.accesses = accesses
        self.metrics = metrics
    }

    /// Runs a write transaction. It first drops the pending rows of files that were unlinked.
    ///
    /// - Parameter durability: `process` survives a kill of the process, `power` a power loss too.
    /// - Parameter restoringRoots: whether to create roots again that were removed. Default: yes.
    package func write<Result>(
        _ durability: AvatarIndex.Durability = .process,
        restoringRoots: Bool = true,
        _ body: (IndexTransaction) throws -> Result
    ) throws -> Result {
        if restoringRoots { try places.restoreRoots() }
        if !keepsRoom {
            keepsRoom = true
            places.holder.keepRoom()
        }
        let (gone, goneBatches) = (unlinked, unlinkedBatches)
        uncountedEvictions = []
        let (result, renditions) = try index.write(durability) { transaction in
            for file in gone { try transaction.dropPending(file) }
            for (batch, rest) in goneBatches { try transaction.dropPending(batch, leaving: rest) }
            return (try body(transaction), transaction.retiredRenditions)
        }
        metrics.evict(files: uncountedEvictions.count, bytes: uncountedEvictions.reduce(0) { $0 + $1.sizeBytes })
        unlinked.removeFirst(gone.count)
        unlinkedBatches.removeFirst(goneBatches.count)
        unlinkRenditions(renditions)
        return result
    }

    /// Deletes renditions whose originals the transaction removed from the index.
    private func unlinkRenditions(_ files: [PendingFile]) {
        guard !files.isEmpty else { return }
        do {
            try unlink(files)
        } catch {
            // The transaction is committed. A file that could not be deleted stays pending and counts against the budget.
            // `settle` tries again.
        }
    }

    /// Drops the pending rows of unlinked files, and retries files that could not be unlinked before.
    func settle() throws {
        if hasLeftovers {
            do {
                return try finishOwnLeftovers()
            } catch {
                // It was reported when it happened. The file stays pending, counts against the budget, and is tried again.
            }
        }
        if !unlinked.isEmpty || !unlinkedBatches.isEmpty { try write { _ in } }
    }

    /// Unlinks files that a committed transaction made pending, in rows of their own or in batches.
    ///
    /// All are tried. A file that cannot be unlinked stays pending and counts against the budget, in a row of its own;
    /// the last error is thrown. A document's folder is synchronized before its pending row is dropped, so a power loss
    /// does not bring the file back.
    package func unlink(_ files: [PendingFile], _ batches: [PendingBatch] = []) throws {
        let (left, failure) = try unlinkEach(files + batches.flatMap(\.files))
        unlinked += left.isEmpty ? files : files.filter { !left.contains($0) }
        unlinkedBatches += batches.map { batch in (batch, left.isEmpty ? [] : batch.files.filter(left.contains)) }
        if let failure { throw failure }
    }

    /// Tries to unlink all files.
    ///
    /// - Returns: the files that could not be unlinked, and the last error.
    /// - Throws: an error after which none may be taken for gone.
    private func unlinkEach(_ files: [PendingFile]) throws -> (left: Set<PendingFile>, failure: AvatarStoreError?) {
        guard !files.isEmpty else { return ([], nil) }
        // Until they are gone, even if this throws.
        let hadLeftovers = hasLeftovers
        hasLeftovers = true
        try places.restoreRoots()
        try markChanged()
        var failure: AvatarStoreError?
        var left: Set<PendingFile> = []
        for storageClass in StorageClass.allCases {
            // A path that no store makes comes from elsewhere and may lead anywhere: only its row is dropped.
            let paths = files.filter { $0.storageClass == storageClass && FilePath.isPublishedName($0.path) }.map(
                \.path
            )
            var failed: Set<String> = []
            places.files(of: storageClass).unlink(paths.sorted()) { path, error in
                failure = error
                failed.insert(path)
            }
            if !failed.isEmpty {
                left.formUnion(files.filter { $0.storageClass == storageClass && failed.contains($0.path) })
            }
            if storageClass == .documents {
                try places.files(of: .documents).synchronizeFolders(of: paths.filter { !failed.contains($0) })
            }
        }
        if failure == nil { hasLeftovers = hadLeftovers }
        return (left, failure)
    }

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
                times = try write { try $0.touch(times) { .now < end } }
            } catch {
                accesses.restore(times)
                throw error
            }
        }
    }

    /// Writes the buffered access times that are due. If that fails, they stay buffered and the logger is told.
    func flushAccesses(reportingTo logger: Logger) {
        do {
            try flushAccesses(.due)
        } catch {
            logger.warning("last access times could not be written", metadata: ["error": "\(error)"])
        }
    }

    /// Retries files that this process left pending.
    func finishOwnLeftovers() throws {
        let name = places.holder.name
        let (files, batches) = try write { (try $0.pendingFiles(of: name), try $0.pendingBatches(of: name)) }
        hasLeftovers = false
        try unlink(files, batches)
        try settle()
    }

    /// Records how `host` responded, without a change of an image.
    func note(_ note: HostNote, of host: String) throws {
        try write { try $0.updateHealth(of: host, note.record) }
    }

    /// Stores another URL for the entry `key`. It is the same image by its key, so the validators stay.
    func setSource(_ url: String, host: String, of key: AvatarKey) throws {
        try write { transaction in
            guard let state = try transaction.state(of: key) else { return }
            try transaction.setSource(url, host: host, of: state.id, key: key)
        }
    }

    /// Marks a sync of this process as the running one.
    ///
    /// - Parameter now: if the clock was set back since the last sync, schedules made by the old time are made again.
    /// - Throws: `syncIsRunning` if another one is running, here or in a live process.
    func beginSync(at now: Timestamp) throws {
        guard !isSyncing else {
            throw AvatarStoreError(.syncIsRunning, "Another sync is running on this store.")
        }
        let own = places.holder.name
        let isTaken = try write { transaction in
            if let running = try transaction.syncHolder() {
                // A mark of our own without a sync of ours is left over: its end could not be written.
                guard try running == own || !places.isAlive(running) else { return true }
            }
            try transaction.setSyncHolder(own)
            _ = try transaction.noteClock(
                now,
                tolerance: Timestamp.clockTolerance,
                longestBlock: RetryAfter.longest
            )
            return false
        }
        if isTaken { throw AvatarStoreError(.syncIsRunning, "Another sync is running on this store.") }
        isSyncing = true
    }

    /// Ends the sync: stores its summary, updates the due times of the hosts, removes the mark, and empties the
    /// write-ahead log.
    func endSync(startedAt time: Timestamp, as sync: LastSync) throws {
        isSyncing = false
        try write { transaction in
            try transaction.setLastSync(sync)
            try transaction.refreshDueTimes(ofHostsDueAt: time)
            try transaction.setSyncHolder(nil)
        }
        try index.truncateWAL()
    }

    /// Stores the summary of a sync that did not begin.
    func record(_ sync: LastSync) throws {
        try write { try $0.setLastSync(sync) }
    }

    /// Finishes pending work, writes the buffered times and releases the holder.
    func close() throws {
        // This comes first because it frees space: the disk may be full. If the folders cannot be removed, the holder's
        // name stays, and the next opening finds them by it.
        let removal = Result { try places.endStaging() }
        if case .success = removal { places.holder.release() }
        // Before the times, because it needs less room. A process that has written nothing has left nothing.
        if index.hasWriteConnection { try finishOwnLeftovers() }
        try flushAccesses()
        try markClean()
        try removal.get()
        try index.truncateWAL()
    }
}

/// A thread of its own for an actor.
///
/// Transactions, renames and fsync block. The cooperative pool has one thread per core, so blocking there would hold up
/// the whole program.
package final class StoreThread: SerialExecutor {
    private let queue: DispatchQueue

    package init(label: String) {
        queue = DispatchQueue(label: label)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async {
            job.runSynchronously(on: self.asUnownedSerialExecutor())
        }
    }
}
