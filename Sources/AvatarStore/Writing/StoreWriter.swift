import AvatarCore
import AvatarFiles
import AvatarIndex
import Dispatch
import Logging

/// Changes index and files together: the only one in the process that does.
///
/// The two cannot change at once, so each step leaves a state that the next opening understands:
///
/// ```
/// publish   1  commit a pending row       its bytes count against the budget from here on
///           2  rename from staging
///           3  commit: pending row → file row, entry, owners; a replaced file → pending row
/// delete    1  commit: file row → pending row
///           2  unlink
///           3  commit: drop the pending row
/// ```
///
/// Whatever stops in between leaves pending rows that name this process's holder. Whoever finds the holder dead unlinks
/// those files and drops the rows.
///
/// No method awaits anything between its steps, so within the process each runs as a whole.
actor StoreWriter {
    let index: AvatarIndex
    let places: StorePlaces
    let accesses: AccessRecorder
    let metrics: StoreMetrics
    /// Files that are gone from disk and whose pending rows the next transaction drops.
    private var unlinked: [PendingFile] = []
    /// Files that the present transaction evicts: metrics count them once it is committed.
    var uncountedEvictions: [PendingFile] = []
    /// Whether a file that this process made pending could not be unlinked.
    private var hasLeftovers = false
    /// Whether a sync of this process runs.
    private var isSyncing = false
    /// What the index says of files that may differ from what is on stable storage.
    var bootMark = BootMark.none
    /// Files that were published since the durable point was last moved.
    var publishedSinceDurable = 0

    private let thread = StoreThread(label: "avatar-store.writer")

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.asUnownedSerialExecutor()
    }

    init(index: AvatarIndex, places: StorePlaces, accesses: AccessRecorder, metrics: StoreMetrics) {
        self.index = index
        self.places = places
        self.accesses = accesses
        self.metrics = metrics
    }

    /// A write transaction that first drops the pending rows of files that are gone.
    func write<Result>(
        _ durability: AvatarIndex.Durability = .process,
        _ body: (IndexTransaction) throws -> Result
    ) throws -> Result {
        try places.restoreRoots()
        let gone = unlinked
        uncountedEvictions = []
        let result = try index.write(durability) { transaction in
            for file in gone { try transaction.dropPending(file) }
            return try body(transaction)
        }
        metrics.evict(files: uncountedEvictions.count, bytes: uncountedEvictions.reduce(0) { $0 + $1.sizeBytes })
        unlinked.removeFirst(gone.count)
        return result
    }

    /// Drops the pending rows of files that are gone, and tries again to unlink what could not be unlinked before.
    func settle() throws {
        if hasLeftovers {
            do {
                return try finishOwnLeftovers()
            } catch {
                // It was reported when it happened. It stays pending, counts against the budget, and is tried again.
            }
        }
        if !unlinked.isEmpty { try write { _ in } }
    }

    /// Unlinks files that a committed transaction has made pending.
    ///
    /// All are tried. One that cannot be unlinked stays pending, which counts against the budget; the error is thrown.
    /// A document is gone for good before its pending row goes: a power loss does not bring it back.
    func unlink(_ files: [PendingFile]) throws {
        guard !files.isEmpty else { return }
        try places.restoreRoots()
        try markChanged()
        var failure: AvatarStoreError?
        var gone: [PendingFile] = []
        // A path that no store makes comes from elsewhere and may lead there: its row goes, and nothing is touched.
        gone += files.filter { !FilePath.isPublishedName($0.path) }
        for file in files where FilePath.isPublishedName(file.path) {
            do throws(AvatarStoreError) {
                try places.files(of: file.storageClass).unlink(file.path)
                gone.append(file)
            } catch {
                failure = error
            }
        }
        let documents = gone.filter { $0.storageClass == .documents && FilePath.isPublishedName($0.path) }.map(\.path)
        do {
            try places.files(of: .documents).synchronizeFolders(of: documents)
        } catch {
            hasLeftovers = true
            throw error
        }
        unlinked += gone
        guard let failure else { return }
        hasLeftovers = true
        throw failure
    }

    /// Writes the gathered access times, so many in a transaction that nobody waits long for the lock.
    func flushAccesses() throws {
        var times = accesses.drain()[...]
        while !times.isEmpty {
            let batch = times.prefix(4096)
            do {
                try write { transaction in
                    for (file, time) in batch { try transaction.touch(fileID: file, microseconds: time) }
                }
            } catch {
                accesses.restore(times)
                throw error
            }
            times = times.dropFirst(batch.count)
        }
    }

    /// Writes the gathered access times for nobody who waits for it. Should it fail, they stay gathered.
    func flushAccesses(reportingTo logger: Logger) {
        do {
            try flushAccesses()
        } catch {
            logger.warning("last access times could not be written", metadata: ["error": "\(error)"])
        }
    }

    /// Tries again to unlink what an earlier attempt of this process left pending.
    func finishOwnLeftovers() throws {
        let known = Set(unlinked)
        let files = try index.write { try $0.pendingFiles(of: places.holder.name) }.filter { !known.contains($0) }
        hasLeftovers = false
        try unlink(files)
        try settle()
    }

    /// Takes note of how `host` answered, where no image is concerned.
    func note(_ note: HostNote, of host: String) throws {
        try write { try $0.updateHealth(of: host, note.record) }
    }

    /// Keeps another URL for the entry `key`. The key says that it is the same image, so the validators stay.
    func setSource(_ url: String, host: String, of key: AvatarKey) throws {
        try write { transaction in
            guard let state = try transaction.state(of: key) else { return }
            try transaction.setSource(url, host: host, of: state.id, key: key)
        }
    }

    /// Marks a sync of this process as the one that runs.
    ///
    /// - Throws: `syncIsRunning` if another one does, here or in a process that is alive.
    /// - Parameter now: if the clock was set back since the last sync, what was planned by it is planned anew.
    func beginSync(at now: Timestamp) throws {
        guard !isSyncing else {
            throw AvatarStoreError(.syncIsRunning, "Another sync is running on this store.")
        }
        let own = places.holder.name
        let isTaken = try write { transaction in
            if let running = try transaction.syncHolder() {
                // Our own mark, without a sync of ours, is left from one whose end could not be written.
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

    /// Ends the sync: drops what it left pending, brings the hosts' due times up to date, and keeps how it ended.
    func endSync(startedAt time: Timestamp, as sync: LastSync) throws {
        isSyncing = false
        try write { transaction in
            try transaction.setLastSync(sync)
            try transaction.refreshDueTimes(ofHostsDueAt: time)
            try transaction.setSyncHolder(nil)
        }
        try index.truncateWAL()
    }

    /// Writes what is gathered, finishes what is pending, and lets the holder go.
    func close() throws {
        // First, as it makes room: the disk may be full. What cannot be removed keeps its holder's name, by which the
        // next opening finds it.
        let removal = Result { try places.endStaging() }
        if case .success = removal { places.holder.release() }
        try flushAccesses()
        try finishOwnLeftovers()
        try markClean()
        try removal.get()
        try index.truncateWAL()
    }
}

/// Runs an actor on a thread of its own.
///
/// Transactions, renames and fsync block; on the shared cooperative threads, of which there are as many as cores, they
/// would hold up everybody.
final class StoreThread: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async {
            job.runSynchronously(on: self.asUnownedSerialExecutor())
        }
    }
}
