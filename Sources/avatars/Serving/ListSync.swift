import AvatarContacts
import AvatarStore
import Logging
import ServiceLifecycle

/// Runs syncs of a store, one after the other, now and after each pause, until a graceful shutdown.
struct ListSync: Service {
    let store: AvatarStore
    let plans: SyncPlans
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
                await syncAll()
                await alarm.wait(pause + pause * Double.random(in: 0...0.05))
            }
        }
    }

    /// Runs all syncs. One that could not run shows in the figures of the store, even if later ones did.
    private func syncAll() async {
        var hasFailed = false
        for plan in plans.all where !Task.isCancelled {
            let couldRun = await sync(plan)
            if couldRun, hasFailed { await recordFailure() }
            hasFailed = hasFailed || !couldRun
        }
    }

    /// - Returns: whether the lists could be opened.
    private func sync(_ plan: SyncPlan) async -> Bool {
        let place = plan.place.map { "\($0): " } ?? ""
        do {
            try await hook?.prepare(in: store)
            let (report, unchanged) = try await syncLists(plan)
            for failure in report.sources.compactMap(\.failure) { Message.error(failure.messageWithAdvice) }
            guard !report.wasCancelled else { return true }
            note(place + (unchanged.map { "\($0.unchangedNote); " } ?? "") + Self.line(report))
            guard let run = await hook?.run(in: store) else { return true }
            if let failure = run.failureSentence { Message.error(failure) } else { note("on change: \(run.summary)") }
        } catch let error as AvatarStoreError where error.code == .syncIsRunning {
            note("another sync is running; the next one begins in \(pause.components.seconds) s")
        } catch is CancellationError {
            return true
        } catch {
            Message.error(
                "\(plan.place.map { "The sync in \($0)" } ?? "The sync") failed: \(error) The next one begins in \(pause.components.seconds) s."
            )
            return false
        }
        return true
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

    /// - Returns: the report, and the list if it has not changed.
    private func syncLists(_ plan: SyncPlan) async throws -> (SyncReport, unchanged: KeptList?) {
        var named = plan.options
        let kept = try KeptList(plan.paths, plan.books, named: plan.listName, plan.reading, plan.options)
        let sources = store.configuration.sources(plan.books)
        let known = try kept?.validators(in: store)
        let lists = plan.paths.isEmpty ? nil : try await openLists(plan, unless: known)
        let unchanged = plan.paths.isEmpty || lists != nil ? nil : kept
        lists?.setNames(of: &named, as: plan.listName)
        named = unchanged?.options(of: named) ?? named
        let report = try await store.sync(SyncInput(lists, sources), options: named)
        if let lists { try await kept?.keep(lists, in: store, after: report) }
        lists?.unreadFields.report(asksByEmail: !named.emailSources.isEmpty)
        if lists != nil || !sources.isEmpty { try EmailOptions.warn(ofSources: named.emailSources, in: store) }
        return (report, unchanged)
    }

    private func openLists(_ plan: SyncPlan, unless known: ListValidators?) async throws -> ContactLists? {
        do {
            return try await ContactLists.open(plan.paths, plan.reading) {
                try await $0.fetch(store.configuration, format: plan.reading.format, unless: known)
            }
        } catch let error as AvatarStoreError {
            await recordFailure()
            throw error
        }
    }
}
