import AvatarCore
import AvatarFiles

/// What came, one by one, until there is enough for a commit.
extension SyncRun {
    /// Takes note of what came.
    func handle(_ event: Event, _ group: inout DiscardingTaskGroup) async {
        switch event {
        case .fetched(let target, let flight, let lease, let result):
            queues.finish(host: target.host)
            collect(target, flight, lease, result)
        case .answered(let flight, let arrival):
            answered(flight, arrival, &group)
        case .caughtUp(let target, let flight, let outcome):
            queues.finish(host: target.host)
            settle(target, flight, outcome)
            await promoteNow()
        case .gaveUp(let target, let flight, let tally, let error):
            queues.finish(host: target.host)
            report.requests += tally.requestCount
            report.bytesReceived += tally.byteCount
            if !(error is CancellationError) { failure = failure ?? error }
            skip(target, cutShort)
            store.flights.finish(target.key, flight, .failure(error))
        case .joined(let target, let result):
            queues.finish(host: target.host)
            do {
                count(target, try result.get())
                await promoteNow()
            } catch {
                if !(error is CancellationError) { failure = failure ?? error }
                skip(target, cutShort)
            }
        case .committed(let result):
            await committed(result, &group)
        case .timeIsUp:
            report.ranOutOfTime = true
            group.cancelAll()
        case .tick:
            isTicking = false
        }
    }

    /// Why an image that was asked for has no answer.
    private var cutShort: SkipReason { report.ranOutOfTime ? .timeIsUp : .interrupted }

    /// What is in the store already is not part of a batch that would be followed by it.
    private func promoteNow() async {
        do {
            try await promoteConfirmed()
        } catch {
            failure = failure ?? error
        }
    }

    /// Keeps what came of a fetch for the next commit.
    func collect(_ target: FetchTarget, _ flight: Int, _ lease: FetchLease?, _ result: FetchResult) {
        report.requests += result.requestCount
        report.bytesReceived += result.bytesReceived
        if case .failed(let failed) = result.content {
            if failed.kind == .offline { goOffline(failed) }
            if let error = failed.storeError { failure = failure ?? error }
        }
        do {
            var change = try store.arrival(result, target, limits)
            let host = result.redirectedHost ?? target.host
            if !hosts.record(result.hostNote, of: host) { change?.hostNote = nil }
            if host != target.host {
                _ = hosts.record(HostNote(requested: result.began, answered: result.ended), of: target.host)
            }
            queues.setLimit(hosts.isOnProbation(target.host) ? 1 : nil, ofHost: target.host)
            var owners = Change(key: target.key, owners: target.owners, content: .linked)
            owners.keepsGone = target.keepsGone
            if change == nil { discard(result) }
            collected.append(
                Collected(
                    change: change ?? owners,
                    result: result,
                    flight: flight,
                    lease: lease,
                    hasNothing: result.hasNothing(for: target),
                    isNone: result.isNone(for: target)
                )
            )
        } catch {
            failure = failure ?? error
            store.flights.finish(target.key, flight, .failure(error))
        }
    }

    private func goOffline(_ failed: FetchFailure) {
        guard !isOffline else { return }
        isOffline = true
        report.add(SyncReport.Failure(key: nil, kind: .offline, message: failed.message))
    }

    /// Throws away an image that will not be stored.
    func discard(_ result: FetchResult) {
        guard case .image(let image, _, _) = result.content else { return }
        fetcher.places.files(of: image.storageClass).discard(image)
    }
}
