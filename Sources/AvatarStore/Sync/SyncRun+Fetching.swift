import AvatarCore

/// Which image is asked for next, and by whom.
extension SyncRun {
    /// Begins as many fetches as there are connections for.
    func startFetches(_ group: inout DiscardingTaskGroup) {
        defer { fetcher.batchOrigin?.flush() }
        // Enough is collected for the next batches; the disk comes first.
        while queues.activeCount < options.connections, collected.count < 2 * options.batchSize,
            let target = queues.first
        {
            if let reason = isOffline ? .offline : hasSpentItsBytes ? .limit : reasonToSkip(target.host) {
                if let target = takeOut() {
                    // It was not asked for, so another may be.
                    startedFetches -= 1
                    skip(target, reason)
                }
                continue
            }
            if target.bringsCacheFile {
                if isRoomExhausted {
                    if let target = takeOut() { leaveOut(target) }
                    continue
                }
                // Near the limit the next commit says whether there is room for more, so nothing comes in vain.
                if expectedBytes + typicalBytes > limits.budget && outstandingCount > 0 { return }
            }
            if let target = queues.next() { startFetch(target, &group) }
        }
    }

    /// The next target, which will not be asked for.
    private func takeOut() -> FetchTarget? {
        guard let target = queues.next() else { return nil }
        queues.finish(host: target.host)
        return target
    }

    /// Counts an image that there is no room for.
    func leaveOut(_ target: FetchTarget) {
        report.overBudget += 1
        done += 1
        linkOwners(of: target)
    }

    /// Why `host` is not asked now; `nil` if it is.
    func reasonToSkip(_ host: String) -> SkipReason? {
        hosts.reasonToSkip(host, at: store.clock.now())
    }

    /// Whether as many bytes came as this sync may take.
    var hasSpentItsBytes: Bool { report.bytesReceived >= options.maximumBytes ?? .max }

    /// What was asked for and is not yet committed.
    private var outstandingCount: Int { queues.activeCount + collected.count + committing.count }

    /// The bytes that will count against the budget if everything outstanding has the typical size.
    private var expectedBytes: Int { accountedBytes + outstandingCount * typicalBytes }

    private func startFetch(_ target: FetchTarget, _ group: inout DiscardingTaskGroup) {
        hosts.begin(target.host, at: store.clock.now())
        guard let flight = store.flights.begin(target.key) else {
            // Somebody is reading this very image; what they get is what we want. Should they be done by then, it is
            // fetched as this sync fetches.
            let options = readOptions(for: target)
            group.addTask { [store, inbox] in
                do {
                    let outcome = try await store.flights.join(target.key) {
                        let source = target.sourceKey.rawValue
                        return try await store.fetchAndStore(target.key, from: source, options, seen: target.entry)
                    }
                    inbox.put(.joined(target, .success(outcome)))
                } catch {
                    inbox.put(.joined(target, .failure(error)))
                }
            }
            return
        }
        guard !revalidate(target, flight) else { return }
        group.addTask { [store, fetcher, inbox, isConstrained] in
            inbox.put(await SyncRun.fetch(target, flight, store, fetcher, isConstrained: isConstrained))
        }
    }

    private func readOptions(for target: FetchTarget) -> FetchOptions {
        var read = FetchOptions(policy: options.policy == .reload ? .reload : .revalidate, storage: options.storage)
        read.mode = options.mode
        read.priority = .background
        read.timeout = options.timeout
        read.lowDataURL = target.lowDataURL
        read.isConstrained = isConstrained
        read.budgetCeiling = options.budgetCeiling
        return read
    }

    /// Asks the origin for `target`, unless another process does so: that one is waited for, and nobody else by that.
    static func fetch(
        _ target: FetchTarget,
        _ flight: Int,
        _ store: AvatarStore,
        _ fetcher: Fetcher,
        isConstrained: Bool
    ) async -> Event {
        let tally = Tally()
        do {
            let lease = try await store.lease(of: target.key, within: fetcher.timeout)
            var target = target
            if let outcome = try store.catchUp(&target) { return .caughtUp(target, flight: flight, outcome) }
            try target.consider(lowDataURL: target.lowDataURL, isConstrained: isConstrained)
            let result = try await store.slots.withSlot(target.host, for: target.key, .background) {
                try await fetcher.fetch(target, tally)
            }
            return .fetched(target, flight: flight, lease, result)
        } catch {
            return .gaveUp(target, flight: flight, tally, error)
        }
    }
}
