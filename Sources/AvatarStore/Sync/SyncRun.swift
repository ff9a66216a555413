import AvatarCore
import AvatarFiles
import AvatarIndex

/// One sync from beginning to end, driven by one task.
///
/// ```
/// source ─► plan ─► queue per host ─► request, many at once ─► collect ─► commit, one batch at a time
///             └─► keep, skip, over budget                                    └─► results, links, progress
/// ```
///
/// Each part has state of its own: `SyncPlanner` classifies, `SyncDispatcher` sends requests, `SyncCommitter` commits
/// and tracks the byte budget, `SyncContacts` remembers the contacts that wait, `SyncTally` counts and reports. The run
/// moves results from one part to the next.
///
/// The run reads a bounded number of items ahead, and begins no request while too many results are collected. So memory
/// does not depend on the length of the list, and the disk is never far behind the network.
final class SyncRun {
    private let parts: StoreParts
    private let flights: FlightTable<FetchJob.Fetched>
    private let lookup: SyncLookup
    private let options: SyncOptions
    private let source: SyncSource
    private let writable: StoreParts.Writable
    private let intake: ImageIntake
    /// When the sync began.
    let started: Timestamp

    private let inbox = SyncInbox<SyncSignal>()
    private var planner: SyncPlanner
    private let dispatcher: SyncDispatcher
    private let committer: SyncCommitter
    private var contacts = SyncContacts()
    private var tally: SyncTally

    private let walk: SyncSource.Walk
    /// Whether the source has been read to its end, or the sync has stopped reading it.
    private var isExhausted = false
    /// Images in `caches` that the sync wants as documents.
    private var toPromote: [AvatarKey] = []
    /// The first error of the store or the list. It ends the sync, and `run` throws it.
    private var failure: (any Error)?

    init(
        _ fetching: FetchParts,
        _ source: SyncSource,
        _ options: SyncOptions,
        accesses: AccessRecorder,
        total: Int?,
        progress: @escaping @Sendable (SyncProgress) -> Void,
        emit: (@Sendable (SyncEvent) async -> Void)?
    ) throws {
        parts = fetching.parts
        flights = fetching.flights
        lookup = SyncLookup(parts)
        self.source = source
        self.options = options
        started = parts.clock.now()
        let limits = try parts.limits(mode: options.mode, ceiling: options.budgetCeiling)
        intake = parts.intake(limits)
        writable = try parts.requireWritable()
        let rules = SyncRules(options, limits, fetching)
        planner = SyncPlanner(rules)
        let engine = try fetching.engine(limits, timeout: options.timeout, isConstrained: rules.isConstrained)
        dispatcher = SyncDispatcher(
            engine,
            flights: flights,
            connections: options.connections(parts.configuration),
            connectionsPerHost: options.connectionsPerHost(parts.configuration),
            hosts: try SyncHosts(parts.index, options, timeLimit: options.hostTimeLimit, at: started),
            inbox: inbox
        )
        committer = SyncCommitter(
            engine,
            flights: flights,
            batchSize: options.batchSize,
            accessedBefore: accesses.nextTime(),
            inbox: inbox
        )
        tally = SyncTally(total: total, progress: progress, emit: emit)
        walk = source.makeWalk()
    }

    /// Runs to the end, or until the task is cancelled. Results received by then are committed in both cases.
    ///
    /// - Throws: the first error of the index, the disk or the list. A cancelled sync returns its report.
    func run() async throws -> SyncReport {
        let begun = ContinuousClock.now
        try await writable.writer.dropExpiredPartials(at: started)
        try committer.lookAtTotals()
        await withDiscardingTaskGroup { group in
            if let limit = options.timeLimit {
                group.addTask { [inbox] in
                    // When cancelled, the sleep ends early. The sync is over by then, and does not read the signal.
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
        tally.update { report in
            report.wasCancelled = Task.isCancelled
            report.duration = ContinuousClock.now - begun
        }
        tally.tellProgress()
        await tally.tellEvents()
        if let failure { throw failure }
        return tally.report
    }

    // MARK: The loop

    private var shouldStop: Bool { Task.isCancelled || failure != nil || tally.report.ranOutOfTime }

    /// Whether requests under way are cancelled.
    private var isCutShort: Bool { Task.isCancelled || tally.report.ranOutOfTime }

    private func drive(_ group: inout DiscardingTaskGroup) async {
        while true {
            if shouldStop {
                abandonWaiting()
            } else {
                await advanceChains()
                await readPage()
                startRequests(&group)
            }
            committer.startCommit(
                &group,
                isIdle: dispatcher.activeCount == 0,
                isWaitingOnly: isExhausted && dispatcher.readyCount == 0,
                contacts: { contacts.takeWaiting(for: $0) }
            )
            if !shouldStop, dispatcher.activeCount > 0 { committer.startTicking(&group) }
            guard dispatcher.activeCount > 0 || committer.isCommitting else {
                let isDone = committer.waitingCount == 0 && !contacts.hasChainsToAdvance
                if isDone && (shouldStop || isExhausted) { return }
                continue
            }
            for signal in await nextSignals() { await handle(signal, &group) }
            await tally.tellEvents()
        }
    }

    /// Takes the signals received. Waits for one, unless the source can be read meanwhile.
    private func nextSignals() async -> [SyncSignal] {
        if wantsToRead { return inbox.take() }
        if isCutShort {
            dispatcher.cancelRevalidations()
            return await inbox.next()
        }
        return await withTaskCancellationHandler {
            await inbox.next()
        } onCancel: { [inbox] in
            inbox.ring()
        }
    }

    private func handle(_ signal: SyncSignal, _ group: inout DiscardingTaskGroup) async {
        switch signal {
        case .fetched(let job, let flight, let result):
            dispatcher.finish(job.target)
            collect(result, of: job, flight)
        case .answered(let flight, let arrival):
            let next = dispatcher.answered(flight, arrival, isWanted: !isCutShort, &group)
            if let next { await handle(next, &group) }
        case .caughtUp(let job, let flight, let outcome):
            dispatcher.finish(job.target)
            settle(job.target, byAnotherProcess: outcome)
            flights.finish(job.key, flight, .success(FetchJob.Fetched(outcome: outcome)))
            await promoteNow()
        case .gaveUp(let job, let flight, let counts, let error):
            dispatcher.finish(job.target)
            tally.count(requests: counts.requestCount, bytesReceived: counts.byteCount)
            giveUp(job.target, error)
            flights.finish(job.key, flight, .failure(error))
        case .joined(let job, let result):
            dispatcher.finish(job.target)
            switch result {
            case .success(let outcome):
                settle(job.target, byAnotherTask: outcome)
                await promoteNow()
            case .failure(let error):
                giveUp(job.target, error)
            }
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
        let readAhead = 2 * max(4 * options.connections(parts.configuration), options.batchSize)
        return !isExhausted && !shouldStop && committer.waitingCount < readAhead && dispatcher.canQueueMore
            && dispatcher.readyCount < readAhead
    }

    /// Reads and plans one page. Signals are handled between two pages.
    private func readPage() async {
        guard wantsToRead else { return }
        do {
            let items = try await walk(planner.hasReachedLimit && source.countsRest ? 0 : 256)
            isExhausted = items.isEmpty
            for case .entry(let entry) in items {
                // Once settled, the entry is no longer due, and a second walk would not find its file.
                if let file = entry.file { committer.protect(file.id) }
            }
            var (known, lost) = try lookup.snapshot(for: items)
            let former = SyncPlanner.formerImages(of: items, known)
            if !former.isEmpty {
                try await unlink(former)
                (known, lost) = try lookup.snapshot(for: items)
            }
            try await retire(lost)
            let circumstances = try await circumstances(lacksImage: known.lacksImage(for: items))
            try await carryOut(try planner.plan(items, known, circumstances))
            tally.tellProgress()
        } catch {
            // A list that throws because the task is cancelled has not failed.
            if !(error is CancellationError && Task.isCancelled) { failure = failure ?? error }
        }
    }

    /// Plans the next candidates of chains whose candidate turned out to have no image.
    private func advanceChains() async {
        for chain in contacts.takeChainsToAdvance() where !shouldStop {
            do {
                let (known, lost) = try lookup.snapshot(for: chain)
                try await retire(lost)
                try await carryOut(planner.advance(chain, known, circumstances(lacksImage: true)))
            } catch {
                failure = failure ?? error
            }
        }
    }

    /// The circumstances for the planner: hosts, time, network and room.
    ///
    /// - Parameter lacksImage: whether some image is not stored yet. Only then does it matter whether there is room.
    private func circumstances(lacksImage: Bool) async throws -> SyncCircumstances {
        var circumstances = SyncCircumstances(hosts: dispatcher.hosts, now: parts.clock.now())
        circumstances.isOffline = dispatcher.isOffline
        if lacksImage, options.storage != .documents, !dispatcher.isOffline {
            circumstances.hasRoom = try await committer.hasRoom(wantedFiles: wantedFiles)
        }
        return circumstances
    }

    /// Removes files from the index that a user or the system deleted.
    private func retire(_ lost: [FileRecord]) async throws {
        guard !lost.isEmpty else { return }
        try await writable.writer.retireLost(lost)
        try committer.lookAtTotals()
    }

    private typealias Kept = (key: AvatarKey, contact: String, entry: Int64)

    private func carryOut(_ steps: [SyncStep]) async throws {
        var kept: [Kept] = []
        for step in steps {
            switch step {
            case .contact: tally.update { $0.contacts += 1 }
            case .settled: tally.settle()
            case .image(let image): try await carryOut(image, &kept)
            case .photos(let photos): try await save(photos)
            case .withoutImage(let contact, let former):
                tally.update { $0.withoutImage += 1 }
                tally.settle()
                if let contact { contacts.prune(former, from: contact) }
            case .link(let key, let contact, let keepsGone): committer.link(key, contact, keepsGone: keepsGone)
            case .replace(let contact, let former, let successors):
                contacts.replace(former, by: successors, of: contact)
            case .refused(let text, let contact, let error):
                tally.update { report in
                    report.fail(.unsupportedURL)
                    report.add(.init(refused: text, error, contact: contact))
                }
                tally.settle()
            case .postponed(let count, let reason):
                tally.update { $0.skip(reason, count) }
                tally.settle(count)
            case .unreadable(let place, let reason):
                tally.update { report in
                    report.unreadable += 1
                    report.add(.init(unreadable: reason, at: place))
                }
                tally.settle()
            case .duplicate(let record):
                tally.update { report in
                    report.duplicates += 1
                    SyncReport.Duplicate.note(record, in: &report.duplicateContacts)
                }
                tally.settle()
            }
        }
        try link(kept)
    }

    private func carryOut(_ image: PlannedImage, _ kept: inout [Kept]) async throws {
        let key = image.key
        switch image.action {
        case .keep:
            tally.update { $0.fresh += 1 }
            tally.settle()
            if options.storage == .documents { try await promote(key) }
            linkStored(image, &kept)
        case .skip(let reason):
            tally.update { $0.skip(reason) }
            tally.settle()
            // The limit applies to all work of the sync, including moves.
            if options.storage == .documents, image.hasFile, reason != .limit { try await promote(key) }
            linkStored(image, &kept)
        case .leaveOut:
            tally.update { $0.overBudget += 1 }
            tally.settle()
            linkStored(image, &kept)
        case .request(let target, _):
            if let chain = image.chain { contacts.begin(key, for: chain) }
            dispatcher.add(target)
        case .share:
            tally.settle()
            if image.chain == nil, let contact = image.contact, planner.isInFlight(key) {
                contacts.share(key, with: contact)
            } else {
                linkStored(image, &kept)
            }
        case .wait:
            if let chain = image.chain { contacts.wait(chain, for: key) }
        case .refuse(let error):
            tally.update { $0.fail(.unsupportedURL) }
            tally.settle()
            report(FetchFailure(kind: .unsupportedURL, message: error.message), key, of: image.contact)
        }
    }

    /// Links the contact of an image that gets no request, if the image has an entry.
    private func linkStored(_ image: PlannedImage, _ kept: inout [Kept]) {
        guard let entry = image.entry, let contact = image.contact else { return }
        if let chain = image.chain {
            if !image.isLinked { committer.link(image.key, contact, keepsGone: chain.keepsGone) }
        } else {
            kept.append((image.key, contact, entry.id))
        }
    }

    /// Links contacts to images that get no request, unless the index has the links already.
    private func link(_ kept: [Kept]) throws {
        guard !kept.isEmpty else { return }
        let missing = try parts.index.unlinked(kept.map { ($0.contact, $0.entry) })
        for (item, isMissing) in zip(kept, missing) where isMissing { committer.link(item.key, item.contact) }
    }

    /// The files of all images that the source names. The sync needs them only if it has to evict files. To find them,
    /// it walks the source once more.
    private func wantedFiles() async throws -> Set<Int64> {
        var files: Set<Int64> = []
        let walk = source.makeWalk()
        while true {
            let items = try await walk(256)
            if items.isEmpty { return files }
            var keys: [AvatarKey] = []
            for item in items {
                switch item {
                case .entry(let entry): if let file = entry.file { files.insert(file.id) }
                case .image(let image): keys += [image.key].compactMap(\.self)
                case .candidates(let candidates, _, _): keys += candidates
                case .postponed, .withoutImage, .photos, .unreadable, .duplicate, .nothingYet: break
                }
            }
            files.formUnion(try parts.index.entries(for: keys).compactMap { $0?.file?.id })
        }
    }

    // MARK: Requests

    /// Begins as many requests as there are connections for.
    private func startRequests(_ group: inout DiscardingTaskGroup) {
        defer { dispatcher.flush() }
        while !committer.isFull, let target = dispatcher.next {
            if let reason = reasonToSkip(target) {
                dispatcher.drop()
                // The request limit counts requests sent, so another target may use this one.
                planner.returnRequest()
                skip(target, reason)
                continue
            }
            if target.bringsCacheFile {
                if committer.isRoomExhausted {
                    dispatcher.drop()
                    leaveOut(target)
                    continue
                }
                // Near the budget, the next commit tells whether there is room for more. Fetching before that could be
                // in vain.
                if !committer.fitsOneMore(besides: dispatcher.activeCount) { return }
            }
            dispatcher.startNext(&group)
        }
    }

    private func reasonToSkip(_ target: FetchTarget) -> SkipReason? {
        if !dispatcher.isOffline, tally.report.bytesReceived >= options.maximumBytes ?? .max { return .limit }
        return dispatcher.reasonToSkip(target)
    }

    private func abandonWaiting() {
        isExhausted = true
        _ = contacts.takeChainsToAdvance()
        for target in dispatcher.dropAll() { skip(target, tally.report.ranOutOfTime ? .limit : .interrupted) }
    }

    private func giveUp(_ target: FetchTarget, _ error: any Error) {
        if !(error is CancellationError) { failure = failure ?? error }
        skip(target, tally.report.ranOutOfTime ? .timeIsUp : .interrupted)
    }

    /// Counts an image as skipped, for a `reason`. Its contacts are still linked to the stored image.
    private func skip(_ target: FetchTarget, _ reason: SkipReason) {
        tally.update { $0.skip(reason) }
        // If the sync ends early, the progress must not count the rest as done.
        if !shouldStop { tally.settle() }
        linkIfStored(target)
    }

    /// Counts an image as over budget, without a request.
    private func leaveOut(_ target: FetchTarget) {
        tally.update { $0.overBudget += 1 }
        tally.settle()
        linkIfStored(target)
    }

    private func linkIfStored(_ target: FetchTarget) {
        let others = finish(target.key)
        guard target.entry != nil else { return }
        for contact in target.owners + others { committer.link(target.key, contact, keepsGone: target.keepsGone) }
    }

    /// Ends the chains and the plan of `key`.
    ///
    /// - Returns: the contacts that share the image, apart from the first one.
    private func finish(_ key: AvatarKey) -> [String] {
        tally.settle(contacts.endChains(at: key))
        planner.settle(key)
        return contacts.takeWaiting(for: key)
    }

    // MARK: Results

    /// Counts the result of a fetch, and collects it for the next commit.
    private func collect(_ result: FetchResult, of job: FetchJob, _ flight: Int) {
        let target = job.target
        tally.count(requests: result.requestCount, bytesReceived: result.bytesReceived)
        if case .failed(let failed) = result.content {
            if failed.kind == .offline, dispatcher.goOffline() {
                tally.update { $0.add(.init(key: nil, kind: .offline, message: failed.message)) }
            }
            if let error = failed.storeError { failure = failure ?? error }
        }
        let isNews = dispatcher.record(result, of: target)
        guard var change = job.change(for: result) else {
            // The image must not be stored. The contacts are linked to the stored one, if there is one.
            if case .image(let image, _, _) = result.content {
                writable.places.files(of: image.storageClass).discard(image)
            }
            var links = Change(key: target.key, owners: target.owners, content: .linked)
            links.keepsGone = target.keepsGone
            return committer.add(SyncCommitter.Item(change: links, fetch: (job, flight)))
        }
        if !isNews { change.hostNote = nil }
        committer.add(SyncCommitter.Item(change: change, fetch: (job, flight)))
    }

    private func committed(_ result: Result<CommitSummary, any Error>, _ group: inout DiscardingTaskGroup) async {
        do {
            let summary = try result.get()
            tally.update { $0.evicted += summary.evicted }
            // An error here fails the batch, and with it the readers that wait for it.
            try committer.lookAtTotals()
            for (item, result) in zip(committer.takeCommitted(), summary.results) {
                settle(item, result)
            }
            try await promoteConfirmed()
            tally.tellProgress()
        } catch is ProtectionNeeded {
            do {
                committer.protect(only: try await wantedFiles())
                committer.commit(&group)
            } catch {
                abandon(error)
            }
        } catch {
            abandon(error)
        }
    }

    private func abandon(_ error: any Error) {
        failure = failure ?? error
        committer.abandon(error)
    }

    /// Counts the outcome of one committed change, and tells the readers that wait for it.
    private func settle(_ item: SyncCommitter.Item, _ committed: Committed) {
        let key = item.change.key
        guard let (job, flight) = item.fetch else {
            if item.change.image != nil { settle(photo: key, committed) }
            return
        }
        // For an image that must not be stored, only the links are committed.
        let outcome = committed.outcome ?? .notStored
        tally.settle()
        if case .overBudget(let error) = outcome {
            settleOverBudget(item, error)
        } else {
            count(outcome, of: job.target)
        }
        if let file = committed.file { committer.protect(file) }
        if options.storage == .documents { toPromote.append(key) }
        if case .notStored = outcome {
            // The store has no image for the waiting readers, so they fetch it themselves.
            flights.finish(key, flight, .failure(CancellationError()))
        } else {
            flights.finish(key, flight, .success(FetchJob.Fetched(outcome: outcome)))
        }
        linkWaiting(for: key, keepsGone: item.change.keepsGone)
    }

    /// Counts an image that another process fetched or revalidated meanwhile. It counts as fresh even if its response
    /// is stale already, because this sync sends no request for it.
    private func settle(_ target: FetchTarget, byAnotherProcess outcome: FetchOutcome) {
        tally.settle()
        if case .failed = outcome {
            count(outcome, of: target)
        } else {
            tally.update { report in
                report.answered += 1
                report.fresh += 1
            }
        }
        if let file = target.entry?.file { committer.protect(file.id) }
        if options.storage == .documents { toPromote.append(target.key) }
        linkAll(of: target)
    }

    /// Counts an image that another task of this process fetched meanwhile.
    private func settle(_ target: FetchTarget, byAnotherTask outcome: FetchOutcome) {
        tally.settle()
        count(outcome, of: target)
        if options.storage == .documents { toPromote.append(target.key) }
        linkAll(of: target)
    }

    /// Counts the outcome of a fetch. A failure does not count while all contacts have another candidate.
    private func count(_ outcome: FetchOutcome, of target: FetchTarget) {
        guard case .failed(let failure) = outcome else { return tally.count(outcome, target.key) }
        if contacts.takeLastResort(target.key) || !failure.isNone(for: target) {
            count(failure, target.key, of: target.owners.first)
        } else {
            tally.update { $0.answered += 1 }
        }
        if failure.hasNothing(for: target) { tally.settle(contacts.fail(target.key)) }
    }

    /// Counts the failure of an image, and reports it with its contact.
    private func count(_ failed: FetchFailure, _ key: AvatarKey, of listed: String?) {
        tally.count(failed, key, of: contact(of: key, listed))
    }

    /// Reports why the image of `key` is not stored, without counting it.
    private func report(_ failed: FetchFailure, _ key: AvatarKey, of listed: String?) {
        let contact = contact(of: key, listed)
        tally.update { $0.add(.init(failed, key, contact: contact)) }
    }

    /// The contact to report with `key`: the one in the list, else the first one in the index.
    private func contact(of key: AvatarKey, _ listed: String?) -> String? {
        guard listed == nil, tally.reportsMore else { return listed }
        do {
            return try parts.index.contacts(using: key).first
        } catch {
            failure = failure ?? error
            return nil
        }
    }

    private func settleOverBudget(_ item: SyncCommitter.Item, _ error: AvatarStoreError) {
        let key = item.change.key
        guard error.failure != .tooLarge else {
            let failure = FetchFailure(kind: .tooLarge, message: error.message)
            var change = item.change
            change.content = .failed(failure, checked: parts.clock.now())
            committer.add(SyncCommitter.Item(change: change))
            return count(failure, key, of: item.change.owners.first)
        }
        tally.count(.overBudget(error), key)
        // The stored image stays, and the contacts are linked to it.
        for contact in item.change.owners { committer.link(key, contact, keepsGone: item.change.keepsGone) }
        committer.noteRefusal(of: item.change.image?.sizeBytes ?? 0)
    }

    private func linkAll(of target: FetchTarget) {
        for contact in target.owners { committer.link(target.key, contact, keepsGone: target.keepsGone) }
        linkWaiting(for: target.key, keepsGone: target.keepsGone)
    }

    /// Links the contacts that share the image of `key`, now that the outcome is known.
    private func linkWaiting(for key: AvatarKey, keepsGone: Bool) {
        for contact in finish(key) { committer.link(key, contact, keepsGone: keepsGone) }
    }

    // MARK: Documents

    /// Moves the collected images to `documents`, unless they are there already.
    private func promoteConfirmed() async throws {
        let keys = toPromote
        toPromote = []
        for key in keys { try await promote(key) }
    }

    /// Moves the collected images now rather than after the next commit: they are stored already.
    private func promoteNow() async {
        do {
            try await promoteConfirmed()
        } catch {
            failure = failure ?? error
        }
    }

    private func promote(_ key: AvatarKey) async throws {
        do {
            _ = try await parts.move(key, to: .documents)
        } catch let error as AvatarStoreError where error.code == .noSuchEntry {
            // The image was removed or purged in between. The next sync finds it missing.
        }
    }

    // MARK: Photos

    /// Saves the embedded photos of a contact: documents under the contact's own key, written only if their bytes are
    /// new.
    private func save(_ planned: PlannedPhotos) async throws {
        let listed = planned.listed
        if !listed.hasURL { tally.settle() }
        var isReadable = listed.unreadable.isEmpty
        for image in listed.unreadable { try countUnreadable(image, of: listed) }
        for photo in listed.photos {
            let isSaved = try save(photo, as: listed.key(of: photo.number), of: listed.contact, planned.linked)
            isReadable = isReadable && isSaved
        }
        try await writable.writer.unlink(planned.formerPhotos.map { (listed.contact, $0) })
        // While a photo cannot be read, the contact keeps the fetched image.
        guard isReadable, !planned.formerImages.isEmpty else { return }
        let keys = try listed.photos.map { try listed.key(of: $0.number) }
        contacts.replace(planned.formerImages, by: keys, of: listed.contact)
    }

    /// - Returns: whether the photo is an image, and stored or about to be.
    private func save(
        _ photo: ContactPhoto,
        as key: AvatarKey,
        of contact: String,
        _ linked: [AvatarKey]
    ) throws -> Bool {
        guard try !parts.isStored(photo.bytes, as: key) else {
            tally.update { $0.saved += 1 }
            if !linked.contains(key) { committer.link(key, contact) }
            return true
        }
        do {
            let image = try intake.stage(photo.bytes, in: .documents, at: writable.places)
            let change = Change(key: key, owners: [contact], content: .image(image, validation: nil))
            committer.add(SyncCommitter.Item(change: change))
            return true
        } catch let error as AvatarStoreError where error.code == .imageRefused {
            tally.update { report in
                report.unreadable += 1
                report.add(.init(photo, error, key: key, contact: contact))
            }
            return false
        }
    }

    /// Counts an embedded image that cannot be read. The image of an earlier list stays.
    private func countUnreadable(_ image: UnreadableContactImage, of listed: ListedPhotos) throws {
        let failure = try SyncReport.Failure(image, of: listed)
        tally.update { report in
            report.unreadable += 1
            report.add(failure)
        }
    }

    private func settle(photo key: AvatarKey, _ committed: Committed) {
        switch committed.outcome {
        case .stored(let isChanged):
            tally.countSaved(key, isChanged: isChanged)
            if let file = committed.file { committer.protect(file) }
        case .overBudget(let error):
            countUnsaved(key, error)
        case .failed(let failure):
            countUnsaved(key, failure.error)
        case .notModified, .notStored, nil:
            break
        }
    }

    private func countUnsaved(_ key: AvatarKey, _ error: AvatarStoreError) {
        tally.update { $0.unreadable += 1 }
        report(FetchFailure(kind: .storage, message: error.message), key, of: nil)
    }

    // MARK: At the end

    /// Unlinks images that another image has replaced.
    private func unlinkReplacedImages() async throws {
        guard failure == nil else { return }
        let replaced = try contacts.replacedImages { keys in
            try parts.index.entries(for: keys).contains { $0?.file != nil }
        }
        try await unlink(replaced)
    }

    /// Unlinks in transactions of bounded length: other processes wait for them.
    private func unlink(_ links: [SyncContacts.Link]) async throws {
        for start in stride(from: 0, to: links.count, by: 256) {
            try await writable.writer.unlink(Array(links[start..<min(start + 256, links.count)]))
        }
    }

    /// Unlinks the contacts that the list omits, if the sync prunes.
    private func prune() async throws {
        guard planner.mayPrune, !shouldStop else {
            tally.update { $0.hasKeptLeavers = options.prunes }
            return
        }
        try await unlink(contacts.toPrune)
        tally.update { $0.unlinked += Set(contacts.toPrune.map { KeyFingerprint($0.contact) }).count }
        var last = ""
        while true {
            let page = try parts.index.contacts(after: last, limit: 512)
            guard let end = page.last else { return }
            last = end
            let leavers = planner.leavers(among: page)
            let links = try leavers.flatMap { contact in
                try parts.index.imageKeys(of: contact).map { (contact: contact, key: $0) }
            }
            try await writable.writer.unlink(links)
            tally.update { $0.unlinked += leavers.count }
            if Task.isCancelled { return }
        }
    }
}
