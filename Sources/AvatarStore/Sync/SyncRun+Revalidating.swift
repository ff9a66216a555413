import AvatarCore
import AvatarFiles

/// Images that are stored and only have to be confirmed: most of a sync. They are asked for without a task each.
extension SyncRun {
    /// One that is under way.
    struct Revalidating {
        let revalidation: Revalidation
        let lease: FetchLease
    }

    /// Begins to revalidate `target`, if that can be done without waiting for anybody.
    ///
    /// - Returns: whether it is under way; else a task has to fetch it.
    func revalidate(_ target: FetchTarget, _ flight: Int) -> Bool {
        guard target.entry?.file != nil, !target.isUnconditional else { return false }
        do {
            guard let lease = try writable.places.leases.take(target.key) else { return false }
            var target = target
            if let outcome = try store.catchUp(&target) {
                inbox.put(.caughtUp(target, flight: flight, outcome))
                return true
            }
            try target.consider(lowDataURL: target.lowDataURL, isConstrained: isConstrained)
            guard store.slots.takeAtOnce(target.host) else { return false }
            // Given back with the answer, if there is to be one.
            defer { if revalidating[flight] == nil { store.slots.giveBack(target.host) } }
            let begun = fetcher.begin(target) { [inbox] in inbox.put(.answered(flight: flight, $0)) }
            guard let begun else { return false }
            revalidating[flight] = Revalidating(revalidation: begun, lease: lease)
            return true
        } catch {
            // The task meets the same, and reports it.
            return false
        }
    }

    /// Takes note of the head of an answer, or goes on from it.
    func answered(_ flight: Int, _ arrival: Revalidation.Arrival, _ group: inout DiscardingTaskGroup) {
        guard let (revalidation, lease) = revalidating.removeValue(forKey: flight).map({ ($0.revalidation, $0.lease) })
        else { return }
        let target = revalidation.target
        do {
            if let result = try fetcher.settle(revalidation, arrival, isWanted: !isCutShort) {
                store.slots.giveBack(target.host)
                queues.finish(host: target.host)
                collect(target, flight, lease, result)
                return
            }
        } catch {
            store.slots.giveBack(target.host)
            return inbox.put(.gaveUp(target, flight: flight, revalidation.tally, error))
        }
        group.addTask { [fetcher, inbox, slots = store.slots] in
            defer { slots.giveBack(target.host) }
            do {
                let result = try await fetcher.finish(revalidation, arrival)
                inbox.put(.fetched(target, flight: flight, lease, result))
            } catch {
                revalidation.cancel()
                inbox.put(.gaveUp(target, flight: flight, revalidation.tally, error))
            }
        }
    }

    /// Whether nobody waits for what is under way.
    var isCutShort: Bool { Task.isCancelled || report.ranOutOfTime }

    /// Ends what has no task that could be cancelled.
    func endRevalidations() {
        for item in revalidating.values { item.revalidation.cancel() }
    }
}
