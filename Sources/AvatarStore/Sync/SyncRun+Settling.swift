import AvatarCore
import AvatarFiles

/// What the committed changes add up to.
extension SyncRun {
    /// Counts what a commit made of one change, and tells who waited for it.
    func settle(_ item: Collected, _ committed: ChangeResult) {
        let key = item.change.key
        if item.change.image != nil, item.result == nil { return settle(photo: key, committed) }
        guard let result = item.result else { return }
        done += 1
        switch (result.content, committed) {
        case (.failed(let failure), _):
            settle(
                failure,
                key,
                of: item.change.owners.first,
                isNone: item.isNone,
                hasNothing: item.hasNothing
            )
        case (_, .overBudget(let error)):
            settleOverBudget(item, error)
        case (_, .superseded(let error)):
            count(FetchFailure(kind: .storage, message: error.message), key, of: item.change.owners.first)
        case (.notModified, _):
            report.answered += 1
            report.notModified += 1
            note(key, .notModified)
        case (.image, .stored(let file, let isChanged)):
            report.answered += 1
            report.fetched += 1
            if isChanged { report.changed += 1 }
            note(key, .stored(isChanged: isChanged))
            protect(file)
        case (.image, .recorded):
            report.answered += 1
            report.fetched += 1
            // Of an image that may not be stored only the link to its contacts is committed.
            if case .linked = item.change.content { report.unstored += 1 }
        }
        if options.storage == .documents { toPromote.append(key) }
        if let flight = item.flight { land(item, flight, result, committed) }
        linkLaterOwners(of: key, keepsGone: item.change.keepsGone)
    }

    /// Tells who waited for the fetch.
    private func land(_ item: Collected, _ flight: Int, _ result: FetchResult, _ committed: ChangeResult) {
        // An image that may not be stored, or whose entry was removed, is not in the store for them: they fetch it
        // themselves.
        var isStored = true
        if case .linked = item.change.content { isStored = false }
        if case (.image, .recorded) = (result.content, committed) { isStored = false }
        guard isStored else {
            return store.flights.finish(item.change.key, flight, .failure(CancellationError()))
        }
        store.flights.finish(item.change.key, flight, .success(store.outcome(result, committed)))
    }

    /// A wanted image's new file inherits its last access, so it is not the time that protects it.
    func protect(_ file: Int64) {
        settledFiles.insert(file)
        if case .files(var files) = rules.protection {
            // Let go first: a set that is held twice would be copied.
            rules.protection = .everything
            files.insert(file)
            rules.protection = .files(files)
        }
    }

    /// Counts an image that another process checked meanwhile, and tells who waited for it. It is fresh, although its
    /// answer may already be too old to be served again: this sync has nothing to add.
    func settle(_ target: FetchTarget, _ flight: Int, _ outcome: FetchOutcome) {
        done += 1
        switch outcome {
        case .failed(let failure): settle(failure, of: target)
        default:
            report.answered += 1
            report.fresh += 1
        }
        if let file = target.entry?.file { protect(file.id) }
        if options.storage == .documents { toPromote.append(target.key) }
        linkAllOwners(of: target)
        store.flights.finish(target.key, flight, .success(outcome))
    }

    /// Moves what was asked for as a document and is still in `caches`.
    func promoteConfirmed() async throws {
        let keys = toPromote
        toPromote = []
        for key in keys { try await promote(key) }
    }

    /// Counts an image that another task of this process fetched meanwhile.
    func count(_ target: FetchTarget, _ outcome: FetchOutcome) {
        done += 1
        if case .failed = outcome {} else { report.answered += 1 }
        switch outcome {
        case .stored(let isChanged):
            report.fetched += 1
            if isChanged { report.changed += 1 }
            note(target.key, .stored(isChanged: isChanged))
        case .notModified:
            report.notModified += 1
            note(target.key, .notModified)
        case .unstored:
            report.fetched += 1
            report.unstored += 1
        case .failed(let failure): settle(failure, of: target)
        case .overBudget: report.overBudget += 1
        }
        if options.storage == .documents { toPromote.append(target.key) }
        linkAllOwners(of: target)
    }

    private func settle(_ failure: FetchFailure, of target: FetchTarget) {
        let isNone = failure.isNone(for: target)
        let hasNothing = failure.hasNothing(for: target)
        settle(failure, target.key, of: target.owners.first, isNone: isNone, hasNothing: hasNothing)
    }

    private func linkAllOwners(of target: FetchTarget) {
        for contact in target.owners { collectLink(target.key, contact, keepsGone: target.keepsGone) }
        linkLaterOwners(of: target.key, keepsGone: target.keepsGone)
    }

    func count(_ failure: FetchFailure, _ key: AvatarKey, of contact: String?) {
        // The network is named once, and says nothing of any image.
        guard failure.kind != .offline else { return report.skip(.offline) }
        report.fail(failure.kind)
        note(key, .failed(failure.kind))
        add(failure, key, of: contact)
    }

    /// Reports why the image of `key` did not come.
    ///
    /// - Parameter listed: the contact that the list names with it; without one, the first that the index has.
    func add(_ failure: FetchFailure, _ key: AvatarKey, of listed: String?) {
        guard report.failures.count < SyncReport.largestFailureCount else { return }
        var contact = listed
        do {
            contact = try contact ?? store.index.contacts(using: key).first
        } catch {
            self.failure = self.failure ?? error
        }
        // A list of bare URLs names its contacts by them.
        if contact.flatMap(Self.key) == key { contact = nil }
        report.add(.init(key: key.rawValue, kind: failure.kind, message: failure.message, contact: contact))
    }

    private func settleOverBudget(_ item: Collected, _ error: AvatarStoreError) {
        report.answered += 1
        guard error.failure != .tooLarge else {
            let failure = FetchFailure(kind: .tooLarge, message: error.message)
            var change = item.change
            change.content = .failed(.tooLarge, checked: store.clock.now(), retryAfter: nil)
            collected.append(Collected(change: change))
            return count(failure, item.change.key, of: item.change.owners.first)
        }
        report.overBudget += 1
        note(item.change.key, .overBudget)
        // What is stored stays, and is theirs all the same.
        for contact in item.change.owners { collectLink(item.change.key, contact, keepsGone: item.change.keepsGone) }
        if (item.change.image?.sizeBytes ?? 0) <= 2 * typicalBytes { isRoomExhausted = true }
    }
}
