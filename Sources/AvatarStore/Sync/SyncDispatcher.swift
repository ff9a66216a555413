import AvatarCore
import AvatarFiles

/// The requests of one sync: which one begins next, and over which connection.
///
/// Hosts take turns. A stored image is revalidated without a task of its own; anything else gets a task.
final class SyncDispatcher {
    /// A revalidation under way.
    private struct Revalidating {
        let revalidation: Revalidation
        let lease: FetchLease
    }

    private let store: AvatarStore
    private let fetcher: Fetcher
    private let leases: FetchLeases
    private let inbox: SyncInbox<SyncSignal>
    private let options: SyncOptions
    private let isConstrained: Bool

    private var queues: HostQueues<FetchTarget>
    private(set) var hosts: SyncHosts
    private var revalidating: [Int: Revalidating] = [:]
    /// Whether a request failed because there is no network.
    private(set) var isOffline = false

    /// The largest number of targets that wait in all.
    private static let mostWaiting = 20_000

    init(
        _ store: AvatarStore,
        _ fetcher: Fetcher,
        _ leases: FetchLeases,
        _ options: SyncOptions,
        isConstrained: Bool,
        hosts: SyncHosts,
        inbox: SyncInbox<SyncSignal>
    ) {
        self.store = store
        self.fetcher = fetcher
        self.leases = leases
        self.options = options
        self.isConstrained = isConstrained
        self.hosts = hosts
        self.inbox = inbox
        queues = HostQueues(perHost: options.connectionsPerHost)
    }

    // MARK: The queues

    /// Requests under way.
    var activeCount: Int { queues.activeCount }
    /// Targets that wait and could begin, were there a connection. A host with its share does not count.
    var readyCount: Int { queues.readyCount }
    var canQueueMore: Bool { queues.waitingCount < Self.mostWaiting }

    func add(_ target: FetchTarget) {
        if hosts.isOnProbation(target.host) { queues.setLimit(1, ofHost: target.host) }
        queues.add(target, host: target.host)
    }

    /// The target that would begin next; `nil` if all connections are in use, or nothing waits.
    var next: FetchTarget? {
        queues.activeCount < options.connections ? queues.first : nil
    }

    /// Takes out the next target without a request.
    func drop() {
        if let target = queues.next() { queues.finish(host: target.host) }
    }

    /// Takes out all targets that wait.
    func dropAll() -> [FetchTarget] {
        queues.removeAll()
    }

    /// Why `target` gets no request now; `nil` if it may get one.
    func reasonToSkip(_ target: FetchTarget) -> SkipReason? {
        isOffline ? .offline : hosts.reasonToSkip(target.host, at: store.clock.now())
    }

    /// Sends what waits to be sent together.
    func flush() {
        fetcher.batchOrigin?.flush()
    }

    // MARK: Requests

    /// Begins the next target.
    func startNext(_ group: inout DiscardingTaskGroup) {
        guard let target = queues.next() else { return }
        hosts.begin(target.host, at: store.clock.now())
        guard let flight = store.flights.begin(target.key) else { return join(target, &group) }
        guard !revalidate(target, flight) else { return }
        group.addTask { [store, fetcher, inbox, isConstrained] in
            inbox.put(await SyncDispatcher.fetch(target, flight, store, fetcher, isConstrained: isConstrained))
        }
    }

    /// Waits for a reader of this process that fetches the image. Should it be done by then, the image is fetched as this
    /// sync fetches.
    private func join(_ target: FetchTarget, _ group: inout DiscardingTaskGroup) {
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

    /// Fetches `target`, unless another process does: the task waits for that one, and holds up nothing else.
    private static func fetch(
        _ target: FetchTarget,
        _ flight: Int,
        _ store: AvatarStore,
        _ fetcher: Fetcher,
        isConstrained: Bool
    ) async -> SyncSignal {
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

    /// Begins to revalidate `target`, if that needs no wait.
    ///
    /// - Returns: whether it is under way; if not, a task has to fetch it.
    private func revalidate(_ target: FetchTarget, _ flight: Int) -> Bool {
        guard target.entry?.file != nil, !target.isUnconditional else { return false }
        do {
            guard let lease = try leases.take(target.key) else { return false }
            var target = target
            if let outcome = try store.catchUp(&target) {
                inbox.put(.caughtUp(target, flight: flight, outcome))
                return true
            }
            try target.consider(lowDataURL: target.lowDataURL, isConstrained: isConstrained)
            guard store.slots.takeAtOnce(target.host) else { return false }
            // The slot is given back with the response, if there is to be one.
            defer { if revalidating[flight] == nil { store.slots.giveBack(target.host) } }
            let begun = fetcher.begin(target) { [inbox] in inbox.put(.answered(flight: flight, $0)) }
            guard let begun else { return false }
            revalidating[flight] = Revalidating(revalidation: begun, lease: lease)
            return true
        } catch {
            // The task meets the same error, and reports it.
            return false
        }
    }

    /// Takes the head of a response to a revalidation. A body is received in a task.
    ///
    /// - Parameter isWanted: whether the sync goes on.
    func answered(
        _ flight: Int,
        _ arrival: Revalidation.Arrival,
        isWanted: Bool,
        _ group: inout DiscardingTaskGroup
    ) -> SyncSignal? {
        guard let (revalidation, lease) = revalidating.removeValue(forKey: flight).map({ ($0.revalidation, $0.lease) })
        else { return nil }
        let target = revalidation.target
        do {
            if let result = try fetcher.settle(revalidation, arrival, isWanted: isWanted) {
                store.slots.giveBack(target.host)
                return .fetched(target, flight: flight, lease, result)
            }
        } catch {
            store.slots.giveBack(target.host)
            return .gaveUp(target, flight: flight, revalidation.tally, error)
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
        return nil
    }

    /// Cancels what has no task that could be cancelled.
    func cancelRevalidations() {
        for item in revalidating.values { item.revalidation.cancel() }
    }

    // MARK: Responses

    /// Says that the request for `target` is over.
    func finish(_ target: FetchTarget) {
        queues.finish(host: target.host)
    }

    /// Records what `result` says of the host that was asked, and of the one that it redirected to.
    ///
    /// - Returns: whether the index must hear of it.
    func record(_ result: FetchResult, of target: FetchTarget) -> Bool {
        let host = result.redirectedHost ?? target.host
        let isNews = hosts.record(result.hostNote, of: host)
        if host != target.host {
            _ = hosts.record(HostNote(requested: result.began, answered: result.ended), of: target.host)
        }
        queues.setLimit(hosts.isOnProbation(target.host) ? 1 : nil, ofHost: target.host)
        return isNews
    }

    /// Stops all further requests: there is no network.
    ///
    /// - Returns: whether that is new.
    func goOffline() -> Bool {
        defer { isOffline = true }
        return !isOffline
    }
}
