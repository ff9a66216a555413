public import AvatarStore
import Logging
public import ServiceLifecycle

/// Syncs a store periodically inside a host program, as a `Service` of its `ServiceGroup`.
///
/// ```swift
/// let sync = AvatarSyncService(store: store, every: .seconds(900), contacts: { try await people.all() })
/// try await ServiceGroup(services: [server, sync], gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
///
/// A graceful shutdown or a cancellation ends a running sync. The images received so far are stored, and the next sync
/// continues from there. The host owns the store and closes it after `run` has returned. A failed sync is logged and
/// repeated after the next pause. If another process syncs the same store, this turn is skipped.
public struct AvatarSyncService: Service {
    /// Supplies the contacts for one sync. `nil` means that there is no list: the sync revalidates the images that are
    /// due.
    public typealias Contacts = @Sendable () async throws -> [Contact]?

    private let store: AvatarStore
    private let pause: Duration
    private let options: SyncOptions
    private let syncOnce: @Sendable (AvatarStore, SyncOptions) async throws -> SyncReport
    private let onReport: @Sendable (SyncReport) async -> Void

    /// A service for `store`. The first sync starts when `run` is called.
    ///
    /// - Parameters:
    ///   - store: an open store. The host keeps it open while the service runs.
    ///   - pause: the time from the end of a sync to the start of the next. A random jitter of up to 10 % is added, so
    ///     that several services do not sync at the same moment.
    ///   - options: the options of each sync.
    ///   - onReport: receives the report of each completed sync. Default: ignored.
    ///   - contacts: supplies the contacts before each sync. An error it throws is logged, and the sync is skipped.
    ///     Default: no list, so each sync revalidates the images that are due.
    public init(
        store: AvatarStore,
        every pause: Duration,
        options: SyncOptions = SyncOptions(),
        onReport: @escaping @Sendable (SyncReport) async -> Void = { _ in },
        contacts: @escaping Contacts = { nil }
    ) {
        self.init(store, pause, options, onReport) { store, options in
            guard let contacts = try await contacts() else { return try await store.sync(options: options) }
            return try await store.sync(contacts: contacts, options: options)
        }
    }

    /// A service for `store` whose contacts are a stream, so that they are never in memory as a whole.
    ///
    /// - Parameters:
    ///   - store: as for the other initializer.
    ///   - pause: as for the other initializer.
    ///   - options: as for the other initializer.
    ///   - onReport: as for the other initializer.
    ///   - records: supplies the records for one sync, as for `AvatarStore.sync(_:options:total:progress:)`. An error that it
    ///     or the stream throws is logged; a stream that fails unlinks no contact.
    public init<Records>(
        store: AvatarStore,
        every pause: Duration,
        options: SyncOptions = SyncOptions(),
        onReport: @escaping @Sendable (SyncReport) async -> Void = { _ in },
        records: @escaping @Sendable () async throws -> Records
    ) where Records: AsyncSequence & Sendable, Records.Element == ContactRecord {
        self.init(store, pause, options, onReport) { store, options in
            try await store.sync(try await records(), options: options)
        }
    }

    /// A service for `store` that asks address books for their changes, as `AvatarStore.sync(from:options:progress:)`.
    ///
    /// - Parameters:
    ///   - store: as for the other initializers.
    ///   - pause: as for the other initializers.
    ///   - sources: the address books.
    ///   - options: as for the other initializers.
    ///   - onReport: as for the other initializers.
    public init(
        store: AvatarStore,
        every pause: Duration,
        sources: [ContactSource],
        options: SyncOptions = SyncOptions(),
        onReport: @escaping @Sendable (SyncReport) async -> Void = { _ in }
    ) {
        self.init(store, pause, options, onReport) { store, options in
            try await store.sync(from: sources, options: options)
        }
    }

    private init(
        _ store: AvatarStore,
        _ pause: Duration,
        _ options: SyncOptions,
        _ onReport: @escaping @Sendable (SyncReport) async -> Void,
        syncOnce: @escaping @Sendable (AvatarStore, SyncOptions) async throws -> SyncReport
    ) {
        (self.store, self.pause, self.options) = (store, pause, options)
        (self.onReport, self.syncOnce) = (onReport, syncOnce)
    }

    /// Syncs until the service group shuts down or the task is cancelled.
    ///
    /// - Throws: nothing at present. Errors of a sync are logged.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await syncAndLog()
                // A shutdown cancels the sleep, and the loop ends.
                try? await Task.sleep(for: pause + pause * Double.random(in: 0...0.1))
            }
        }
    }

    /// Runs one sync and logs its result.
    private func syncAndLog() async {
        let logger = store.configuration.logger
        do {
            let report = try await syncOnce(store, options)
            logger.info("synced", metadata: report.metadata)
            await onReport(report)
        } catch is CancellationError {
            return
        } catch let error as AvatarStoreError where error.code == .syncIsRunning {
            logger.info("sync skipped: another sync of this store is running")
        } catch {
            logger.error("sync failed", metadata: ["error": "\(error)"])
        }
    }
}

extension SyncReport {
    /// The counts of the report as log metadata. The keys are stable.
    fileprivate var metadata: Logger.Metadata {
        var metadata = counts.mapValues { Logger.MetadataValue("\($0)") }
        metadata["seconds"] = "\(duration / .seconds(1))"
        return metadata
    }
}
