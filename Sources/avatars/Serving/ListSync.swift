import AvatarContacts
import AvatarStore
import Logging
import ServiceLifecycle

/// Syncs a store with contact lists now and after each pause, until a graceful shutdown.
struct ListSync: Service {
    let store: AvatarStore
    /// The paths of the lists; they are read again for each sync. Empty: the sync revalidates the images that are due.
    let paths: [String]
    let reading: ListReading
    let options: SyncOptions
    /// The time from the end of a sync to the begin of the next.
    let pause: Duration
    /// Prints a line about a sync.
    let note: @Sendable (String) -> Void

    /// Syncs until the shutdown. A failed sync is reported and tried again after the pause.
    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await syncOnce()
                try? await Task.sleep(for: pause + pause * Double.random(in: 0...0.05))  // The shutdown ends the sleep.
            }
        }
    }

    private func syncOnce() async {
        do {
            let report =
                paths.isEmpty ? try await store.sync(options: options) : try await syncLists()
            if !report.wasCancelled { note(Self.line(report)) }
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

    private func syncLists() async throws -> SyncReport {
        let lists = try await ContactLists.open(paths, reading)
        let report = try await store.sync(lists, options: options)
        lists.unreadFields.report(asksByEmail: !options.emailSources.isEmpty)
        return report
    }
}
