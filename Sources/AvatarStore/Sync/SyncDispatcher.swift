import AvatarCore
import AvatarFiles
import AvatarFoundation

/// Sends the requests of one sync, in the order of the store's scheduler.
///
/// A request that can begin without waiting gets no task of its own, and neither does a small response.
final class SyncDispatcher {
    /// The engine that runs the fetches, and the inbox that receives their results.
    private let scope: SyncScope
    /// The health of the hosts, updated with each response.
    private var hosts: SyncHosts
    /// Hosts whose last refusal the index has recorded, so that the next answer is news.
    private var recorded: Set<String> = []
    /// The begin of the sync.
    private let origin = ContinuousClock.now
    /// The deadline that wakes the sync for the next spaced request: its number in `Deadlines.shared` and its time.
    private var alarm: (number: Int, time: ContinuousClock.Instant)?

    /// Fetches under way without a task, by their numbers in the flight table.
    private var begun: [Int: (job: FetchJob, exchange: FetchExchange)] = [:]
    /// Fetches of readers that the sync waits for.
    private var joinedCount = 0
    /// Whether a request failed because there is no network.
    private(set) var isOffline = false

    /// The maximum number of waiting targets.
    private static let mostWaiting = 20_000

    /// A dispatcher without a target.
    ///
    /// - Parameters:
    ///   - hosts: the health of the hosts when the sync begins.
    ///   - windows: what hosts bore in the last sync.
    init(_ scope: SyncScope, hosts: SyncHosts, windows: [String: HostWindow]) {
        (self.scope, self.hosts) = (scope, hosts)
        requests.beginSync(
            most: scope.connections,
            perHost: scope.options.connectionsPerHost,
            limits: scope.answers.map { [FetchTarget.answerHost: $0.width] } ?? [:],
            windows: windows,
            scatters: scope.answers != nil
        ) { [inbox] in inbox.ring() }
    }

    /// Runs the fetches.
    private var engine: FetchEngine { scope.engine }
    /// Receives the results of fetches.
    private var inbox: SyncInbox<SyncSignal> { scope.inbox }
    /// The requests of the store: planned targets wait there.
    private var requests: RequestQueue { engine.requests }

    /// Ends the sync, which has no request under way.
    func end() {
        requests.endSync()
    }

    // MARK: The queue

    /// Requests under way, and fetches of readers that the sync waits for.
    var activeCount: Int { joinedCount + requests.withScheduler { scheduler, _ in scheduler.syncActiveCount } }
    /// Waiting targets of hosts that have room and need not wait. Only the total holds them back.
    var readyCount: Int { requests.withScheduler { scheduler, _ in scheduler.readyCount } }
    /// Whether targets wait.
    var hasWaiting: Bool { requests.withScheduler { scheduler, _ in scheduler.waitingCount > 0 } }
    /// Whether targets wait while readers have requests under way. The end of one of them wakes the sync.
    var isWaitingForReaders: Bool {
        requests.withScheduler { scheduler, _ in
            scheduler.waitingCount > 0 && scheduler.activeCount > scheduler.syncActiveCount
        }
    }
    /// Whether fewer targets wait than the maximum.
    var canQueueMore: Bool { requests.withScheduler { scheduler, _ in scheduler.waitingCount } < Self.mostWaiting }

    /// Queues a target. A host on probation gets one request at a time.
    func add(_ target: FetchTarget) {
        var target = target
        target.namedOrigin = scope.source.named?.origin(of: target.requestKey)
        let isOnProbation = hosts.isOnProbation(target.host)
        let (added, host) = (target, target.host)
        requests.withScheduler { scheduler, _ in
            if isOnProbation { scheduler.setProbation(true, of: host) }
            scheduler.add(added, host, at: added.turn.yielded != nil ? .last : .scattered)
        }
    }

    /// Takes the next target, and the place for its request; `nil` if none may begin now. `start`, `giveBack` or `leave` must follow.
    func take() -> FetchTarget? {
        guard joinedCount < scope.connections else { return nil }
        return requests.withScheduler { scheduler, now in scheduler.take(at: now) }
    }

    /// Puts a target that was taken back at the front of its host's queue.
    func giveBack(_ target: FetchTarget) {
        requests.withScheduler { scheduler, _ in scheduler.giveBack(target, target.host) }
    }

    /// Gives the place of a target back that gets no request.
    func leave(_ target: FetchTarget) { end(target.host) }

    private func end(_ host: String) {
        requests.withScheduler { scheduler, _ in scheduler.syncEnded(host) }
    }

    /// Removes and returns all waiting targets.
    func dropAll() -> [FetchTarget] {
        requests.withScheduler { scheduler, _ in scheduler.removeAll() }
    }

    // MARK: Waiting for hosts

    /// Gives hosts their turns whose wait is over.
    func releaseDueHosts() {
        requests.withScheduler { scheduler, now in scheduler.release(at: now) }
    }

    /// Gives all hosts their turns: no more requests are sent, so none has to wait.
    func releaseAllHosts() {
        requests.withScheduler { scheduler, _ in scheduler.stopPacing() }
    }

    /// Sets the alarm that wakes the sync for the next request to a waiting host. Without one there is no alarm.
    func setAlarm() {
        let time = requests.withScheduler { scheduler, _ in scheduler.alarm }.map(requests.time)
        guard time != alarm?.time else { return }
        if let alarm { Deadlines.shared.remove(alarm.number) }
        alarm = time.map { time in (Deadlines.shared.add(time) { [inbox] in inbox.ring() }, time) }
    }

    /// Whether targets wait only for the next turn of their hosts, so that an alarm is set.
    var isWaitingForHosts: Bool { alarm != nil }

    /// Whether a spaced request follows so soon that a commit may wait for its response.
    var isSpacing: Bool {
        alarm.map { $0.time - .now < SyncCommitter.tick } ?? false
    }

    /// The reason why `target` gets no request now; `nil` if it may get one.
    func reasonToSkip(_ target: FetchTarget) -> SkipReason? {
        isOffline ? .offline : hosts.reasonToSkip(target.host, at: engine.clock.now())
    }

    /// The circumstances of the next plan, as the responses so far show them: hosts, network and time.
    var circumstances: SyncCircumstances {
        var circumstances = SyncCircumstances(hosts: hosts, now: engine.clock.now())
        circumstances.isOffline = isOffline
        return circumstances
    }

    /// Sends the requests that the client has gathered.
    func flush() {
        engine.fetcher.origin.flush()
    }

    // MARK: Requests

    /// Begins the request for a target that was taken. If a reader is fetching the image, waits for that fetch in a task.
    func start(_ target: FetchTarget, _ group: inout DiscardingTaskGroup) {
        guard let flight = engine.flights.begin(target.key) else { return join(target, &group) }
        var target = target
        let (host, before) = (target.host, target.turn)
        target.turn = requests.withScheduler { scheduler, now in scheduler.begin(host, at: now) }
        (target.turn.refusals, target.turn.yielded) = (before.refusals, before.yielded)
        if host != FetchTarget.answerHost { hosts.begin(host, at: engine.clock.now()) }
        let job = FetchJob(target, engine)
        guard !begin(job, flight) else { return }
        group.addTask { [inbox] in
            inbox.put(await SyncDispatcher.fetch(job, flight))
        }
    }

    /// Waits for the fetch of a reader of this process. If that has ended meanwhile, fetches the image in its place.
    private func join(_ target: FetchTarget, _ group: inout DiscardingTaskGroup) {
        // The reader's request has a place of its own.
        joinedCount += 1
        leave(target)
        let job = FetchJob(target, engine)
        group.addTask { [flights = engine.flights, inbox] in
            do {
                let fetched = try await flights.join(job.key) { try await job.run(.background) }
                inbox.put(.joined(job, .success(fetched.outcome)))
            } catch {
                inbox.put(.joined(job, .failure(error)))
            }
        }
    }

    /// Fetches the image. If another process is fetching it, only this task waits for that.
    private static func fetch(_ job: FetchJob, _ flight: Int) async -> SyncSignal {
        let tally = Tally()
        do {
            switch try await job.begin() {
            case .isDone(let job, let outcome): return .caughtUp(job, flight: flight, outcome)
            case .isReady(let job):
                guard let result = try await job.request(tally) else { return .deferred(job, flight: flight) }
                return .fetched(job, flight: flight, result)
            }
        } catch {
            return .gaveUp(job, flight: flight, tally, error)
        }
    }

    /// Begins to fetch or revalidate the image, if that is possible without waiting.
    ///
    /// - Returns: whether it has begun. If not, a task has to fetch the image.
    private func begin(_ unbegun: FetchJob, _ flight: Int) -> Bool {
        // The source of answers is asked by a task.
        if case .answer = unbegun.target.listed { return false }
        guard engine.answers?.serves(unbegun.target) != true else { return false }
        do {
            let job: FetchJob
            switch try unbegun.beginUnlessTaken() {
            case nil: return false
            case .isDone(let done, let outcome):
                inbox.put(.caughtUp(done, flight: flight, outcome))
                return true
            case .isReady(let ready): job = ready
            }
            // An interrupted download is found and resumed by a task.
            guard !job.target.isPartial else { return false }
            // The file was there when the target was planned. It is checked again when the response arrives.
            let stored = engine.fetcher.metadata(job.target)
            let exchange = engine.fetcher.begin(job.target, stored: stored, Tally()) { [inbox] in
                inbox.put(.arrived(flight: flight, $0))
            }
            begun[flight] = (job, exchange)
            return true
        } catch {
            // The task meets the same error, and reports it.
            return false
        }
    }

    /// Handles the response to a request without a task. A task receives what has not arrived with it.
    ///
    /// - Parameter isWanted: whether the sync goes on.
    /// - Returns: the signal to handle next; `nil` if a task sends it later.
    func arrived(
        _ flight: Int,
        _ arrival: FetchExchange.Arrival,
        isWanted: Bool,
        in group: inout DiscardingTaskGroup
    ) -> SyncSignal? {
        guard let (job, exchange) = begun.removeValue(forKey: flight) else { return nil }
        do {
            if let result = try engine.fetcher.settle(exchange, arrival, isWanted: isWanted) {
                return .fetched(job, flight: flight, result)
            }
        } catch {
            return .gaveUp(job, flight: flight, exchange.tally, error)
        }
        group.addTask { [engine, inbox] in
            do {
                let result = try await engine.fetcher.finish(exchange, arrival)
                inbox.put(.fetched(job, flight: flight, result))
            } catch {
                exchange.cancel()
                inbox.put(.gaveUp(job, flight: flight, exchange.tally, error))
            }
        }
        return nil
    }

    /// Cancels all requests without a task. No cancelled task cancels them.
    func cancelBegun() {
        for fetch in begun.values { fetch.exchange.cancel() }
    }

    // MARK: Responses

    /// Records that the request of `job` is over, which makes room for the next one.
    func finish(_ job: FetchJob) { end(job.target.turn.host) }

    /// Records that the fetch of a reader is over, which the sync has waited for.
    func finishJoined() { joinedCount -= 1 }

    /// Queues a target again whose image has to come from its origin, behind all others of its host.
    func putBack(_ target: FetchTarget) {
        var target = target
        target.see(.unknown)
        target.turn.yielded = target.turn.yielded ?? .now
        add(target)
    }

    /// The consequence of a response for its image.
    enum Decision {
        /// The response counts.
        case settle
        /// The response counts for the image. It says nothing about the host.
        case settleImage
        /// The host bears fewer requests (429 or 503). The image waits for another one. The note is for the index, if
        /// the host was slowed down.
        case askAgain(HostNote?, host: String)
    }

    /// Paces the host of `job` by its response, after `finish`.
    func pace(_ result: FetchResult, of job: FetchJob) -> Decision {
        let turn = job.target.turn
        let host = turn.host
        switch result.hostOutcome {
        case .answer:
            let (time, isMultiplexed) = (result.duration, result.isMultiplexed)
            let connections = result.connectionCount
            requests.withScheduler { scheduler, now in
                scheduler.answered(
                    turn,
                    took: time,
                    isMultiplexed: isMultiplexed,
                    connections: connections,
                    at: now
                )
            }
            return .settle
        case .trouble:
            requests.withScheduler { scheduler, now in scheduler.failed(turn, at: now) }
            return .settle
        case .none: return .settle
        case .refusal: break
        }
        let retryAfter = result.failure?.retryAfter.map { $0.duration(since: result.ended) }
        let longest = longestWait(for: host)
        var target = job.target
        target.turn.refusals += 1
        let again = target
        let (reaction, isSlower) = requests.withScheduler { scheduler, now in
            let refusal = scheduler.refused(turn, retryAfter: retryAfter, longest: longest, at: now)
            // Its next request shows whether the wait was long enough. An image that is refused again lets others go first.
            if refusal.reaction == .askAgain {
                scheduler.add(again, again.host, at: again.turn.refusals == 1 ? .first : .last)
            }
            return refusal
        }
        switch reaction {
        case .failHost: return .settle
        case .failImage: return .settleImage
        case .askAgain: break
        }
        if isSlower { recorded.insert(host) }
        return .askAgain(isSlower ? result.hostNote : nil, host: result.redirectedHost ?? host)
    }

    /// The longest wait for `host` that ends in time.
    private func longestWait(for host: String) -> Duration {
        let left = scope.options.timeLimit.map { $0 - (.now - origin) } ?? HostPace.longestWait
        let ofHost = hosts.timeLeft(for: host, at: engine.clock.now()) ?? HostPace.longestWait
        return min(HostPace.longestWait, left, ofHost)
    }

    /// The uses of at most `count` hosts, those with most requests first.
    func uses(most count: Int) -> [RequestScheduler<FetchTarget>.Use] {
        requests.withScheduler { scheduler, _ in scheduler.uses(most: count) }
    }

    /// The time that `host` was waited for until now, and its refusals, for the report; `nil` if it has no pace any more.
    func wait(for host: String) -> (time: Duration, refused: Int)? {
        requests.withScheduler { scheduler, now in scheduler.wait(for: host, at: now) }
    }

    /// Records the result for the health of the requested host, and of the host that it redirected to.
    ///
    /// - Returns: whether the health has changed, so that the index must record it too.
    func record(_ result: FetchResult, of job: FetchJob) -> Bool {
        guard let note = result.hostNote else { return false }
        let askedHost = job.target.host
        let host = result.redirectedHost ?? askedHost
        let wasRecorded = note.isAnswer && recorded.remove(host) != nil
        let isNews = hosts.record(note, of: host) || wasRecorded
        if host != askedHost {
            _ = hosts.record(HostNote(requested: result.began, answered: result.ended), of: askedHost)
        }
        let isOnProbation = hosts.isOnProbation(askedHost)
        requests.withScheduler { scheduler, _ in scheduler.setProbation(isOnProbation, of: askedHost) }
        return isNews
    }

    /// Stops all further requests, because there is no network.
    ///
    /// - Returns: whether this is the first time.
    func goOffline() -> Bool {
        defer { isOffline = true }
        releaseAllHosts()
        return !isOffline
    }
}
