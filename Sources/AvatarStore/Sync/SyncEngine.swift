import AvatarCore
import AvatarFiles
import AvatarFoundation
import AvatarIndex
import AvatarReports
import AvatarWriter
import Logging

/// One sync from beginning to end, driven by one task.
///
/// ```
/// source ─► plan ─► queue per host ─► request, many at once ─► collect ─► commit, one batch at a time
///             └─► keep, skip, over budget                                    └─► results, links, progress
/// ```
///
/// Each part has state of its own: `SyncPlanning` reads and classifies, `SyncStepRunner` carries the plan out,
/// `SyncDispatcher` sends requests, `SyncCommitter` commits within the budget of `SyncRoom`, `SyncResults` takes note of
/// outcomes, `SyncContacts` remembers the contacts that wait, `SyncTally` counts and reports. The run moves results from
/// one part to the next.
///
/// The run reads a bounded number of items ahead, and begins no request while too many results are collected. So memory
/// does not depend on the length of the list, and the disk is never far behind the network.
final class SyncEngine {
    /// When the sync began.
    let started: Timestamp
    /// The number of signals after which requests begin.
    private static let signalsPerRound = 8

    /// Shared with the parts.
    private let scope: SyncScope
    private let planning: SyncPlanning
    private let steps: SyncStepRunner
    private let roster: SyncRoster
    private let dispatcher: SyncDispatcher
    private let committer: SyncCommitter
    private let room: SyncRoom
    private let results: SyncResults
    private let unlinking: SyncUnlinking
    /// The requests at once that hosts bore when the sync began.
    private let windows: [String: HostWindow]

    /// A sync that begins now. It reads the limits and the health of the hosts; `run` does all else.
    ///
    /// - Parameters:
    ///   - accesses: its present time is the begin of the sync for the eviction order.
    ///   - total: the number of contacts or entries, for the progress; `nil` if unknown.
    ///   - progress: called as the sync advances.
    ///   - emit: delivers an event, and returns when its reader has received it; `nil` without a reader.
    /// - Throws: `readOnly` in a store that is open for reading only; an error of the index; `invalidConfiguration` if
    ///   the store has no client for requests.
    init(
        _ fetching: FetchParts,
        source: SyncSource,
        sources: SourceSync?,
        options: SyncOptions,
        accesses: AccessRecorder,
        total: Int?,
        progress: @escaping @Sendable (SyncProgress) -> Void,
        emit: (@Sendable (SyncEvent) async -> Void)?
    ) throws {
        let index = fetching.parts.index
        started = fetching.parts.clock.now()
        let limits = try fetching.parts.limits(mode: options.mode, ceiling: options.budgetCeiling)
        var rules = SyncRules(options: options, limits: limits, fetching: fetching)
        rules.notesImages = sources?.hasChanges == true
        let engine = try fetching.engine(limits, timeout: options.timeout, isConstrained: rules.isConstrained)
        let tally = SyncTally(index, total: total, progress: progress, emit: emit)
        scope = SyncScope(engine: engine, source: source, sources: sources, options: options, tally: tally)
        windows = try index.hostWindows()
        let hosts = try SyncHosts(index, options, timeLimit: options.hostTimeLimit, at: started)
        dispatcher = SyncDispatcher(scope, hosts: hosts, windows: windows)
        room = SyncRoom(scope, accessedBefore: accesses.nextTime())
        committer = SyncCommitter(scope, room: room)
        roster = try SyncRoster(scope)
        planning = SyncPlanning(scope, rules: rules, roster: roster, dispatcher: dispatcher, room: room)
        let photos = SyncPhotos(scope: scope, committer: committer)
        let promotion = SyncPromotion(scope)
        steps = SyncStepRunner(
            scope: scope,
            planning: planning,
            dispatcher: dispatcher,
            committer: committer,
            photos: photos,
            promotion: promotion
        )
        results = SyncResults(
            scope: scope,
            planning: planning,
            committer: committer,
            room: room,
            photos: photos,
            promotion: promotion
        )
        unlinking = SyncUnlinking(scope: scope, planning: planning, roster: roster)
    }

    /// The signals of tasks to the run, which handles them one after another.
    private var inbox: SyncInbox<SyncSignal> { scope.inbox }
    /// The contacts that wait.
    private var contacts: SyncContacts { scope.contacts }
    /// Counts and reports.
    private var tally: SyncTally { scope.tally }
    /// The source of answers that is asked before a host; `nil` without one.
    private var answers: (any AnswerSource)? { scope.answers }
    /// The number of ready targets, and of results not committed, up to which the source is read.
    private var readAhead: Int { 2 * max(4 * scope.connections, scope.options.batchSize) }
    /// Whether this sync finds out what hosts bear.
    private var findsWindows: Bool {
        (scope.options.connectionsPerHost ?? scope.parts.configuration.connectionsPerHost) == nil
    }

    /// Runs to the end, or until the task is cancelled. Results received by then are committed in both cases.
    ///
    /// - Throws: the first error of the index, the disk or the list. A cancelled sync returns its report.
    package func run() async throws -> SyncReport {
        let begun = ContinuousClock.now
        // Before another sync may begin.
        defer { dispatcher.end() }
        try await scope.writer.dropExpiredPartials(at: started)
        // Erasures in the source of answers take a part of the time.
        try await answers?.begin(within: min(.seconds(60), (scope.options.timeLimit ?? .seconds(240)) / 4))
        try room.lookAtTotals()
        try await roster.begin()
        await withDiscardingTaskGroup { group in
            if let limit = scope.options.timeLimit {
                group.addTask { [inbox] in
                    // When cancelled, the sleep ends early. The sync is over by then, and does not read the signal.
                    try? await Deadlines.shared.sleep(until: begun + limit)
                    inbox.put(.timeIsUp)
                }
            }
            await drive(&group, until: scope.options.timeLimit.map { begun + $0 })
            // A tick may still be sleeping.
            group.cancelAll()
        }
        try await roster.write()
        try await unlinking.unlinkReplacedImages()
        try await unlinking.prune()
        try await unlinking.settleSources()
        try await unlinking.removeUnusedImages()
        if !Task.isCancelled {
            try await answers?.finish(
                within: scope.options.timeLimit.map { max(.seconds(1), begun + $0 - .now) } ?? .seconds(600)
            )
        }
        for host in tally.report.details.slowedHosts.keys { noteWait(host) }
        try await keepWindows()
        try await reportQueries()
        tally.update { $0.wasCancelled = Task.isCancelled }
        tally.tellProgress()
        await tally.tellEvents()
        return try tally.result()
    }

    /// The most hosts whose windows are kept.
    private static let mostWindows = 1_000

    /// Reports the hosts with most requests, and keeps how many requests at once they bear, for the next sync.
    private func keepWindows() async throws {
        let uses = dispatcher.uses(most: Self.mostWindows)
        tally.update { $0.details.hosts = uses.prefix(SyncDetails.largestHostCount).map(SyncDetails.Host.init) }
        for use in uses.prefix(SyncDetails.largestHostCount) { scope.engine.logger.debug("\(use)") }
        let changed = uses.filter { $0.window != windows[$0.host] }.map { ($0.host, $0.window) }
        guard findsWindows, !changed.isEmpty else { return }
        try await scope.writer.write { transaction in
            for (host, window) in changed { try transaction.setWindow(window, ofHost: host) }
        }
    }

    /// Reports hosts whose URLs change with each list, and contacts whose URLs keep their volatile parameters.
    private func reportQueries() async throws {
        let (clashes, changing) = (planning.clashes.found, try planning.changes.found(in: scope.index))
        tally.update { ($0.details.queryClashes, $0.details.changingQueries) = (clashes, changing) }
        let hosts = clashes.map(\.host)
        guard !hosts.isEmpty, try !scope.index.clashingHosts().isSuperset(of: hosts) else { return }
        try await scope.writer.noteClashes(of: hosts)
    }

    // MARK: The loop

    /// Runs the loop: read and plan a page, begin requests, begin a commit, handle signals. Ends when no work is left.
    ///
    /// The signal of the time limit may be late on a busy machine. Therefore each round looks at `deadline` too, so that
    /// no request begins after it.
    private func drive(_ group: inout DiscardingTaskGroup, until deadline: ContinuousClock.Instant?) async {
        var signals: [SyncSignal] = []
        while true {
            if let deadline, deadline <= .now { tally.update { $0.ranOutOfTime = true } }
            if tally.shouldStop {
                abandonWaiting()
            } else {
                await advanceChains()
                await readPage()
                startRequests(&group)
            }
            dispatcher.setAlarm()
            committer.startCommit(
                &group,
                isIdle: dispatcher.activeCount == 0 && !dispatcher.isSpacing,
                isWaitingOnly: planning.isExhausted && dispatcher.readyCount == 0 && !dispatcher.isSpacing,
                contacts: { contacts.takeWaiting(for: $0) }
            )
            if !tally.shouldStop, dispatcher.activeCount > 0 || dispatcher.isWaitingForHosts {
                committer.startTicking(&group)
            }
            guard isWaiting else {
                let isDone =
                    committer.waitingCount == 0 && !dispatcher.hasWaiting && !contacts.hasChainsToAdvance
                if isDone && (tally.shouldStop || planning.isExhausted) { return }
                continue
            }
            await takeSignals(&signals)
            await handle(signals, &group)
            // Before the next wait, because a signal may hold the lease of an image.
            signals.removeAll(keepingCapacity: true)
            await tally.tellEvents()
        }
    }

    /// Whether a signal or an alarm will come: a request is under way, a commit, or a wait for a host or for readers.
    private var isWaiting: Bool {
        if dispatcher.activeCount > 0 || committer.isCommitting || dispatcher.isWaitingForReaders { return true }
        return dispatcher.isWaitingForHosts && !contacts.hasChainsToAdvance
    }

    /// Takes the signals received into `signals`, which is empty. Waits for one, unless the source can be read meanwhile.
    private func takeSignals(_ signals: inout [SyncSignal]) async {
        if wantsToRead { return inbox.take(&signals) }
        if tally.isCutShort {
            dispatcher.cancelBegun()
            // A wait for a host is over too.
            guard dispatcher.activeCount > 0 || committer.isCommitting else { return inbox.take(&signals) }
            return await inbox.next(&signals)
        }
        await withTaskCancellationHandler {
            await inbox.next(&signals)
        } onCancel: { [inbox] in
            inbox.ring()
        }
    }

    /// Handles `signals` in their order. Requests begin in between, so that the client works meanwhile.
    private func handle(_ signals: [SyncSignal], _ group: inout DiscardingTaskGroup) async {
        for (number, signal) in signals.enumerated() {
            await handle(signal, &group)
            if number % Self.signalsPerRound == Self.signalsPerRound - 1, !tally.shouldStop { startRequests(&group) }
        }
    }

    /// Passes a signal on to the part that it concerns.
    private func handle(_ signal: SyncSignal, _ group: inout DiscardingTaskGroup) async {
        switch signal {
        case .fetched(let job, let flight, let result):
            dispatcher.finish(job)
            collect(result, of: job, flight)
        case .arrived(let flight, let arrival):
            let next = dispatcher.arrived(flight, arrival, isWanted: !tally.isCutShort, in: &group)
            if let next { await handle(next, &group) }
        case .caughtUp(let job, let flight, let outcome):
            dispatcher.finish(job)
            await results.take(job, flight, byAnotherProcess: outcome)
        case .deferred(let job, let flight):
            dispatcher.finish(job)
            results.endFlight(of: job, flight)
            if tally.shouldStop {
                results.skip(job.target, tally.report.ranOutOfTime ? .limit : .interrupted)
            } else {
                dispatcher.putBack(job.target)
            }
        case .gaveUp(let job, let flight, let counts, let error):
            dispatcher.finish(job)
            results.giveUp(job, flight, counts: counts, error: error)
        case .joined(let job, let result):
            dispatcher.finishJoined()
            await results.take(job, byAnotherTask: result)
        case .committed(let result):
            await committed(result, &group)
        case .timeIsUp:
            tally.update { $0.ranOutOfTime = true }
            group.cancelAll()
        case .tick:
            committer.ticked()
        }
    }

    // MARK: Reading and planning

    /// Whether to read more of the source now.
    ///
    /// Targets of hosts at their limit do not count, so that one slow host does not stop the reading for others. But at
    /// most 20,000 targets wait in all.
    private var wantsToRead: Bool {
        !planning.isExhausted && !tally.shouldStop && committer.waitingCount < readAhead && dispatcher.canQueueMore
            && dispatcher.readyCount < readAhead
    }

    /// Reads and plans one page. Signals are handled between two pages.
    private func readPage() async {
        guard wantsToRead else { return }
        do {
            try await steps.run(try await planning.nextSteps())
            tally.tellProgress()
        } catch {
            // A list that throws because the task is cancelled has not failed.
            if !(error is CancellationError && Task.isCancelled) { tally.fail(error) }
        }
    }

    /// Plans the next candidates of chains whose candidate turned out to have no image.
    private func advanceChains() async {
        for chain in contacts.takeChainsToAdvance() where !tally.shouldStop {
            do {
                try await steps.run(try await planning.steps(advancing: chain))
            } catch {
                tally.fail(error)
            }
        }
    }

    /// Skips all that waits for a request or a plan: the sync ends early.
    private func abandonWaiting() {
        planning.stop()
        _ = contacts.takeChainsToAdvance()
        for target in dispatcher.dropAll() { results.skip(target, tally.report.ranOutOfTime ? .limit : .interrupted) }
    }

    // MARK: Requests

    /// Begins as many requests as there are connections for.
    private func startRequests(_ group: inout DiscardingTaskGroup) {
        defer { dispatcher.flush() }
        dispatcher.releaseDueHosts()
        if hasReachedByteLimit { dispatcher.releaseAllHosts() }
        while !committer.isFull(active: dispatcher.activeCount), let target = dispatcher.take() {
            if let reason = reasonToSkip(target) {
                dispatcher.leave(target)
                planning.returnRequest()
                results.skip(target, reason)
                continue
            }
            if target.bringsCacheFile {
                if room.isExhausted {
                    dispatcher.leave(target)
                    results.leaveOut(target)
                    continue
                }
                // Near the budget, the next commit tells whether there is room for more. Fetching before that could be
                // in vain.
                if !room.fitsOneMore(besides: dispatcher.activeCount - 1 + committer.openCount) {
                    return dispatcher.giveBack(target)
                }
            }
            dispatcher.start(target, &group)
        }
    }

    /// The reason why `target` gets no request now: the byte limit of the sync, or its host; `nil` if it may get one.
    private func reasonToSkip(_ target: FetchTarget) -> SkipReason? {
        if !dispatcher.isOffline, hasReachedByteLimit { return .limit }
        return dispatcher.reasonToSkip(target)
    }

    /// Whether as many bytes have arrived as the options allow.
    private var hasReachedByteLimit: Bool { tally.report.bytesReceived >= scope.options.maximumBytes ?? .max }

    // MARK: Results

    /// Counts the result of a fetch, and collects it for the next commit.
    private func collect(_ result: FetchResult, of job: FetchJob, _ flight: Int) {
        tally.count(requests: result.requestCount, bytesReceived: result.bytesReceived)
        if result.isFromSource { tally.update { $0.shared += 1 } }
        if case .failed(let failed) = result.content {
            if failed.kind == .offline, dispatcher.goOffline() {
                tally.update { $0.add(.init(key: nil, kind: .offline, message: failed.message)) }
            }
            if let error = failed.storeError { tally.fail(error) }
        }
        switch tally.shouldStop ? .settle : dispatcher.pace(result, of: job) {
        case .settle:
            let isNews = dispatcher.record(result, of: job)
            committer.add(result, of: job, flight, isNews: isNews)
        case .settleImage:
            noteWait(job.target.host)
            committer.add(result, of: job, flight, isNews: false)
        case .askAgain(let note, let host):
            noteWait(job.target.host)
            if let note {
                committer.note(note, of: host, key: job.key)
                tally.tellProgress()
            }
            results.postpone(job, flight, for: result)
        }
    }

    /// Reports how long the sync has waited for `host`. Called for each refusal, and for all such hosts at the end.
    private func noteWait(_ host: String) {
        guard let wait = dispatcher.wait(for: host) else { return }
        tally.update { $0.details.noteWait(for: host, wait.time, refused: wait.refused) }
    }

    /// Takes note of a commit, and names the files to protect if the writer asks for them.
    private func committed(_ result: Result<CommitSummary, any Error>, _ group: inout DiscardingTaskGroup) async {
        do {
            try await results.take(try result.get())
            answers?.noteCommit()
            tally.tellProgress()
        } catch is ProtectionNeeded {
            do {
                try await room.protectWantedFiles()
                committer.commit(&group)
            } catch {
                abandon(error)
            }
        } catch {
            abandon(error)
        }
    }

    /// Ends the sync after an error of a commit, and with it the readers that wait for its batch.
    private func abandon(_ error: any Error) {
        tally.fail(error)
        committer.abandon(error)
    }
}
