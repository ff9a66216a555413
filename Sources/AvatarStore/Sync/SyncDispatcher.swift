import AvatarCore
import AvatarFiles

/// The requests of one sync: which one begins next, and over which connection.
///
/// Hosts take turns. A stored image is revalidated without a task of its own; anything else gets a task.
final class SyncDispatcher {
    private let engine: FetchEngine
    private let flights: FlightTable<FetchJob.Fetched>
    private let inbox: SyncInbox<SyncSignal>
    private let connections: Int

    private var queues: HostQueues<FetchTarget>
    private(set) var hosts: SyncHosts
    /// Revalidations under way, by the numbers of their flights.
    private var revalidating: [Int: (job: FetchJob, revalidation: Revalidation)] = [:]
    /// Whether a request failed because there is no network.
    private(set) var isOffline = false

    /// The largest number of targets that wait in all.
    private static let mostWaiting = 20_000

    init(
        _ engine: FetchEngine,
        flights: FlightTable<FetchJob.Fetched>,
        connections: Int,
        connectionsPerHost: Int,
        hosts: SyncHosts,
        inbox: SyncInbox<SyncSignal>
    ) {
        self.engine = engine
        self.flights = flights
        self.hosts = hosts
        self.inbox = inbox
        self.connections = connections
        queues = HostQueues(perHost: connectionsPerHost)
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
        queues.activeCount < connections ? queues.first : nil
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
        isOffline ? .offline : hosts.reasonToSkip(target.host, at: engine.clock.now())
    }

    /// Sends what waits to be sent together.
    func flush() {
        engine.fetcher.batchOrigin?.flush()
    }

    // MARK: Requests

    /// Begins the next target.
    func startNext(_ group: inout DiscardingTaskGroup) {
        guard let target = queues.next() else { return }
        hosts.begin(target.host, at: engine.clock.now())
        let job = FetchJob(target, engine)
        guard let flight = flights.begin(target.key) else { return join(job, &group) }
        guard !revalidate(job, flight) else { return }
        group.addTask { [inbox] in
            inbox.put(await SyncDispatcher.fetch(job, flight))
        }
    }

    /// Waits for a reader of this process that fetches the image. Should it be done by then, the image is fetched as this
    /// sync fetches.
    private func join(_ job: FetchJob, _ group: inout DiscardingTaskGroup) {
        group.addTask { [flights, inbox] in
            do {
                let fetched = try await flights.join(job.key) {
                    var job = job
                    return try await job.run(.background)
                }
                inbox.put(.joined(job, .success(fetched.outcome)))
            } catch {
                inbox.put(.joined(job, .failure(error)))
            }
        }
    }

    /// Fetches the image, unless another process does: the task waits for that one, and holds up nothing else.
    private static func fetch(_ job: FetchJob, _ flight: Int) async -> SyncSignal {
        let tally = Tally()
        var job = job
        do {
            if let outcome = try await job.begin() { return .caughtUp(job, flight: flight, outcome) }
            let result = try await job.request(.background, tally)
            return .fetched(job, flight: flight, result)
        } catch {
            return .gaveUp(job, flight: flight, tally, error)
        }
    }

    /// Begins to revalidate the image, if that needs no wait.
    ///
    /// - Returns: whether it is under way; if not, a task has to fetch it.
    private func revalidate(_ job: FetchJob, _ flight: Int) -> Bool {
        guard job.target.entry?.file != nil, !job.target.isUnconditional else { return false }
        var job = job
        do {
            switch try job.beginAtOnce() {
            case .mustWait: return false
            case .isDone(let outcome):
                inbox.put(.caughtUp(job, flight: flight, outcome))
                return true
            case .isReady: break
            }
            let host = job.target.host
            guard engine.slots.takeAtOnce(host) else { return false }
            // The slot is given back with the response, if there is to be one.
            defer { if revalidating[flight] == nil { engine.slots.giveBack(host) } }
            let begun = engine.fetcher.begin(job.target) { [inbox] in inbox.put(.answered(flight: flight, $0)) }
            guard let begun else { return false }
            revalidating[flight] = (job, begun)
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
        guard let (job, revalidation) = revalidating.removeValue(forKey: flight) else { return nil }
        let host = job.target.host
        do {
            if let result = try engine.fetcher.settle(revalidation, arrival, isWanted: isWanted) {
                engine.slots.giveBack(host)
                return .fetched(job, flight: flight, result)
            }
        } catch {
            engine.slots.giveBack(host)
            return .gaveUp(job, flight: flight, revalidation.tally, error)
        }
        group.addTask { [engine, inbox] in
            defer { engine.slots.giveBack(host) }
            do {
                let result = try await engine.fetcher.finish(revalidation, arrival)
                inbox.put(.fetched(job, flight: flight, result))
            } catch {
                revalidation.cancel()
                inbox.put(.gaveUp(job, flight: flight, revalidation.tally, error))
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
