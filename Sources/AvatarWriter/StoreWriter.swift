package import AvatarCore
package import AvatarFiles
package import AvatarIndex
package import AvatarReports
import Dispatch
package import Logging

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
/// To publish, `Placing` chooses the names of step 1, `StoreWriter+Publish.swift` has steps 1 and 2, and `Publication` step 3.
/// `PendingWork` deletes: what `Evictor` chose, what a removal or an ignored image left, and what a dead process left.
package actor StoreWriter {
    /// The index: the only writer in this process is here.
    package nonisolated let index: AvatarIndex
    /// The directories, and this process's locks.
    package nonisolated let places: StorePlaces
    /// Buffers the times of use until they are written.
    package let accesses: AccessRecorder
    let metrics: any WriterMetrics
    /// Learns of answers and erasures in their transactions.
    package let sink: any AnswerSink
    /// How far the files are on stable storage.
    package let boot: BootRecord
    /// Files to unlink, and pending rows to drop.
    package let pending: PendingWork
    /// Makes room.
    package let evictor: Evictor
    /// Whether a sync of this process is running.
    private var isSyncing = false
    /// The number of files published since the durable point was last moved.
    var publishedSinceDurable = 0
    /// The most files beyond the durable point, about. At 8 KiB each, an opening after a power loss reads them in a
    /// second or two.
    var longestDistance = 16_384
    /// The task that moves the durable point; `nil` if none does.
    var moving: Task<Void, Never>?

    nonisolated let thread = StoreThread(label: "avatar-store.writer")

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.asUnownedSerialExecutor()
    }

    package init(
        index: AvatarIndex,
        places: StorePlaces,
        bootID: BootID,
        accesses: AccessRecorder,
        metrics: any WriterMetrics,
        sink: any AnswerSink
    ) {
        (self.index, self.places, self.accesses) = (index, places, accesses)
        (self.metrics, self.sink) = (metrics, sink)
        boot = BootRecord(index, places, bootID)
        pending = PendingWork(index, places, boot)
        evictor = Evictor(index, places, accesses, metrics, boot, pending)
        index.log.share(with: OtherProcesses(beside: places.holder))
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
        try pending.write(durability, restoringRoots: restoringRoots, body)
    }

    /// Unlinks files that a committed transaction made pending, as `PendingWork.unlink`.
    package func unlink(_ files: [PendingFile]) throws {
        try pending.unlink(files)
    }

    /// Drops the pending rows of unlinked files, and retries files that could not be unlinked before.
    package func settle() throws {
        try pending.settle()
    }

    /// Unlinks the files that dead processes left pending, and removes their staging folders.
    package func finishDeadHolders() throws {
        try pending.finishDeadHolders()
    }

    /// Finishes the work of dead processes when the store is opened.
    package func recover(reportingTo logger: Logger) throws {
        try boot.read()
        pending.recover(reportingTo: logger)
    }

    /// Writes the buffered access times that are due. If that fails, they stay buffered and the logger is told.
    package func flushAccesses(reportingTo logger: Logger) {
        do {
            try evictor.flushAccesses(.due)
        } catch {
            logger.warning("last access times could not be written", metadata: ["error": "\(error)"])
        }
    }

    /// Evicts until at most `target` bytes count against the budget, as `Evictor.trim`.
    package func trim(to target: Int, progress: ProgressHandler) throws -> Evictor.Freed {
        try evictor.trim(to: target, progress: progress)
    }

    /// Whether `bytes` more could be published under `rules`. Evicts nothing.
    package func couldFit(_ bytes: Int, _ rules: RoomRules) throws -> Bool {
        try evictor.couldFit(bytes, rules)
    }

    /// Removes the rows of files that were deleted from `caches` from outside. They would count against the budget, and
    /// block the room needed to fetch the images again. The entries stay, and so do files that exist after all.
    package func retireLost(_ files: [FileRecord]) throws {
        let lost = try files.filter { try $0.storageClass == .caches && !places.stored.contains($0) }
        guard !lost.isEmpty else { return }
        let retired = try write { transaction in
            try lost.compactMap {
                try transaction.retireFile(id: $0.id, absence: .missing, holder: places.holder.name)
            }
        }
        try pending.unlink(retired)
        try pending.settle()
    }

    /// Records how `host` responded, without a change of an image.
    package func note(_ note: HostNote, of host: String) throws {
        try write { try $0.updateHealth(of: host, note.record) }
    }

    /// Stores another URL for the entry `key`. It is the same image by its key, so the validators stay.
    package func setSource(_ url: String, host: String, of key: AvatarKey) throws {
        try write { transaction in
            guard let state = try transaction.state(of: key) else { return }
            try transaction.setSource(url, host: host, of: state.id, key: key)
        }
    }

    /// Marks a sync of this process as the running one.
    ///
    /// - Parameter now: if the clock was set back since the last sync, schedules made by the old time are made again.
    /// - Throws: `syncIsRunning` if another one is running, here or in a live process.
    package func beginSync(at now: Timestamp) throws {
        let own = places.holder.name
        let isTaken =
            try isSyncing
            || write { transaction in
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
    package func endSync(startedAt time: Timestamp, as sync: LastSync) throws {
        isSyncing = false
        try write { transaction in
            try transaction.setLastSync(sync)
            try transaction.refreshDueTimes(ofHostsDueAt: time)
            try transaction.setSyncHolder(nil)
        }
        try index.truncateWAL()
    }

    /// Stores the summary of a sync that did not begin.
    package func record(_ sync: LastSync) throws {
        try write { try $0.setLastSync(sync) }
    }

    /// Finishes pending work, writes the buffered times and releases the holder.
    package func close() async throws {
        // Its synchronization reports what was lost. A later one succeeds, and would be taken for proof.
        while let moving { await moving.value }
        // This comes first because it frees space: the disk may be full.
        let removal = Result { try places.endStaging() }
        places.holder.giveRoomBack()
        // By a holder that is left, others learn that folders are left, and that something may not be on the disk.
        var isSettled = false
        defer {
            if isSettled, !index.log.isDoubtful { places.holder.release() } else { places.holder.abandon() }
        }
        // Before the times, because it needs less room. A process that has written nothing has left nothing.
        if index.hasWriteConnection { try pending.finishOwnLeftovers() }
        try evictor.flushAccesses()
        try boot.markClean()
        try removal.get()
        isSettled = boot.unrecordedCount == 0
        try index.truncateWAL()
    }
}

/// The metrics that the writer keeps.
package protocol WriterMetrics: Sendable {
    /// Records the time of a committed batch, and the bytes in `caches` after it.
    func commit(took time: Duration, cachesBytes bytes: Int?)

    /// Counts evicted files and their bytes.
    func evict(files: Int, bytes: Int)
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

    package func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }

    /// Runs `body` on the thread, after what was enqueued before.
    func run(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }
}
