import AvatarCore
import AvatarFiles

/// What the committed changes add up to.
extension SyncRun {
    /// Counts what a commit made of one change, and tells who waited for it.
    func settle(_ item: Collected, _ committed: ChangeResult) {
        let key = item.change.key
        guard let result = item.result else { return }
        done += 1
        switch (result.content, committed) {
        case (.failed(let failure), _):
            count(failure, key)
        case (_, .overBudget(let error)):
            settleOverBudget(item, error)
        case (.notModified, _):
            report.notModified += 1
        case (.image, .stored(let isChanged)):
            report.fetched += 1
            if isChanged { report.changed += 1 }
        case (.image, .recorded):
            report.fetched += 1
        }
        if let flight = item.flight {
            store.flights.finish(key, flight, .success(store.outcome(result, committed)))
        }
        linkLaterOwners(of: key)
    }

    /// Counts an image that another task of this process fetched meanwhile.
    func count(_ target: FetchTarget, _ outcome: FetchOutcome?) {
        done += 1
        switch outcome {
        case nil: report.skipped += 1
        case .stored(let isChanged):
            report.fetched += 1
            if isChanged { report.changed += 1 }
        case .notModified: report.notModified += 1
        case .unstored: report.fetched += 1
        case .failed(let failure): count(failure, target.key)
        case .overBudget: report.overBudget += 1
        }
        for contact in target.owners { collectLink(target.key, contact) }
        linkLaterOwners(of: target.key)
    }

    private func count(_ failure: FetchFailure, _ key: AvatarKey) {
        // The network is named once, and says nothing of any image.
        guard failure.kind != .offline else { return report.skipped += 1 }
        report.failed += 1
        report.add(SyncReport.Failure(key: key.rawValue, kind: failure.kind, message: failure.message))
    }

    private func settleOverBudget(_ item: Collected, _ error: AvatarStoreError) {
        guard error.failure != .tooLarge else {
            let failure = FetchFailure(kind: .tooLarge, message: error.message)
            var change = item.change
            change.content = .failed(.tooLarge, checked: store.clock.now(), retryAfter: nil)
            collected.append(Collected(change: change))
            return count(failure, item.change.key)
        }
        report.overBudget += 1
        let size = item.change.image?.sizeBytes ?? 0
        do {
            if size <= 2 * (try typicalSize()) { isRoomExhausted = true }
        } catch {
            // An index that cannot be read ends the sync at its next commit.
            isRoomExhausted = true
        }
    }
}
