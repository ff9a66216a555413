import AvatarCore
import AvatarWriter

/// Takes note of outcomes: counts them, links the contacts that waited, and tells the readers that wait for the fetch.
///
/// An outcome is known once its batch is committed, another task or process had the image, or no request is sent.
struct SyncResults {
    /// Shared with the other parts.
    let scope: SyncScope
    let planning: SyncPlanning
    let committer: SyncCommitter
    let room: SyncRoom
    let photos: SyncPhotos
    let promotion: SyncPromotion

    /// The contacts that wait.
    private var contacts: SyncContacts { scope.contacts }
    /// Counts and reports.
    private var tally: SyncTally { scope.tally }
    /// The fetches that readers may wait for.
    private var flights: FlightTable<FetchJob.Fetched> { scope.engine.flights }

    // MARK: Commits

    /// Takes note of the batch that was just committed.
    ///
    /// - Throws: an error of the index or the disk. The sync ends with it.
    func take(_ summary: CommitSummary) async throws {
        tally.update { $0.evicted += summary.evicted }
        // An error here fails the batch, and with it the readers that wait for it.
        try room.lookAtTotals()
        for (item, committed) in zip(committer.takeCommitted(), summary.results) { take(item, committed) }
        try await promotion.promoteWaiting()
    }

    /// Counts the outcome of one committed change, and tells the readers that wait for it.
    private func take(_ item: SyncCommitter.Item, _ committed: Committed) {
        let key = item.change.key
        if let file = committed.file { room.protect(file) }
        guard let (job, flight) = item.fetch else {
            if item.change.image != nil { photos.count(key, committed) }
            return
        }
        // For an image that must not be stored, only the links are committed.
        let outcome = committed.outcome ?? .notStored
        tally.settle()
        if case .overBudget(let error) = outcome {
            countOverBudget(item, error)
        } else {
            count(outcome, of: job.target)
        }
        promotion.add(key)
        if !outcome.isKept { scope.answers?.giveUp(key) }
        if case .notStored = outcome {
            // The store has no image for the waiting readers, so they fetch it themselves.
            flights.finish(key, number: flight, with: .failure(CancellationError()))
        } else {
            flights.finish(key, number: flight, with: .success(FetchJob.Fetched(outcome: outcome)))
        }
        linkWaiting(for: key, keepsGone: item.change.keepsGone)
    }

    /// Counts an image that found no room. One that exceeds the whole budget counts as a failure, so that it is not
    /// requested again soon.
    private func countOverBudget(_ item: SyncCommitter.Item, _ error: AvatarStoreError) {
        let key = item.change.key
        guard error.failure != .tooLarge else {
            let failure = FetchFailure(kind: .tooLarge, message: error.message)
            committer.add(failure, inPlaceOf: item.change)
            return tally.count(failure, key, of: item.change.owners.first, at: contacts.takePlace(of: key))
        }
        tally.count(.overBudget(error), key)
        // The stored image stays, and the contacts are linked to it.
        for contact in item.change.owners { committer.link(key, contact, keepsGone: item.change.keepsGone) }
        room.noteRefusal(of: item.change.image?.sizeBytes ?? 0)
    }

    // MARK: Fetches of others

    /// Counts an image that another process fetched or revalidated meanwhile. It counts as fresh even if its response
    /// is stale already, because this sync sends no request for it.
    func take(_ job: FetchJob, _ flight: Int, byAnotherProcess outcome: FetchOutcome) async {
        let target = job.target
        tally.settle()
        if case .failed = outcome {
            count(outcome, of: target)
        } else {
            tally.update { report in
                report.answered += 1
                report.fresh += 1
            }
        }
        if case .ignored = outcome {
            tally.update { $0.ignored += 1 }
            tally.settle(contacts.fail(target.key, isIgnored: true))
        }
        if let file = target.entry?.file { room.protect(file.id) }
        promotion.add(target.key)
        linkAll(of: target)
        flights.finish(job.key, number: flight, with: .success(FetchJob.Fetched(outcome: outcome)))
        await promoteNow()
    }

    /// Counts an image that another task of this process fetched meanwhile, or failed to.
    func take(_ job: FetchJob, byAnotherTask result: Result<FetchOutcome, any Error>) async {
        let target = job.target
        switch result {
        case .success(let outcome):
            tally.settle()
            count(outcome, of: target)
            promotion.add(target.key)
            linkAll(of: target)
            await promoteNow()
        case .failure(let error):
            giveUp(target, error)
        }
    }

    /// Moves the collected images now rather than after the next commit: they are stored already.
    private func promoteNow() async {
        do {
            try await promotion.promoteWaiting()
        } catch {
            tally.fail(error)
        }
    }

    // MARK: No result

    /// Counts a fetch that ended without a result: it was cancelled, or the store failed.
    ///
    /// - Parameter counts: the requests and bytes by then.
    func giveUp(_ job: FetchJob, _ flight: Int, counts: Tally, error: any Error) {
        tally.count(requests: counts.requestCount, bytesReceived: counts.byteCount)
        giveUp(job.target, error)
        flights.finish(job.key, number: flight, with: .failure(error))
    }

    /// Ends a fetch whose image is requested later. Readers that wait for it fetch it themselves.
    func endFlight(of job: FetchJob, _ flight: Int) {
        flights.finish(job.key, number: flight, with: .failure(CancellationError()))
    }

    /// Ends a fetch whose host refused it for now. Readers that wait for it get the refusal; the sync asks again.
    func postpone(_ job: FetchJob, _ flight: Int, for result: FetchResult) {
        guard case .failed(let failure) = result.content else { return }
        flights.finish(job.key, number: flight, with: .success(FetchJob.Fetched(outcome: .failed(failure))))
    }

    /// Skips a target whose fetch ended without a result. An error that is not a cancellation ends the sync.
    private func giveUp(_ target: FetchTarget, _ error: any Error) {
        if !(error is CancellationError) { tally.fail(error) }
        skip(target, tally.report.ranOutOfTime ? .timeIsUp : .interrupted)
    }

    /// Counts an image as skipped, for a `reason`. Its contacts are still linked to the stored image.
    func skip(_ target: FetchTarget, _ reason: SkipReason) {
        tally.update { $0.skip(reason) }
        // If the sync ends early, the progress must not count the rest as done.
        if !tally.shouldStop { tally.settle() }
        linkIfStored(target)
    }

    /// Counts an image as over budget, without a request.
    func leaveOut(_ target: FetchTarget) {
        tally.update { $0.overBudget += 1 }
        tally.settle()
        linkIfStored(target)
    }

    // MARK: Counting

    /// Counts the outcome of a fetch. A failure does not count while all contacts have another candidate.
    private func count(_ outcome: FetchOutcome, of target: FetchTarget) {
        guard case .failed(let failure) = outcome else {
            tally.count(outcome, target.key)
            if case .ignored = outcome { tally.settle(contacts.fail(target.key, isIgnored: true)) }
            return
        }
        if contacts.takeLastResort(target.key) || !failure.isNone(for: target) {
            tally.count(failure, target.key, of: target.owners.first, at: contacts.takePlace(of: target.key))
        } else {
            tally.update { $0.answered += 1 }
        }
        if failure.hasNothing(for: target) { tally.settle(contacts.fail(target.key)) }
    }

    // MARK: Links

    /// Links all contacts of a target that got no request, if the index has an entry for it.
    private func linkIfStored(_ target: FetchTarget) {
        let others = finish(target.key)
        guard target.entry != nil else { return }
        for contact in target.owners + others { committer.link(target.key, contact, keepsGone: target.keepsGone) }
    }

    /// Links all contacts of an image that another process or task fetched.
    private func linkAll(of target: FetchTarget) {
        for contact in target.owners { committer.link(target.key, contact, keepsGone: target.keepsGone) }
        linkWaiting(for: target.key, keepsGone: target.keepsGone)
    }

    /// Links the contacts that share the image of `key`, now that the outcome is known.
    private func linkWaiting(for key: AvatarKey, keepsGone: Bool) {
        for contact in finish(key) { committer.link(key, contact, keepsGone: keepsGone) }
    }

    /// Ends the chains and the plan of `key`.
    ///
    /// - Returns: the contacts that share the image, apart from the first one.
    private func finish(_ key: AvatarKey) -> [String] {
        tally.settle(contacts.endChains(at: key))
        planning.settle(key)
        return contacts.takeWaiting(for: key)
    }
}
