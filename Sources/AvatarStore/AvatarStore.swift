@_exported public import AvatarCore
package import AvatarFiles
import AvatarIndex
import Foundation

#if HTTPOrigin
@_exported public import AvatarOrigin
#endif

/// An offline store of avatars: URLs in, local files out, an index in SQLite between them.
///
/// Any number of tasks and processes may use one store at once. Reading what is stored is a plain call that waits for
/// nobody. Close the store when done; a store that is not closed loses no image, only the last access times.
public final class AvatarStore: Sendable {
    /// How the store was opened.
    public let configuration: Configuration

    let index: AvatarIndex
    let roots: StoredRoots
    let accesses: AccessRecorder
    let flights = FlightTable<FetchOutcome>()
    /// Of images that are not stored, by URL.
    let transientFlights = FlightTable<AvatarImage>()
    let progress = FetchProgressTable()
    let slots: FetchSlots
    let metrics = StoreMetrics()
    /// `nil` in a store that was opened for reading only.
    private let writable: Writable?
    let origin: OriginHolder
    /// Whether the index is new to roots that hold files.
    private let hasUnlistedFiles: Bool

    struct Writable: Sendable {
        let places: StorePlaces
        let writer: StoreWriter
    }

    /// Opens the store at `directory`, an absolute path, with the defaults; makes it if it is not there.
    public static func open(directory: String) async throws -> AvatarStore {
        try await open(Configuration(directory: directory))
    }

    /// Opens a store, and makes it if it is not there; finishes what processes that were killed left behind.
    ///
    /// A store is made only if the directory of its index is not there, or empty. `configuration.access` says whether one
    /// is made at all.
    ///
    /// - Throws: `unusableRoot`, `foreignIndex`, `newerIndex`, `damagedIndex`, `readOnly`, `diskFull` or
    ///   `invalidConfiguration`; opened with another access than `readWrite` also `noStore`, and for reading
    ///   only `olderIndex`. Nothing that is stored changes.
    public static func open(_ configuration: Configuration) async throws -> AvatarStore {
        try await open(configuration, fileSystem: LocalFileSystem())
    }

    package static func open(
        _ configuration: Configuration,
        fileSystem: any FileSystem,
        migrating: @escaping ProgressHandler = { _ in }
    ) async throws -> AvatarStore {
        switch configuration.access {
        case .readOnly:
            return try openForReading(configuration)
        case .readWrite, .readWriteExisting:
            try configuration.validate()
            let store = try AvatarStore(configuration, fileSystem, migrating)
            try await store.writable?.writer.readBootMark()
            await store.writable?.writer.recover(reportingTo: configuration.logger)
            await store.recoverFromPowerLoss()
            if store.hasUnlistedFiles { _ = try await store.verify(repair: true, quick: true) }
            return store
        }
    }

    /// Opens a store to be read, which waits for nobody.
    package static func openForReading(_ configuration: Configuration) throws -> AvatarStore {
        try configuration.validate()
        return try AvatarStore(readOnly: configuration)
    }

    /// Closes a store that `openForReading` gave.
    package func closeForReading() throws {
        try index.close()
    }

    private init(
        _ configuration: Configuration,
        _ fileSystem: any FileSystem,
        _ migrating: @escaping ProgressHandler
    ) throws {
        let layout = configuration.layout
        // Before anything is made.
        try layout.requireNoLostIndex()
        try AvatarIndex.refuseForeignFile(at: layout.indexPath)
        if configuration.access == .readWriteExisting { try layout.requireStore() }
        try StorePlaces.refuseForeignFiles(layout)
        try layout.requireOwnDirectory()
        var places = try StorePlaces(layout, fileMode: configuration.fileMode, fileSystem: fileSystem)
        let index = try AvatarIndex.open(
            path: layout.indexPath,
            fileMode: configuration.fileMode,
            now: { [clock = configuration.clock] in clock.now() },
            migrating: migrating
        )
        let storeID = try index.write { try $0.storeID(orNew: Hexadecimal.random64() + Hexadecimal.random64()) }
        hasUnlistedFiles = try places.claim(storeID)
        places.suspects = SuspectFiles(index, logger: configuration.logger)
        let accesses = AccessRecorder(clock: configuration.clock)
        let writer = StoreWriter(index: index, places: places, accesses: accesses, metrics: metrics)
        accesses.onFull { [weak writer, logger = configuration.logger] in
            Task { await writer?.flushAccesses(reportingTo: logger) }
        }
        self.configuration = configuration
        self.index = index
        self.accesses = accesses
        roots = places.stored
        writable = Writable(places: places, writer: writer)
        slots = FetchSlots(configuration)
        origin = OriginHolder(configuration)
    }

    private init(readOnly configuration: Configuration) throws {
        let layout = configuration.layout
        // What is not finished is no store to a reader.
        if !UnfinishedStore.isBegun(at: layout) { try layout.requireNoLostIndex() }
        try layout.requireIndex()
        self.configuration = configuration
        index = try ReadOnlyIndex.open(layout)
        let suspects = SuspectFiles(index, logger: configuration.logger)
        if let boot = try index.openBoot(), !BootID.isCurrent(boot.id) { suspects.begin(after: boot.lastDurableFile) }
        roots = try StoredRoots(layout, suspects: suspects)
        accesses = AccessRecorder(clock: configuration.clock)
        writable = nil
        hasUnlistedFiles = false
        slots = FetchSlots(configuration)
        origin = OriginHolder(configuration)
    }

    /// Writes what is gathered in memory, closes connections to origins and the index. A closed store is not used again,
    /// also if this fails: what is stored too late fails as `storage` and leaves nothing behind.
    ///
    /// - Throws: `diskFull`, `busy` and other errors of the index and the disk. Nothing that was stored is lost then:
    ///   what could not be written are times of last access, and what could not be tidied up, another opening does.
    public func close() async throws {
        try await origin.shutdown()
        do {
            if let writable { try await writable.writer.close() }
        } catch {
            do {
                try index.close()
            } catch let second {
                configuration.logger.warning("the index could not be closed", metadata: ["error": "\(second)"])
            }
            throw error
        }
        try index.close()
    }

    private func recoverFromPowerLoss() async {
        guard let writer = writable?.writer else { return }
        await writer.recoverFromPowerLoss(reportingTo: configuration.logger) { [self] lastDurableFile in
            verifier(writer, .afterPowerLoss(lastDurableFile: lastDurableFile))
        }
    }

    /// Whether the store was opened for reading only.
    public var isReadOnly: Bool { writable == nil }

    // MARK: For the engines

    var clock: any WallClock { configuration.clock }

    /// The writer and its places.
    func requireWritable() throws(AvatarStoreError) -> Writable {
        guard let writable else { throw AvatarStoreError(.readOnly, "The store was opened for reading only.") }
        return writable
    }

    /// Who answers for the addresses that are contacted.
    var guardDescription: String { origin.guardDescription }

    /// Whether every address is refused that is not globally reachable.
    var refusesAddresses: Bool { guardDescription == "on" }

    func limits(_ options: FetchOptions) throws -> Limits {
        try limits(mode: options.mode, ceiling: options.budgetCeiling)
    }

    func limits(mode: CachingMode?, ceiling: Int?) throws -> Limits {
        try index.limits(
            mode: mode ?? configuration.mode,
            respectsNoStore: configuration.respectsNoStore,
            ceiling: ceiling
        )
    }

    /// A fetcher that goes by `limits`.
    func fetcher(_ limits: Limits, timeout: Duration?) throws -> Fetcher {
        let writable = try requireWritable()
        let client = try origin.client()
        return Fetcher(
            origin: client,
            places: writable.places,
            clock: clock,
            timeout: timeout ?? configuration.timeout,
            allowsSVG: configuration.allowsSVG,
            limits: limits,
            metrics: metrics,
            partials: PartialDownloads(
                index: index,
                places: writable.places,
                writer: writable.writer,
                clock: clock,
                logger: configuration.logger
            ),
            progress: progress,
            batchOrigin: client as? any BatchOriginClient
        )
    }
}

/// Opens an index of which nothing may be changed, also on a disk that cannot be written or has no room.
enum ReadOnlyIndex {
    static func open(_ layout: StoreLayout) throws -> AvatarIndex {
        try read(layout) { try AvatarIndex.openReadOnly(path: layout.indexPath, isImmutable: $0) }
    }

    /// Runs `body`, and once more with the index taken as immutable if it lies on such a disk.
    static func read<Result>(_ layout: StoreLayout, _ body: (_ isImmutable: Bool) throws -> Result) throws -> Result {
        do {
            return try body(false)
        } catch let error as AvatarStoreError where [.storage, .readOnly, .diskFull].contains(error.code) {
            // A WAL needs shared memory, which is a file beside it.
            if error.code == .diskFull {
                try requireEmptyWAL(layout, "The disk of \(layout.indexDirectory) is full")
            } else {
                guard !FileManager.default.isWritableFile(atPath: layout.indexDirectory) else { throw error }
                try requireEmptyWAL(layout, "\(layout.indexDirectory) cannot be written")
            }
            return try body(true)
        }
    }

    private static func requireEmptyWAL(_ layout: StoreLayout, _ reason: String) throws {
        let wal = layout.indexPath + "-wal"
        guard FileManager.default.fileExists(atPath: wal) else { return }
        guard try FileManager.default.attributesOfItem(atPath: wal)[.size] as? Int == 0 else {
            throw AvatarStoreError(
                .readOnly,
                "\(reason), and the index has changes pending in its WAL. Open the "
                    + "store once where it can be written, for example with `avatars migrate`, then try again."
            )
        }
    }
}
