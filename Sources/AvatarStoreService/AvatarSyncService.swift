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
    public typealias ContactSource = @Sendable () async throws -> [Contact]?

    private let store: AvatarStore
    private let pause: Duration
    private let options: SyncOptions
    private let contacts: ContactSource
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
        contacts: @escaping ContactSource = { nil }
    ) {
        self.store = store
        self.pause = pause
        self.options = options
        self.onReport = onReport
        self.contacts = contacts
    }

    /// Syncs until the service group shuts down or the task is cancelled.
    ///
    /// - Throws: nothing at present. Errors of a sync are logged.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await syncOnce()
                // A shutdown cancels the sleep, and the loop ends.
                try? await Task.sleep(for: pause + pause * Double.random(in: 0...0.1))
            }
        }
    }

    /// Runs one sync and logs its result.
    private func syncOnce() async {
        let logger = store.configuration.logger
        do {
            let report =
                if let contacts = try await contacts() {
                    try await store.sync(contacts: contacts, options: options)
                } else {
                    try await store.sync(options: options)
                }
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
    /// The counters of the report as log metadata. The keys are stable.
    fileprivate var metadata: Logger.Metadata {
        [
            "wanted": "\(wanted)", "fresh": "\(fresh)", "fetched": "\(fetched)", "notModified": "\(notModified)",
            "shared": "\(shared)",
            "changed": "\(changed)", "failed": "\(failed)", "skipped": "\(skipped)", "overBudget": "\(overBudget)",
            "evicted": "\(evicted)", "requests": "\(requests)", "bytesReceived": "\(bytesReceived)",
            "seconds": "\(duration / .seconds(1))",
        ]
    }
}
