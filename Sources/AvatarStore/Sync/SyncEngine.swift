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
    private let options: SyncOptions
    /// When the sync began.
    let started: Timestamp
    /// The number of signals after which requests begin.
    private static let signalsPerRound = 8
    /// The number of ready targets, and of results not committed, up to which the source is read.
    private let readAhead: Int

    /// The signals of tasks to the run, which handles them one after another.
    private let inbox = SyncInbox<SyncSignal>()
    private let writer: StoreWriter
    private let index: AvatarIndex
    private let planning: SyncPlanning
    private let steps: SyncStepRunner
    private let roster: SyncRoster
    private let dispatcher: SyncDispatcher
    private let committer: SyncCommitter
    private let room: SyncRoom
    private let results: SyncResults
    private let unlinking: SyncUnlinking
    private let contacts = SyncContacts()
    private let tally: SyncTally
    private let answers: (any AnswerSource)?
    /// The sources of the sync; `nil` without any.
    private let sources: SourceSync?
    private let logger: Logger
    /// The requests at once that hosts bore when the sync began.
    private let windows: [String: HostWindow]
    /// Whether this sync finds out what hosts bear.
    private let findsWindows: Bool

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
        let (parts, flights) = (fetching.parts, fetching.flights)
        (self.options, self.sources, answers) = (options, sources, fetching.answers)
        started = parts.clock.now()
        let limits = try parts.limits(mode: options.mode, ceiling: options.budgetCeiling)
        let writable = try parts.requireWritable()
        (writer, index) = (writable.writer, parts.index)
        var rules = SyncRules(options: options, limits: limits, fetching: fetching)
        rules.notesPictures = sources?.hasChanges == true
        let engine = try fetching.engine(limits, timeout: options.timeout, isConstrained: rules.isConstrained)
        let connections = options.connections(parts.configuration)
        readAhead = 2 * max(4 * connections, options.batchSize)
        windows = try parts.index.hostWindows()
        logger = engine.logger
        findsWindows = (options.connectionsPerHost ?? parts.configuration.connectionsPerHost) == nil
        dispatcher = SyncDispatcher(
            engine,
            flights: flights,
            connections: connections,
            connectionsPerHost: options.connectionsPerHost,
            windows: windows,
            hosts: try SyncHosts(parts.index, options, timeLimit: options.hostTimeLimit, at: started),
            timeLimit: options.timeLimit,
            named: source.named,
            inbox: inbox
        )
        room = SyncRoom(engine, source, accessedBefore: accesses.nextTime())
        committer = SyncCommitter(engine, flights: flights, room: room, batchSize: options.batchSize, inbox: inbox)
        tally = SyncTally(parts.index, total: total, progress: progress, emit: emit)
        let usesDocuments = options.storage == .documents
        roster = try SyncRoster(
            parts.index,
            writer: writer,
            options: options,
            hasList: !source.countsRest,
            sources: sources
        )
        planning = SyncPlanning(
            source,
            rules: rules,
            parts: parts,
            writer: writer,
            roster: roster,
            dispatcher: dispatcher,
            room: room,
            usesBudget: !usesDocuments,
            listing: answers?.listing()
        )
        let photos = SyncPhotos(
            parts: parts,
            intake: parts.intake(limits),
            writable: writable,
            committer: committer,
            contacts: contacts,
            tally: tally,
            sources: sources
        )
        let promotion = SyncPromotion(parts, isWanted: usesDocuments)
        steps = SyncStepRunner(
            planning: planning,
            dispatcher: dispatcher,
            committer: committer,
            contacts: contacts,
            photos: photos,
            promotion: promotion,
            tally: tally
        )
        results = SyncResults(
            planning: planning,
            committer: committer,
            room: room,
            contacts: contacts,
            photos: photos,
            promotion: promotion,
            flights: flights,
            tally: tally,
            answers: answers
        )
        unlinking = SyncUnlinking(
            index: parts.index,
            writer: writer,
            planning: planning,
            roster: roster,
            contacts: contacts,
            tally: tally,
            options: options,
            sources: sources
        )
    }

    /// Runs to the end, or until the task is cancelled. Results received by then are committed in both cases.
    ///
    /// - Throws: the first error of the index, the disk or the list. A cancelled sync returns its report.
    package func run() async throws -> SyncReport {
        let begun = ContinuousClock.now
        // Before another sync may begin.
        defer { dispatcher.end() }
        try await writer.dropExpiredPartials(at: started)
        // Erasures in the source of answers take a part of the time.
        try await answers?.begin(within: min(.seconds(60), (options.timeLimit ?? .seconds(240)) / 4))
        try room.lookAtTotals()
        try await roster.begin()
        await withDiscardingTaskGroup { group in
            if let limit = options.timeLimit {
                group.addTask { [inbox] in
                    // When cancelled, the sleep ends early. The sync is over by then, and does not read the signal.
                    try? await Deadlines.shared.sleep(until: begun + limit)
                    inbox.put(.timeIsUp)
                }
            }
            await drive(&group, until: options.timeLimit.map { begun + $0 })
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
                within: options.timeLimit.map { max(.seconds(1), begun + $0 - .now) } ?? .seconds(600)
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
        for use in uses.prefix(SyncDetails.largestHostCount) { logger.debug("\(use)") }
        let changed = uses.filter { $0.window != windows[$0.host] }.map { ($0.host, $0.window) }
        guard findsWindows, !changed.isEmpty else { return }
        try await writer.write { transaction in
            for (host, window) in changed { try transaction.setWindow(window, ofHost: host) }
        }
    }

    /// Reports hosts whose URLs change with each list, and contacts whose URLs keep their volatile parameters.
    private func reportQueries() async throws {
        let (clashes, changing) = (planning.clashes.found, try planning.changes.found(in: index))
        tally.update { ($0.details.queryClashes, $0.details.changingQueries) = (clashes, changing) }
        let hosts = clashes.map(\.host)
        guard !hosts.isEmpty, try !index.clashingHosts().isSuperset(of: hosts) else { return }
        try await writer.noteClashes(of: hosts)
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
    private var hasReachedByteLimit: Bool { tally.report.bytesReceived >= options.maximumBytes ?? .max }

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
