public import AvatarStore
import Logging
public import ServiceLifecycle

/// Syncs a store again and again inside a host program, as a `Service` of its `ServiceGroup`.
///
/// ```swift
/// let sync = AvatarSyncService(store: store, every: .seconds(900), contacts: { try await people.all() })
/// try await ServiceGroup(services: [server, sync], gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
///
/// A graceful shutdown, or the task's cancellation, ends a sync that runs: what had arrived is stored, and the next run
/// goes on from there. The store stays open; closing it is the host's, when `run` has returned. A sync that fails is
/// logged and tried again after the next pause; another process's sync is left its turn.
public struct AvatarSyncService: Service {
    /// Who is to have a picture; `nil`: nobody says, and what is due is revalidated.
    public typealias ContactSource = @Sendable () async throws -> [Contact]?

    private let store: AvatarStore
    private let pause: Duration
    private let options: SyncOptions
    private let contacts: ContactSource
    private let onReport: @Sendable (SyncReport) async -> Void

    /// A service that is not yet running.
    ///
    /// - Parameter store: an open store, which stays the host's.
    /// - Parameter pause: from the end of a sync to the beginning of the next one; a tenth of it, drawn anew each time, is
    ///   added, so that many services do not begin together.
    /// - Parameter contacts: asked before each sync. Default: revalidates what is due.
    /// - Parameter options: how each sync works.
    /// - Parameter onReport: told what each sync did. Default: nobody.
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

    /// Syncs until the group shuts down or the task is cancelled.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await syncOnce()
                // Woken by the shutdown, the loop ends.
                try? await Task.sleep(for: pause + pause * Double.random(in: 0...0.1))
            }
        }
    }

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
            logger.info("another sync is running on the store")
        } catch {
            logger.error("a sync failed", metadata: ["error": "\(error)"])
        }
    }
}

extension SyncReport {
    /// For the log, with stable keys.
    fileprivate var metadata: Logger.Metadata {
        [
            "wanted": "\(wanted)", "fresh": "\(fresh)", "fetched": "\(fetched)", "notModified": "\(notModified)",
            "changed": "\(changed)", "failed": "\(failed)", "skipped": "\(skipped)", "overBudget": "\(overBudget)",
            "evicted": "\(evicted)", "requests": "\(requests)", "bytesReceived": "\(bytesReceived)",
            "seconds": "\(seconds)",
        ]
    }
}
