import AvatarCore

/// What came, on its way into files and index: one batch at a time, while more is fetched.
extension SyncRun {
    func startCommit(_ group: inout DiscardingTaskGroup) {
        guard committing.isEmpty, !collected.isEmpty else { return }
        let isIdle = queues.activeCount == 0
        let isLate = ContinuousClock.now - lastCommit >= (isWaitingOnly ? Self.tick : Self.longestWait)
        guard collected.count >= options.batchSize || isIdle || isLate else { return }
        committing = Array(collected.prefix(options.batchSize))
        collected.removeFirst(committing.count)
        addKnownOwners()
        addCommit(&group)
    }

    /// Whether nothing can be begun: a batch will not fill up soon, and a commit holds nothing up.
    private var isWaitingOnly: Bool { isExhausted && queues.readyCount == 0 }

    /// All contacts of an image that were read by now are linked together with it, and told of in one change.
    private func addKnownOwners() {
        for place in committing.indices where committing[place].result != nil {
            let key = committing[place].change.key
            guard let contacts = laterOwners[key], !contacts.isEmpty else { continue }
            committing[place].change.owners += contacts
            laterOwners[key] = []
        }
    }

    func startTicking(_ group: inout DiscardingTaskGroup) {
        guard !isTicking, !shouldStop, !collected.isEmpty, queues.activeCount > 0 else { return }
        isTicking = true
        let inbox = inbox
        group.addTask {
            // Cancelled early, the tick comes early: the sync ends, and looks at what is collected all the same.
            try? await Task.sleep(for: SyncRun.tick)
            inbox.put(.tick)
        }
    }

    private func addCommit(_ group: inout DiscardingTaskGroup) {
        let (writer, inbox, rules, changes) = (writer, inbox, rules, committing.map(\.change))
        group.addTask {
            do {
                inbox.put(.committed(.success(try await writer.commit(changes, rules))))
            } catch {
                inbox.put(.committed(.failure(error)))
            }
        }
    }

    func committed(_ result: Result<CommitSummary, any Error>, _ group: inout DiscardingTaskGroup) async {
        do {
            let summary = try result.get()
            report.evicted += summary.evicted
            lastCommit = .now
            // Should this fail, those who wait for what was committed are told of that.
            try lookAtTotals()
            let items = committing
            committing = []
            for (item, result) in zip(items, summary.results) { settle(item, result) }
            try await promoteConfirmed()
            tellProgress()
        } catch is ProtectionNeeded {
            do {
                try await protectWantedFiles()
                addCommit(&group)
            } catch {
                abandonCommit(error)
            }
        } catch {
            abandonCommit(error)
        }
    }

    func lookAtTotals() throws {
        let total = try store.index.total(of: .caches)
        typicalBytes = max(1, total.bytes / max(1, total.files))
        accountedBytes = total.accountedBytes
    }

    private func abandonCommit(_ error: any Error) {
        failure = failure ?? error
        for item in committing {
            if let flight = item.flight { store.flights.finish(item.change.key, flight, .failure(error)) }
        }
        committing = []
        // With the index or the disk in trouble, nothing that is collected can be committed either.
        for item in collected {
            if let image = item.change.image { fetcher.places.files(of: image.storageClass).discard(image) }
            if let flight = item.flight { store.flights.finish(item.change.key, flight, .failure(error)) }
        }
        collected = []
    }
}
