import AvatarCore
import AvatarFiles
import AvatarIndex

/// One sync from beginning to end, driven by one task.
///
/// ```
/// source ─► sort ─► queue per host ─► fetch, many at once ─► collect ─► commit, one batch at a time
///             └─► fresh, skipped, over budget                              └─► results, links, progress
/// ```
///
/// The source is read ahead by a bounded number of items; fetching waits while too much is collected. So memory does not
/// depend on the length of the list, and the disk is never far behind the network.
final class SyncRun {
    let store: AvatarStore
    let options: SyncOptions
    let source: SyncSource
    let total: Int?
    private let progress: @Sendable (SyncProgress) -> Void
    /// Who wants to be told each event, and is waited for.
    private let emit: (@Sendable (SyncEvent) async -> Void)?
    private var events: [SyncEvent] = []
    let limits: Limits
    /// Whether the network is constrained, as of the beginning.
    let isConstrained: Bool
    let writable: AvatarStore.Writable
    var writer: StoreWriter { writable.writer }
    let fetcher: Fetcher
    let started: Timestamp

    /// What came, and is not yet taken note of.
    let inbox = SyncInbox<Event>()
    /// What is under way without a task, by the numbers of the flights.
    var revalidating: [Int: Revalidating] = [:]

    var report = SyncReport()
    var done = 0
    var queues: HostQueues<FetchTarget>
    /// The files of the entries that were walked over, where there is no list to walk again.
    var settledFiles: Set<Int64> = []
    /// Keys that the list named so far.
    var seen: Set<KeyFingerprint> = []
    /// Further contacts of images that are under way.
    var laterOwners: [AvatarKey: [String]] = [:]
    var collected: [Collected] = []
    var rules: RoomRules
    /// Set once an image of ordinary size did not fit: what is not stored yet stays out.
    var isRoomExhausted = false
    var hasLookedForRoom = false
    var startedFetches = 0
    var hosts: SyncHosts
    /// Images that are stored in `caches`, and were asked for as documents.
    var toPromote: [AvatarKey] = []
    /// Contacts of images that were settled before the list named them again.
    var repeatedContacts: [(key: AvatarKey, contact: String)] = []
    /// Contacts with several candidates for their picture that wait for what the origin has for one of them.
    var chains: [AvatarKey: [CandidateChain]] = [:]
    /// Those for which the origin had none: the next candidate is to be asked for.
    var chainsToAdvance: [CandidateChain] = []
    /// Images that waiting chains ask for, and that another contact has without an alternative.
    var namedPlainly: Set<AvatarKey> = []
    /// Images that the list no longer has for a contact, and those that are to take their place.
    var replacedImages: [(contact: String, former: [AvatarKey], successors: [AvatarKey])] = []
    /// Images of contacts that have none any more.
    var formerImages: [(contact: String, key: AvatarKey)] = []
    /// The contacts for which the list has pictures, if all others are to be unlinked.
    var namedContacts: Set<KeyFingerprint> = []
    /// Whether the list has a record of which nobody knows whose it is.
    var hasUnreadableRecord = false

    /// The mean size of the stored images, and what counts against the budget, as of the last commit.
    var typicalBytes = 1
    var accountedBytes = 0
    var committing: [Collected] = []
    var lastCommit = ContinuousClock.now
    var isTicking = false
    /// Whether the source was read to its end, or is not to be read any further.
    var isExhausted = false
    var isOffline = false
    var failure: (any Error)?
    let walk: SyncSource.Walk

    /// How long what came may wait for its commit while a batch fills up; seen to once a tick.
    static let longestWait = Duration.milliseconds(500)
    static let tick = Duration.milliseconds(50)

    /// Something that came, until its commit.
    struct Collected: Sendable {
        var change: Change
        /// What came of the fetch; `nil` for a change without one.
        var result: FetchResult?
        /// The number of the flight that others may be waiting for.
        var flight: Int?
        /// Held until what came is committed: whoever gets it next finds it stored.
        var lease: FetchLease?
        /// Whether the origin said that there is no image, and none is stored; and whether that is no failure yet.
        var hasNothing = false
        var isNone = false
    }

    enum Event: Sendable {
        case fetched(FetchTarget, flight: Int, FetchLease?, FetchResult)
        /// The head of an answer came, or nothing will come.
        case answered(flight: Int, Revalidation.Arrival)
        /// Another process asked for the image meanwhile.
        case caughtUp(FetchTarget, flight: Int, FetchOutcome)
        case gaveUp(FetchTarget, flight: Int, Tally, any Error)
        /// Another task of this process asked for it.
        case joined(FetchTarget, Result<FetchOutcome, any Error>)
        case committed(Result<CommitSummary, any Error>)
        case timeIsUp
        /// Some time has passed: what is collected must not wait for the next answer of a slow host.
        case tick
    }

    init(
        _ store: AvatarStore,
        _ source: SyncSource,
        _ options: SyncOptions,
        total: Int?,
        progress: @escaping @Sendable (SyncProgress) -> Void,
        emit: (@Sendable (SyncEvent) async -> Void)?
    ) throws {
        self.store = store
        self.source = source
        self.options = options
        self.total = total
        self.progress = progress
        self.emit = emit
        limits = try store.limits(mode: options.mode, ceiling: options.budgetCeiling)
        isConstrained = store.isConstrained(options.isConstrained)
        writable = try store.requireWritable()
        fetcher = try store.fetcher(limits, timeout: options.timeout)
        started = store.clock.now()
        queues = HostQueues(perHost: options.connectionsPerHost)
        rules = RoomRules(limits)
        rules.accessedBefore = store.accesses.nextTime()
        rules.protection = .unknown
        hosts = SyncHosts(
            try store.index.ailingHosts(at: started),
            timeLimit: options.hostTimeLimit,
            ignoresPauses: options.asksPausedHosts
        )
        walk = source.makeWalk()
    }

    /// Runs to the end, or until the task is cancelled; what had arrived is committed in both cases.
    func run() async throws -> SyncReport {
        let begun = ContinuousClock.now
        try await writer.dropExpiredPartials(at: started)
        try lookAtTotals()
        await withDiscardingTaskGroup { group in
            if let limit = options.timeLimit {
                group.addTask { [inbox] in
                    // Cancelled early: the sync is done, and nobody looks at the event.
                    try? await Task.sleep(for: limit)
                    inbox.put(.timeIsUp)
                }
            }
            await drive(&group)
            // A tick may still be sleeping.
            group.cancelAll()
        }
        try await unlinkReplacedImages()
        try await prune()
        report.wasCancelled = Task.isCancelled
        report.seconds = (ContinuousClock.now - begun) / .seconds(1)
        tellProgress()
        await tellEvents()
        if let failure { throw failure }
        return report
    }

    func tellProgress() {
        let now = SyncProgress(done: done, total: total, report: report)
        progress(now)
        if emit != nil { events.append(.progress(now)) }
    }

    /// Notes what became of an image.
    func note(_ key: AvatarKey, _ outcome: SyncEvent.Outcome) {
        if emit != nil { events.append(.image(key, outcome)) }
    }

    private func tellEvents() async {
        guard let emit, !events.isEmpty else { return }
        let told = events
        events = []
        for event in told { await emit(event) }
    }

    var shouldStop: Bool { Task.isCancelled || failure != nil || report.ranOutOfTime }

    private func drive(_ group: inout DiscardingTaskGroup) async {
        while true {
            if shouldStop {
                abandonWaiting()
            } else {
                await advanceChains()
                await readPage()
                startFetches(&group)
            }
            startCommit(&group)
            startTicking(&group)
            guard queues.activeCount > 0 || !committing.isEmpty else {
                if collected.isEmpty && chainsToAdvance.isEmpty && (shouldStop || isExhausted) { return }
                continue
            }
            for event in await nextEvents() { await handle(event, &group) }
            await tellEvents()
        }
    }

    /// What came; waits for something, unless there is more to read.
    private func nextEvents() async -> [Event] {
        if wantsToRead { return inbox.take() }
        if isCutShort {
            endRevalidations()
            return await inbox.next()
        }
        return await withTaskCancellationHandler {
            await inbox.next()
        } onCancel: { [inbox] in
            inbox.ring()
        }
    }
}
