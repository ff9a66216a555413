import AvatarCore
import AvatarFoundation

/// Decides which request of a store begins next: one for reads, batches and the sync.
///
/// ```
///  readers, the most urgent first ──┐
///                                   ├─► room in all, and in the host's window? ─► begins ─► answered, refused, failed ─► ended
///  the sync, hosts take turns ──────┘        └─► paused by its pace: an alarm                    └─► the host's pace
/// ```
///
/// A reader goes before the sync, also before 100,000 images of it. A host that is slow, paused or at its limit delays only
/// itself. It is a state machine without I/O and without a clock: times are durations since the scheduler was made.
///
/// `Target` is what the sync requests. A reader is a number.
struct RequestScheduler<Target>: ~Copyable {
    /// A class, because a copy in the dictionary would be changed in three steps, each with a look-up.
    private final class Host {
        /// The host: its name and port.
        let name: String
        var pace: HostPace
        /// Requests under way, of readers and of the sync, and those of the sync.
        var (active, syncActive) = (0, 0)
        /// Readers that wait.
        var readers = 0
        /// The requests of the sync, the most that were under way at once, and the connections opened for them.
        var (requests, mostActive, connections) = (0, 0, 0)
        /// The sync's targets, in order of arrival.
        var waiting: Queue<Target> = []
        /// Whether it answers over HTTP/2.
        var isMultiplexed = false
        /// A fixed limit, in place of the window; `nil`: it has a window.
        var limit: Int?
        /// Whether the host must answer one request before it gets more.
        var isOnProbation = false
        /// Whether the sync's next request must wait for its time.
        var isHeld = false
        /// Whether the host is in `turns`.
        var hasTurn = false

        init(_ name: String, _ pace: HostPace) {
            (self.name, self.pace) = (name, pace)
        }

        /// Whether the sync has a target that waits for nothing but its time and the total.
        func hasRoom(_ syncMost: Int) -> Bool {
            !waiting.isEmpty && active < (isOnProbation ? 1 : limit ?? pace.limit) && syncActive < (limit ?? syncMost)
        }
        /// Whether nothing is lost with it. Those that refused requests, and those with most requests, are named in the report.
        var isIdle: Bool {
            waiting.isEmpty && active == 0 && readers == 0 && pace.isUsual && requests < 32
        }
    }

    /// A reader that waits.
    private struct Reader {
        /// Increases with each reader, so it also orders them by arrival.
        let number: Int
        let host: Host
        let key: AvatarKey
        /// Whether the host may have no other request under way.
        var isProbe: Bool
        var priority: FetchPriority
    }

    /// The most requests of all hosts, and those of the sync.
    private let total: Int
    private var syncTotal = 0
    /// The most requests of a host; `nil` to find out what it bears.
    private let perHost: Int?
    private var syncPerHost = Int.max
    /// The fixed limits of some hosts.
    private var limits: [String: Int] = [:]
    /// The requests at once that hosts bore in an earlier sync.
    private var windows: [String: HostWindow] = [:]
    /// Whether the sync's targets of a host are taken in random order, within the next ones that wait.
    private var scatters = false
    private var hosts: [String: Host] = [:]
    /// The number of hosts at which idle ones are dropped. A list may name a million.
    private var mostHosts = usualHosts
    /// Hosts whose next target may begin, each once, in the order of their turns. One that may not, because of what happened
    /// meanwhile, is passed over.
    private var turns: Queue<Host> = []
    /// Hosts whose next request must wait for its time.
    private var held: [String: Host] = [:]
    /// Whether a request must wait for its time.
    private var isPacing = true
    /// Sorted: the most urgent first, and the longest waiting first among equals.
    private var readers: [Reader] = []
    private var lastNumber = 0
    /// The priority that each reader of a key wants, by the reader's wish number.
    private var wishes: [AvatarKey: [Int: FetchPriority]] = [:]

    /// Requests under way.
    private(set) var activeCount = 0
    /// Those of the sync.
    private(set) var syncActiveCount = 0
    /// The sync's targets that wait.
    private(set) var waitingCount = 0
    /// Readers that wait.
    var readerCount: Int { readers.count }

    private static var usualHosts: Int { 4096 }
    /// The number of waiting targets among which one is taken at random.
    private static var scatterWidth: Int { 1024 }

    /// A scheduler without a request.
    ///
    /// - Parameters:
    ///   - total: the most requests at once.
    ///   - perHost: the most requests at once to one host; `nil` to find out what a host bears.
    init(total: Int, perHost: Int?) {
        (self.total, self.perHost) = (total, perHost)
    }

    /// The host of this name, which is made if necessary.
    private mutating func host(_ name: String) -> Host {
        if let host = hosts[name] { return host }
        if hosts.count >= mostHosts {
            hosts = hosts.filter { !$0.value.isIdle }
            mostHosts = max(Self.usualHosts, 2 * hosts.count)
        }
        let kept = windows[name]
        let host = Host(name, HostPace(bounds(isMultiplexed: kept?.isMultiplexed ?? false), window: kept?.count))
        host.isMultiplexed = kept?.isMultiplexed ?? false
        host.limit = limits[name]
        hosts[name] = host
        return host
    }

    private func bounds(isMultiplexed: Bool) -> HostBounds {
        HostBounds(isMultiplexed: isMultiplexed, perHost: perHost)
    }

    /// Takes a place of `host`. `leave` gives it back.
    private mutating func enter(_ host: Host) {
        activeCount += 1
        host.active += 1
    }

    private mutating func leave(_ host: Host) {
        activeCount -= 1
        host.active -= 1
        offer(host)
    }

    /// Begins a request to `host`, in a place that was taken.
    private func begin(_ host: Host, at now: Duration) -> HostTurn {
        host.mostActive = max(host.mostActive, host.active)
        var turn = HostTurn()
        (turn.host, turn.slowdowns) = (host.name, host.pace.begin(active: host.active, at: now))
        (turn.began, turn.active, turn.isMultiplexed) = (now, host.active, host.isMultiplexed)
        return turn
    }

    // MARK: Readers

    /// A number for a reader, or for its wish.
    mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Adds the reader `number`, who wants the image of `key` from `host`.
    ///
    /// - Parameters:
    ///   - priority: its priority while no reader has a wish for `key`.
    ///   - isProbe: whether the host may have no other request under way when it begins.
    mutating func ask(_ number: Int, _ name: String, for key: AvatarKey, _ priority: FetchPriority, isProbe: Bool) {
        let priority = wish(for: key) ?? priority
        let host = host(name)
        host.readers += 1
        insert(Reader(number: number, host: host, key: key, isProbe: isProbe, priority: priority))
    }

    /// The next reader that may begin, which then has begun; `nil` if none may. `readerEnded` ends it.
    mutating func nextReader(at now: Duration) -> (number: Int, turn: HostTurn)? {
        guard activeCount < total else { return nil }
        guard let place = readers.firstIndex(where: { $0.host.active < ($0.isProbe ? 1 : $0.host.pace.limit) }) else {
            return nil
        }
        let reader = readers.remove(at: place)
        reader.host.readers -= 1
        enter(reader.host)
        return (reader.number, begin(reader.host, at: now))
    }

    /// Removes a reader that waits.
    ///
    /// - Returns: whether it waited.
    mutating func cancel(_ number: Int) -> Bool {
        guard let place = readers.firstIndex(where: { $0.number == number }) else { return false }
        readers.remove(at: place).host.readers -= 1
        return true
    }

    /// Ends the request of a reader.
    mutating func readerEnded(_ turn: HostTurn) {
        // A host with a request under way stays.
        if let host = hosts[turn.host] { leave(host) }
    }

    /// Inserts `reader` behind the more urgent ones, and behind those that wait longer.
    private mutating func insert(_ reader: Reader) {
        let place = readers.firstIndex { ($0.priority, -$0.number) < (reader.priority, -reader.number) }
        readers.insert(reader, at: place ?? readers.endIndex)
    }

    /// Changes the priority of the readers that wait for `key`. They keep their order of arrival.
    private mutating func setPriority(_ priority: FetchPriority, of key: AvatarKey) {
        let concerned = readers.filter { $0.key == key && $0.priority != priority }
        guard !concerned.isEmpty else { return }
        readers.removeAll { $0.key == key && $0.priority != priority }
        for var reader in concerned {
            reader.priority = priority
            insert(reader)
        }
    }

    /// Sets the priority that a reader wants for the image of `key`; `nil` withdraws the wish. The most urgent wish counts, even
    /// for a fetch that begins later.
    mutating func wish(_ number: Int, for key: AvatarKey, _ priority: FetchPriority?) {
        wishes[key, default: [:]][number] = priority
        guard let most = wish(for: key) else { return wishes[key] = nil }
        setPriority(most, of: key)
    }

    /// The most urgent wish for `key`; `nil` without one.
    func wish(for key: AvatarKey) -> FetchPriority? {
        wishes[key]?.values.max()
    }

    // MARK: The sync

    /// Begins a sync, after the one before has ended. It keeps the windows of the hosts, and nothing of what they refused.
    ///
    /// - Parameters:
    ///   - most: the most requests of the sync at once.
    ///   - perHost: the most at once to one host; `nil` for as many as the store sends.
    ///   - limits: the hosts with a fixed limit in place of a window.
    ///   - windows: the requests at once that hosts bore in an earlier sync.
    ///   - scatters: whether to take the targets of a host in random order, so that machines with one list do not all ask for
    ///     the same image at the same moment. Default: no.
    mutating func beginSync(
        most: Int,
        perHost: Int?,
        limits: [String: Int] = [:],
        windows: [String: HostWindow] = [:],
        scatters: Bool = false
    ) {
        (syncTotal, syncPerHost) = (most, perHost ?? .max)
        (self.limits, self.windows, self.scatters) = (limits, windows, scatters)
        for host in hosts.values {
            if host.requests == 0, let kept = windows[host.name] {
                // Only readers have asked it in this process.
                host.isMultiplexed = kept.isMultiplexed
                host.pace = HostPace(bounds(isMultiplexed: kept.isMultiplexed), window: kept.count)
            } else {
                host.pace = host.pace.renewed(bounds(isMultiplexed: host.isMultiplexed))
            }
            host.limit = limits[host.name]
            (host.isOnProbation, host.isHeld) = (false, false)
            (host.requests, host.mostActive, host.connections) = (0, host.active, 0)
        }
        (turns, held, isPacing) = ([], [:], true)
    }

    /// A place in the queue of a host.
    enum Place {
        case first, last
        /// The last place, or a random one among the last ones.
        case scattered
    }

    /// Adds a target of the sync to the queue of its host.
    mutating func add(_ target: Target, _ name: String, at place: Place = .scattered) {
        let host = host(name)
        waitingCount += 1
        if case .first = place { host.waiting.prepend(target) } else { host.waiting.append(target) }
        if scatters, case .scattered = place {
            let count = host.waiting.count
            host.waiting.swapAt(.random(in: max(0, count - Self.scatterWidth)..<count), count - 1)
        }
        offer(host)
    }

    /// Says whether `name` must answer one request before it gets more.
    mutating func setProbation(_ isOnProbation: Bool, of name: String) {
        guard let host = isOnProbation ? host(name) : hosts[name] else { return }
        host.isOnProbation = isOnProbation
        offer(host)
    }

    /// Gives `host` a turn, if it has a target that may begin.
    private mutating func offer(_ host: Host) {
        guard !host.hasTurn, !host.isHeld, host.hasRoom(syncPerHost) else { return }
        host.hasTurn = true
        turns.append(host)
    }

    /// Takes the next target, and a place for its request; `nil` if none may begin now. `begin` begins the request, or `giveBack`
    /// takes the target back, and `syncEnded` gives the place back.
    mutating func take(at now: Duration) -> Target? {
        guard activeCount < total, syncActiveCount < syncTotal else { return nil }
        while let host = turns.popFirst() {
            host.hasTurn = false
            guard host.hasRoom(syncPerHost), !host.isHeld else { continue }
            guard !isPacing || host.pace.earliest <= now else {
                hold(host)
                continue
            }
            guard let target = host.waiting.popFirst() else { continue }
            waitingCount -= 1
            syncActiveCount += 1
            host.syncActive += 1
            enter(host)
            offer(host)
            return target
        }
        return nil
    }

    /// Begins the request of a target that was taken.
    mutating func begin(_ name: String, at now: Duration) -> HostTurn {
        let host = host(name)
        host.requests += 1
        return begin(host, at: now)
    }

    /// Puts a target that was taken back at the front of its host's queue.
    mutating func giveBack(_ target: Target, _ name: String) {
        syncEnded(name)
        add(target, name, at: .first)
    }

    /// Ends a request of the sync, or gives the place of a target back that gets none.
    mutating func syncEnded(_ name: String) {
        // A host with a request under way stays.
        guard let host = hosts[name] else { return }
        syncActiveCount -= 1
        host.syncActive -= 1
        leave(host)
    }

    /// Removes and returns all targets of the sync. Its requests under way go on.
    mutating func removeAll() -> [Target] {
        let targets = hosts.values.flatMap(\.waiting)
        for host in hosts.values { (host.waiting, host.isHeld, host.hasTurn) = ([], false, false) }
        (turns, held) = ([], [:])
        waitingCount = 0
        return targets
    }

    /// Targets of hosts that had room when they got their turns. Only the total holds them back.
    var readyCount: Int {
        if turns.count >= waitingCount { return waitingCount }
        return turns.reduce(0) { $1.isHeld ? $0 : $0 + $1.waiting.count }
    }

    /// The use that the sync has made of a host.
    struct Use: CustomStringConvertible {
        let host: String
        let requests: Int
        let mostAtOnce: Int
        let connections: Int
        let isMultiplexed: Bool
        /// The requests at once that it bears now; `nil` if they are as many as of any host at first.
        let window: HostWindow?

        /// A sentence for a log.
        var description: String {
            let way = "\(isMultiplexed ? "HTTP/2" : "HTTP/1.1"), connections opened: \(connections)"
            let bears = window.map { "; it bears \($0.count) at a time" } ?? ""
            return "\(host) had at most \(mostAtOnce) of \(requests) requests at once over \(way)\(bears)"
        }
    }

    /// The uses of at most `count` hosts, those with most requests first.
    func uses(most count: Int) -> [Use] {
        let asked = hosts.values.filter { $0.requests > 0 && $0.limit == nil }
        let first = asked.sorted { ($1.requests, $0.name) < ($0.requests, $1.name) }.prefix(count)
        return first.map { host in
            let isUsual = !host.isMultiplexed && host.pace.limit == HostBounds.http1.first
            return Use(
                host: host.name,
                requests: host.requests,
                mostAtOnce: host.mostActive,
                connections: host.connections,
                isMultiplexed: host.isMultiplexed,
                window: isUsual ? nil : HostWindow(count: host.pace.limit, isMultiplexed: host.isMultiplexed)
            )
        }
    }

    // MARK: Answers of requests that have ended

    /// The host has answered a request.
    ///
    /// - Parameters:
    ///   - time: the time from the request to the end of the response.
    ///   - isMultiplexed: whether it came over HTTP/2; `nil` if that is not known.
    ///   - connections: the connections that were opened for it.
    mutating func answered(
        _ turn: HostTurn,
        took time: Duration,
        isMultiplexed: Bool?,
        connections: Int = 0,
        at now: Duration
    ) {
        guard let host = hosts[turn.host] else { return }
        host.connections += connections
        if let isMultiplexed, isMultiplexed != host.isMultiplexed {
            host.isMultiplexed = isMultiplexed
            host.pace.adopt(bounds(isMultiplexed: isMultiplexed))
        }
        host.pace.answered(turn, took: time, at: now)
        offer(host)
        // A host that answers needs no probe.
        guard host.readers > 0 else { return }
        for place in readers.indices where readers[place].host === host { readers[place].isProbe = false }
    }

    /// A request got no answer: its connection was lost, its stream refused, or its time was over.
    mutating func failed(_ turn: HostTurn, at now: Duration) {
        guard let host = hosts[turn.host] else { return }
        host.pace.failed(turn, active: max(turn.active, host.active + 1), at: now)
    }

    /// The host has refused a request of the sync, as `HostPace.refused`.
    mutating func refused(
        _ turn: HostTurn,
        retryAfter: Duration?,
        longest: Duration,
        at now: Duration
    ) -> (reaction: HostPace.Reaction, isSlower: Bool) {
        let host = host(turn.host)
        let waited = host.pace.waited
        let reaction = host.pace.refused(
            turn,
            retryAfter: retryAfter,
            longest: longest,
            active: max(turn.active, host.active + 1),
            at: now
        )
        return (reaction, host.pace.waited != waited)
    }

    /// The time that the sync has waited for `host` until now, and the requests that it refused, for the report.
    func wait(for host: String, at now: Duration) -> (time: Duration, refused: Int)? {
        hosts[host].map { ($0.pace.waited(at: now), $0.pace.refusalCount) }
    }

    // MARK: Waiting for hosts

    private mutating func hold(_ host: Host) {
        host.isHeld = true
        held[host.name] = host
    }

    /// Gives all hosts their turns until the end of the sync: no more requests are sent, so that none has to wait.
    mutating func stopPacing() {
        isPacing = false
        release(at: .zero)
    }

    /// Gives hosts their turns whose wait is over.
    mutating func release(at now: Duration) {
        for host in held.values where !isPacing || host.pace.earliest <= now {
            held[host.name] = nil
            host.isHeld = false
            offer(host)
        }
    }

    /// The time of the next request to a host that must wait for it; `nil` without such a host.
    var alarm: Duration? {
        let most = syncPerHost
        return held.values.lazy.filter { $0.hasRoom(most) }.map(\.pace.earliest).min()
    }
}
