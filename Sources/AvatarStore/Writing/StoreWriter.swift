import AvatarCore
import AvatarFiles
import AvatarIndex
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
    var unlinked: [PendingFile] = []
    /// Files that the present transaction evicts: metrics count them once it is committed.
    var uncountedEvictions: [PendingFile] = []
    /// Whether a file that this process made pending could not be unlinked.
    private var hasLeftovers = false
    /// Whether a sync of this process runs.
    var isSyncing = false
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

    /// Finishes what dead processes left pending, and removes what they left in staging.
    ///
    /// - Returns: how many pending rows no process of a store can have left; their files are not touched.
    @discardableResult
    func finishDeadHolders() throws -> Int {
        let pending = Set(try index.write { try $0.pendingHolders() })
        var foreign = 0
        for name in pending.union(try places.holderNames()) where name != places.holder.name {
            // A name that no holder has came from elsewhere with the index: nothing in staging belongs to it.
            guard Holder.isName(name) else {
                foreign += try finishPending(of: name)
                continue
            }
            guard let dead = try places.takeOver(name) else { continue }
            foreign += try finishPending(of: name)
            try places.removeStaging(of: dead)
            dead.release()
        }
        return foreign
    }

    /// Unlinks the pending files of the dead holder `name`.
    ///
    /// No process has a file pending that is published, or under a name that `FilePath` does not give. An index that
    /// says so was made or changed by others, and must not make the store delete what they like.
    /// - Returns: the number of such rows; they are dropped.
    private func finishPending(of name: String) throws -> Int {
        let (files, foreign) = try index.write { transaction in
            let files = try transaction.pendingFiles(of: name)
            let own = try files.filter { file in
                guard FilePath.isPublishedName(file.path) else { return false }
                let prefix = FilePath.digestPrefix(of: file.path)
                return try !transaction.isPublished(file.path, in: file.storageClass, digestPrefix: prefix)
            }
            return (own, files.count - own.count)
        }
        try unlink(files)
        try settle()
        if foreign > 0 { try write { try $0.dropPending(of: name) } }
        return foreign
    }

    /// Finishes what dead processes left, at opening. What cannot be finished now stays pending, counts against the
    /// budget, and is tried again by whoever needs room.
    func recover(reportingTo logger: Logger) {
        do {
            let foreign = try finishDeadHolders()
            guard foreign > 0 else { return }
            logger.warning(
                "the index named files as unfinished that are published or not the store's; they were left alone",
                metadata: ["files": "\(foreign)"]
            )
        } catch {
            logger.warning("work of a dead process could not be finished", metadata: ["error": "\(error)"])
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
