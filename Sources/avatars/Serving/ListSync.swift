import AvatarContacts
import AvatarStore
import Logging
import ServiceLifecycle

/// Syncs a store with contact lists now and after each pause, until a graceful shutdown.
struct ListSync: Service {
    let store: AvatarStore
    /// The paths of the lists; they are read again for each sync. Without one and without a source, the sync revalidates the images
    /// that are due.
    let paths: [String]
    /// The address books.
    let sources: [ContactSource]
    let reading: ListReading
    let options: SyncOptions
    /// The command that learns of the changes after each sync; `nil` for none.
    let hook: ChangeHook?
    /// The time from the end of a sync to the begin of the next.
    let pause: Duration
    /// Ends a pause early.
    let alarm: SyncAlarm
    /// Prints a line about a sync.
    let note: @Sendable (String) -> Void

    /// Syncs until the shutdown. A failed sync is reported and tried again after the pause.
    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await syncOnce()
                await alarm.wait(pause + pause * Double.random(in: 0...0.05))
            }
        }
    }

    private func syncOnce() async {
        do {
            try await hook?.prepare(in: store)
            let report = try await syncLists()
            for failure in report.sources.compactMap(\.failure) { Message.error(failure.messageWithAdvice) }
            guard !report.wasCancelled else { return }
            note(Self.line(report))
            guard let run = await hook?.run(in: store) else { return }
            if let failure = run.failureSentence { Message.error(failure) } else { note("on change: \(run.summary)") }
        } catch let error as AvatarStoreError where error.code == .syncIsRunning {
            note("another sync is running; the next one begins in \(pause.components.seconds) s")
        } catch is CancellationError {
            return
        } catch {
            Message.error("The sync failed: \(error) The next one begins in \(pause.components.seconds) s.")
        }
    }

    /// The result of a sync in one line, with the hosts that get no request now.
    private static func line(_ report: SyncReport) -> String {
        let paused = report.skippedBy.pausedHosts.sorted { $0.key < $1.key }.prefix(3).map {
            "\($0.key) is paused until \($0.value.until.localText)"
        }
        let text = "\(report)".replacing("\n", with: "; ")
        let isRefused = report.failures.contains { $0.kind == .forbiddenAddress }
        return ([text] + paused + (isRefused ? [AvatarStoreError.privateNetworkAdvice] : [])).joined(separator: "; ")
    }

    /// Stores that the sync could not run, for `/metrics` and `/readyz`. The error of the list is the one to report.
    private func recordFailure() async {
        do {
            try await store.recordFailedSync()
        } catch {
            store.configuration.logger.warning("a failed sync was not noted", metadata: ["error": "\(error)"])
        }
    }

    private func syncLists() async throws -> SyncReport {
        var named = options
        let lists = paths.isEmpty ? nil : try await openLists()
        lists?.setNames(of: &named, as: nil)
        let report = try await store.sync(lists, sources, named)
        lists?.unreadFields.report(asksByEmail: !options.emailSources.isEmpty)
        if lists != nil || !sources.isEmpty { try EmailOptions.warn(ofSources: options.emailSources, in: store) }
        return report
    }

    private func openLists() async throws -> ContactLists {
        do {
            return try await ContactLists.open(paths, reading) { list in
                #if HTTPOrigin
                try await list.fetch(store.configuration.http, format: reading.format)
                #else
                throw AvatarStoreError(.invalidConfiguration, "This program has no HTTP client for \(list.name).")
                #endif
            }
        } catch let error as AvatarStoreError {
            await recordFailure()
            throw error
        }
    }
}
