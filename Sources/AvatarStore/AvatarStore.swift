@_exported public import AvatarCore
package import AvatarFileSystem
package import AvatarFiles
package import AvatarIndex
import AvatarFoundation
package import AvatarReports
package import AvatarWriter

#if HTTPOrigin
@_exported public import AvatarOrigin
#endif

/// An offline store of avatars: contacts and URLs in, local files out, with an SQLite index between them.
///
/// Any number of tasks and processes may use one store at once. Reading a stored image is a plain call that does not
/// wait for writers. Close the store when done: a store that is not closed loses no image, only the last access times.
///
/// All calls throw `AvatarStoreError`, and the asynchronous ones `CancellationError`. An error of the index is `busy`
/// (another process kept it locked for longer than the wait limit), `damagedIndex`, `diskFull`, `readOnly` (its
/// directory cannot be written), `indexWasReplaced` or `indexWasUpgraded` (by another process, noticed at a write), or
/// `storage`. An error of the disk is `diskFull`, `readOnly` (permission denied) or `storage`.
public final class AvatarStore: Sendable {
    /// How a store is opened.
    public typealias Configuration = StoreConfiguration

    /// The configuration of the store: the one it was opened with, with the settings that it adopted.
    public let configuration: Configuration

    /// Index, files and writer: all that works without a request.
    package let parts: StoreParts
    /// Connections, fetches under way and the client that sends requests.
    package let fetching: FetchParts
    /// Buffers the times of use until they are written.
    let accesses: AccessRecorder
    /// Whether a root without a store's mark holds files, so that the new index has to list them.
    private let hasUnlistedFiles: Bool
    /// Whether another process changed the store and has not closed it, or left work behind: it may be dead.
    private let needsRecovery: Bool

    /// Opens the store at `directory`, an absolute path, with the default configuration. Creates it if it does not
    /// exist.
    ///
    /// - Throws: as `open(_:)`.
    public static func open(directory: String) async throws -> AvatarStore {
        try await open(Configuration(directory: directory))
    }

    /// Opens a store, and creates it if it does not exist. Finishes work that killed processes left behind.
    ///
    /// A new store is created only if the directory of its index is missing or empty, and only with the access
    /// `readWrite`. If the power was lost since the store was last closed, the lengths of all files and the bytes of
    /// recent ones are compared with the index.
    ///
    /// - Parameter configuration: the paths and limits of the store.
    /// - Throws: `invalidConfiguration` for a value outside its limits; `unusableRoot` if a directory is a symbolic
    ///   link or a file, lies on a network, holds foreign files or belongs to another store; `foreignIndex` if the
    ///   database belongs to another program; `newerIndex` if a newer program wrote it; `damagedIndex` if it is damaged
    ///   or lost; `readOnly` if a directory cannot be written; `diskFull`; `busy` while a store is being restored there
    ///   or another process keeps the index locked; `noStore` if there is no store and the access is not `readWrite`;
    ///   `olderIndex` if the index needs a migration and the access is `readOnly`. Stored images stay as they are, except
    ///   those that a lower `Configuration.budget` evicts. `busy` too if other processes have more bytes pending than that
    ///   budget; nothing is evicted then.
    public static func open(_ configuration: Configuration) async throws -> AvatarStore {
        try await open(configuration, fileSystem: LocalFileSystem())
    }

    /// Opens a store with a file system of the caller's choice.
    ///
    /// - Parameter fileSystem: makes all calls on the files of the store.
    /// - Parameter bootID: the boot of the system with those files. Default: that of this system.
    /// - Parameter migrating: called as the index is migrated.
    /// - Throws: as `open(_:)`.
    package static func open(
        _ configuration: Configuration,
        fileSystem: any FileSystem,
        bootID: BootID = .current,
        migrating: @escaping ProgressHandler = { _ in }
    ) async throws -> AvatarStore {
        switch configuration.access {
        case .readOnly:
            return try openForReading(configuration, fileSystem: fileSystem, bootID: bootID)
        case .readWrite, .readWriteExisting:
            try configuration.validate()
            let store = try AvatarStore(configuration, fileSystem, bootID, migrating: migrating)
            do {
                if store.needsRecovery { try await store.recover() }
                if store.hasUnlistedFiles { try await store.listUnlistedFiles() }
                try await store.applyBudget()
            } catch {
                await store.closeAfterFailure()
                throw error
            }
            return store
        }
    }

    /// Opens a store, passes it to `body`, and closes it: after a result, after an error, and in a cancelled task.
    ///
    /// The store must not be used once `body` has returned. Work that `body` started and did not wait for fails then.
    ///
    /// - Parameters:
    ///   - configuration: the paths and limits of the store.
    ///   - body: uses the store. If its task is cancelled, its calls throw `CancellationError`; the store is closed all the
    ///     same.
    /// - Returns: the result of `body`, after the store was closed.
    /// - Throws: as `open(_:)`; the error of `body`, even if closing fails after it, which is then reported to
    ///   `Configuration.logger`; as `close()`, if `body` succeeded.
    public static func withStore<Result>(
        _ configuration: Configuration,
        _ body: (AvatarStore) async throws -> Result
    ) async throws -> Result {
        try await withStore(configuration, fileSystem: LocalFileSystem(), body)
    }

    /// As the public `withStore(_:_:)`, with the store's file calls on `fileSystem`, and in the boot `bootID`.
    package static func withStore<Result>(
        _ configuration: Configuration,
        fileSystem: any FileSystem,
        bootID: BootID = .current,
        _ body: (AvatarStore) async throws -> Result
    ) async throws -> Result {
        let store = try await open(configuration, fileSystem: fileSystem, bootID: bootID)
        let result: Result
        do {
            result = try await body(store)
        } catch {
            await store.closeAfterFailure()
            throw error
        }
        try await store.close()
        return result
    }

    /// Opens the store at `directory`, an absolute path, with the default configuration, passes it to `body`, and closes
    /// it, as `withStore(_:_:)`.
    ///
    /// - Throws: as `withStore(_:_:)`.
    public static func withStore<Result>(
        at directory: String,
        _ body: (AvatarStore) async throws -> Result
    ) async throws -> Result {
        try await withStore(Configuration(directory: directory), body)
    }

    /// Closes the store after another error, which is the one to throw. An error of closing is reported to the logger.
    private func closeAfterFailure() async {
        do {
            try await close()
        } catch {
            configuration.logger.warning("the store could not be closed", metadata: ["error": "\(error)"])
        }
    }

    /// Sets the budget of the configuration, if it differs from the store's.
    private func applyBudget() async throws {
        guard let budget = configuration.budget.map(Int64.init), try index.value(of: .budget) != budget else { return }
        _ = try await requireWritable().writer.set(.budget, to: budget)
    }

    /// Opens a store for reading, without waiting for other processes.
    ///
    /// - Parameters:
    ///   - configuration: the paths and limits of the store.
    ///   - fileSystem: makes all calls on the files of the store. Default: that of the operating system.
    ///   - bootID: the boot of the system with those files. Default: that of this system.
    /// - Throws: as `open(_:)` with the access `readOnly`.
    package static func openForReading(
        _ configuration: Configuration,
        fileSystem: any FileSystem = LocalFileSystem(),
        bootID: BootID = .current
    ) throws -> AvatarStore {
        try configuration.validate()
        return try AvatarStore(readOnly: configuration, fileSystem, bootID)
    }

    /// Closes a store that `openForReading(_:)` opened.
    package func closeForReading() throws {
        try index.close()
    }

    private init(
        _ configuration: Configuration,
        _ fileSystem: any FileSystem,
        _ bootID: BootID,
        migrating: @escaping ProgressHandler
    ) throws {
        let layout = configuration.layout
        // These checks come before anything is created.
        try layout.requireNoLostIndex(on: fileSystem)
        let checked = try AvatarIndex.check(layout.indexPath, on: fileSystem)
        if configuration.access == .readWriteExisting { try layout.requireStore(on: fileSystem) }
        try StorePlaces.refuseForeignFiles(layout, on: fileSystem)
        try layout.requireOwnDirectory(on: fileSystem)
        // The documents lie beside the index, so their mark tells the store without opening it.
        let staging = layout.staging(of: .documents)
        if let id = try RootMark.owner(ofRoot: layout.documentsRoot, in: staging, on: fileSystem),
            let error = try layout.foreignRootError(id, on: fileSystem, among: [.caches])
        {
            throw error
        }
        var places = try StorePlaces(layout, fileMode: configuration.fileMode, fileSystem: fileSystem)
        let index = try AvatarIndex.open(
            path: layout.indexPath,
            on: fileSystem,
            checked: checked,
            fileMode: configuration.fileMode,
            now: { [clock = configuration.clock] in clock.now() },
            migrating: migrating
        )
        // Read after this process has its lock: without an open boot now, nothing that another process does later
        // concerns this one.
        let state = try index.openingState()
        // Durable before the roots are marked with it: a loss of power must not leave the marks of a store without an index.
        if !places.isClaimed { try places.synchronizeNames() }
        let storeID =
            try state.storeID.flatMap { places.isClaimed ? $0 : nil }
            ?? index.write(.power) { try $0.storeID(orNew: Hexadecimal.random64() + Hexadecimal.random64()) }
        let configuration = try configuration.adopted(from: index)
        do {
            hasUnlistedFiles = try places.claim(storeID)
        } catch let error as AvatarStoreError where error.code == .unusableRoot {
            throw try layout.foreignRootError(storeID, on: fileSystem) ?? error
        }
        needsRecovery = try state.hasOpenBoot || !state.pendingHolders.isEmpty || places.hasOtherHolders()
        places.suspects = SuspectFiles(index)
        let accesses = AccessRecorder(clock: configuration.clock)
        let metrics = StoreMetrics(configuration.metrics)
        let writer = StoreWriter(
            index: index,
            places: places,
            bootID: bootID,
            accesses: accesses,
            metrics: metrics,
            sink: TierQueue()
        )
        accesses.onFull { [weak writer, logger = configuration.logger] in
            Task { await writer?.flushAccesses(reportingTo: logger) }
        }
        self.configuration = configuration
        self.accesses = accesses
        parts = StoreParts(
            configuration: configuration,
            fileSystem: fileSystem,
            index: index,
            roots: places.stored,
            writable: StoreParts.Writable(places: places, writer: writer)
        )
        fetching = FetchParts(parts, metrics, answers: try TierLink.open(parts, writer))
    }

    private init(readOnly configuration: Configuration, _ fileSystem: any FileSystem, _ bootID: BootID) throws {
        let layout = configuration.layout
        // To a reader, an unfinished restore is not a store: `noStore`, not `damagedIndex`.
        if !UnfinishedStore.isBegun(at: layout, on: fileSystem) { try layout.requireNoLostIndex(on: fileSystem) }
        try layout.requireIndex(on: fileSystem)
        let index = try ReadOnlyIndex.open(layout, on: fileSystem)
        let configuration = try configuration.adopted(from: index)
        let suspects = SuspectFiles(index)
        if let boot = try index.openBoot(), !bootID.isRecorded(as: boot.id) {
            suspects.begin(after: boot.lastDurableFile)
        }
        let roots = try StoredRoots(layout, on: fileSystem, suspects: suspects)
        self.configuration = configuration
        accesses = AccessRecorder(clock: configuration.clock)
        hasUnlistedFiles = false
        needsRecovery = false
        parts = StoreParts(
            configuration: configuration,
            fileSystem: fileSystem,
            index: index,
            roots: roots,
            writable: nil
        )
        fetching = FetchParts(parts, StoreMetrics(configuration.metrics))
    }

    /// Writes buffered access times and closes the index and the connections to origins. Do not use the store
    /// afterwards, even if this throws: a later write fails with `storage` and leaves nothing behind.
    ///
    /// - Throws: `diskFull`, `busy` or another error of the index or the disk; an error of the origin client. No stored
    ///   image is lost then: only access times are, and the next opening finishes the cleanup.
    public func close() async throws {
        var failure: (any Error)?
        do {
            try await fetching.answers?.close()
            try await fetching.origin.shutdown()
        } catch {
            failure = error
        }
        do {
            if let writable = parts.writable { try await writable.writer.close() }
        } catch {
            failure = failure ?? error
        }
        do {
            try index.close()
        } catch {
            if failure != nil {
                configuration.logger.warning("the index could not be closed", metadata: ["error": "\(error)"])
            }
            failure = failure ?? error
        }
        if let failure { throw failure }
    }

    /// Lists the files of roots without an id, and gives them the id. If that fails, the next opening tries again.
    ///
    /// - Throws: `CancellationError`.
    private func listUnlistedFiles() async throws {
        do {
            let writable = try requireWritable()
            _ = try await verifier(repairingWith: writable.writer, depth: .quick).run()
            _ = try writable.places.claim(index.storeID(), areListed: true)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            configuration.logger.error("cannot list the files of a root without an id", metadata: ["error": "\(error)"])
        }
    }

    /// Finishes what dead processes left, and compares the files if the power was lost since the store was last closed.
    private func recover() async throws {
        guard let writer = parts.writable?.writer else { return }
        try await writer.recover(reportingTo: configuration.logger)
        await writer.recoverFromPowerLoss(reportingTo: configuration.logger) { [self] lastDurableFile in
            let depth = StoreVerifier.Depth.afterPowerLoss(lastDurableFile: lastDurableFile)
            let report = try await verifier(repairingWith: writer, depth: depth).run()
            return (report.checked, report.repaired)
        }
    }

    /// A verifier of this store.
    ///
    /// - Parameter writer: repairs the faults; `nil`: they are only reported.
    package func verifier(
        repairingWith writer: StoreWriter?,
        depth: StoreVerifier.Depth,
        progress: @escaping ProgressHandler = { _ in }
    ) -> StoreVerifier {
        StoreVerifier(
            index: index,
            roots: roots,
            staging: StagingLeftovers(layout: configuration.layout, fileSystem: parts.fileSystem),
            writer: writer,
            depth: depth,
            clock: clock,
            progress: progress
        )
    }

    /// Whether the store is open for reading only.
    package var isReadOnly: Bool { parts.isReadOnly }

    // MARK: For the extensions

    package var index: AvatarIndex { parts.index }
    /// The published files, for reading.
    package var roots: StoredRoots { parts.roots }
    package var clock: any WallClock { configuration.clock }
    var metrics: StoreMetrics { fetching.metrics }
    /// The requests of reads, batches and the sync.
    var requests: RequestQueue { fetching.requests }

    /// The writer and its directories.
    ///
    /// - Throws: `readOnly` in a store that is open for reading only.
    package func requireWritable() throws(AvatarStoreError) -> StoreParts.Writable {
        try parts.requireWritable()
    }
}

/// Opens an index without changing anything, even on a disk that is full or cannot be written.
package enum ReadOnlyIndex {
    /// The index at `layout`, open for reading.
    static func open(_ layout: StoreLayout, on fileSystem: any FileSystem) throws -> AvatarIndex {
        try read(layout, on: fileSystem) {
            try AvatarIndex.openReadOnly(path: layout.indexPath, on: fileSystem, isImmutable: $0)
        }
    }

    /// Runs `body`, and once more with `isImmutable` if the index lies on such a disk. An immutable index is read
    /// without locks.
    ///
    /// - Throws: `readOnly` if the write-ahead log of such an index is not empty; errors of `body`.
    package static func read<Result>(
        _ layout: StoreLayout,
        on fileSystem: any FileSystem,
        _ body: (_ isImmutable: Bool) throws -> Result
    ) throws -> Result {
        do {
            return try body(false)
        } catch let error as AvatarStoreError where [.storage, .readOnly, .diskFull].contains(error.code) {
            // The write-ahead log needs shared memory, which is a file beside it.
            if error.code == .diskFull {
                try requireEmptyWAL(layout, fileSystem, "the disk of \"\(layout.indexDirectory)\" is full")
            } else {
                guard fileSystem.faccessat(AT_FDCWD, layout.indexDirectory, W_OK) != 0 else { throw error }
                try requireEmptyWAL(layout, fileSystem, "\"\(layout.indexDirectory)\" cannot be written")
            }
            return try body(true)
        }
    }

    /// - Throws: `readOnly` if the write-ahead log holds changes, which an immutable index would not show.
    private static func requireEmptyWAL(
        _ layout: StoreLayout,
        _ fileSystem: any FileSystem,
        _ reason: String
    ) throws {
        let wal = layout.indexPath + "-wal"
        var status = stat()
        guard fileSystem.fstatat(AT_FDCWD, wal, &status, 0) == 0 else { return }
        guard status.st_size == 0 else {
            throw AvatarStoreError(
                .readOnly,
                "The index cannot be read: \(reason), and its write-ahead log holds changes. Make the directory writable "
                    + "and open the store once, for example with `avatars migrate`."
            )
        }
    }
}
