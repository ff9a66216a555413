import AvatarCore
import DequeModule

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
        /// Requests under way, of readers and of the sync.
        var active = 0
        /// The requests of the sync, the most that were under way at once, and the connections opened for them.
        var (requests, mostActive, connections) = (0, 0, 0)
        /// The sync's targets, in order of arrival.
        var waiting: Deque<Target> = []
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
        var hasRoom: Bool { !waiting.isEmpty && active < (isOnProbation ? 1 : limit ?? pace.limit) }
        var isIdle: Bool { waiting.isEmpty && active == 0 }
    }

    /// A reader that waits.
    private struct Reader {
        /// Increases with each reader, so it also orders them by arrival.
        let number: Int
        let host: Host
        let key: AvatarKey
        /// Whether the host may have no other request under way.
        let isProbe: Bool
        var priority: FetchPriority
    }

    /// The most requests of all hosts, and those of the sync.
    private let total: Int
    private var syncTotal = 0
    /// The most requests of a host; `nil` to find out what it bears.
    private let perHost: Int?
    private var syncPerHost: Int?
    /// The fixed limits of some hosts.
    private var limits: [String: Int] = [:]
    /// The windows that hosts had when an earlier process has asked them.
    private var windows: [String: Int] = [:]
    /// Whether the sync's targets of a host are taken in random order, within the next ones that wait.
    private var scatters = false
    private var hosts: [String: Host] = [:]
    /// The number of hosts at which idle ones are dropped. A list may name a million.
    private var mostHosts = usualHosts
    /// Hosts whose next target may begin, each once, in the order of their turns. One that may not, because of what happened
    /// meanwhile, is passed over.
    private var turns: Deque<Host> = []
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
            // Those that refused requests are named in the report.
            hosts = hosts.filter { !$0.value.isIdle || $0.value.pace.isSpaced || $0.value.pace.refusalCount > 0 }
            mostHosts = max(Self.usualHosts, 2 * hosts.count)
        }
        let window = windows[name]
        // No other host bears as many.
        let isMultiplexed = window ?? 0 > HostBounds.http1.most
        let host = Host(name, HostPace(bounds(isMultiplexed: isMultiplexed), window: window))
        host.isMultiplexed = isMultiplexed
        host.limit = limits[name]
        hosts[name] = host
        return host
    }

    private func bounds(isMultiplexed: Bool) -> HostBounds {
        HostBounds(isMultiplexed: isMultiplexed, perHost: syncPerHost ?? perHost)
    }

    /// Begins a request to `host`. `ended` ends it.
    private mutating func begin(_ host: Host, at now: Duration) -> HostTurn {
        activeCount += 1
        host.active += 1
        host.mostActive = max(host.mostActive, host.active)
        var turn = HostTurn()
        (turn.slowdowns, turn.began) = (host.pace.begin(active: host.active, at: now), now)
        return turn
    }

    private mutating func end(_ name: String) {
        activeCount -= 1
        guard let host = hosts[name] else { return }
        host.active -= 1
        offer(host)
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
        insert(Reader(number: number, host: host(name), key: key, isProbe: isProbe, priority: priority))
    }

    /// The next reader that may begin, which then has begun; `nil` if none may. `readerEnded` ends it.
    mutating func nextReader(at now: Duration) -> (number: Int, turn: HostTurn)? {
        guard activeCount < total else { return nil }
        guard let place = readers.firstIndex(where: { $0.host.active < ($0.isProbe ? 1 : $0.host.pace.limit) }) else {
            return nil
        }
        let reader = readers.remove(at: place)
        return (reader.number, begin(reader.host, at: now))
    }

    /// Removes a reader that waits.
    ///
    /// - Returns: whether it waited.
    mutating func cancel(_ number: Int) -> Bool {
        guard let place = readers.firstIndex(where: { $0.number == number }) else { return false }
        readers.remove(at: place)
        return true
    }

    /// Ends the request of a reader.
    mutating func readerEnded(_ host: String) { end(host) }

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

    /// Begins a sync. A store has one at a time. It keeps the windows of the hosts, and nothing of what they refused.
    ///
    /// - Parameters:
    ///   - most: the most requests of the sync at once.
    ///   - perHost: the most at once to one host; `nil` for the store's.
    ///   - limits: the hosts with a fixed limit in place of a window.
    ///   - windows: the windows that hosts had in an earlier process.
    ///   - scatters: whether to take the targets of a host in random order, so that machines with one list do not all ask for
    ///     the same image at the same moment. Default: no.
    mutating func beginSync(
        most: Int,
        perHost: Int?,
        limits: [String: Int] = [:],
        windows: [String: Int] = [:],
        scatters: Bool = false
    ) {
        (syncTotal, syncPerHost, self.limits, self.windows, self.scatters) = (most, perHost, limits, windows, scatters)
        for host in hosts.values {
            host.pace = host.pace.renewed(bounds(isMultiplexed: host.isMultiplexed))
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
        guard !host.hasTurn, !host.isHeld, host.hasRoom else { return }
        host.hasTurn = true
        turns.append(host)
    }

    /// The target that begins next; `nil` if none may begin now.
    mutating func first(at now: Duration) -> Target? {
        guard activeCount < total, syncActiveCount < syncTotal else { return nil }
        while let host = turns.first {
            if host.hasRoom, !host.isHeld {
                guard isPacing, host.pace.earliest > now else { return host.waiting.first }
                hold(host)
            }
            host.hasTurn = false
            turns.removeFirst()
        }
        return nil
    }

    /// Begins the request that `first` returned. `syncEnded` ends it.
    mutating func next(at now: Duration) -> (target: Target, turn: HostTurn)? {
        guard first(at: now) != nil, let host = turns.popFirst(), let target = host.waiting.popFirst() else {
            return nil
        }
        host.hasTurn = false
        waitingCount -= 1
        syncActiveCount += 1
        host.requests += 1
        let turn = begin(host, at: now)
        offer(host)
        return (target, turn)
    }

    /// Removes the target that `first` returned, without a request.
    mutating func drop(at now: Duration) {
        guard first(at: now) != nil, let host = turns.popFirst() else { return }
        host.hasTurn = false
        waitingCount -= 1
        _ = host.waiting.popFirst()
        offer(host)
    }

    /// Ends a request of the sync.
    mutating func syncEnded(_ host: String) {
        syncActiveCount -= 1
        end(host)
    }

    /// Removes and returns all targets of the sync. Its requests under way go on.
    mutating func removeAll() -> [Target] {
        let targets = hosts.values.flatMap(\.waiting)
        for host in hosts.values { (host.waiting, host.isHeld, host.hasTurn) = ([], false, false) }
        (turns, held) = ([], [:])
        waitingCount = 0
        return targets
    }

    /// Targets of hosts that have room and need not wait. Only the total holds them back.
    var readyCount: Int {
        turns.reduce(0) { $1.hasRoom && !$1.isHeld ? $0 + $1.waiting.count : $0 }
    }

    /// The use that the sync has made of a host.
    struct Use {
        let host: String
        let requests: Int
        let mostAtOnce: Int
        let connections: Int
        let isMultiplexed: Bool
        /// The requests at once that it bears now; `nil` if they are as many as at first.
        let window: Int?
    }

    /// The uses of at most `count` hosts, those with most requests first.
    func uses(most count: Int) -> [Use] {
        hosts.values.filter { $0.requests > 0 && $0.limit == nil }.sorted {
            ($1.requests, $0.name) < ($0.requests, $1.name)
        }
        .prefix(count).map { host in
            Use(
                host: host.name,
                requests: host.requests,
                mostAtOnce: host.mostActive,
                connections: host.connections,
                isMultiplexed: host.isMultiplexed,
                window: host.pace.limit == bounds(isMultiplexed: host.isMultiplexed).first ? nil : host.pace.limit
            )
        }
    }

    // MARK: Answers of requests that have ended

    /// The host has answered a request.
    ///
    /// - Parameter connections: the connections that were opened for it.
    mutating func answered(
        _ name: String,
        _ turn: HostTurn,
        isMultiplexed: Bool?,
        connections: Int = 0,
        at now: Duration
    ) {
        guard let host = hosts[name] else { return }
        host.connections += connections
        if let isMultiplexed, isMultiplexed != host.isMultiplexed {
            host.isMultiplexed = isMultiplexed
            host.pace.adopt(bounds(isMultiplexed: isMultiplexed))
        }
        host.pace.answered(turn, at: now)
        offer(host)
    }

    /// A request got no answer: its connection was lost, its stream refused, or its time was over.
    mutating func failed(_ name: String, _ turn: HostTurn) {
        guard let host = hosts[name] else { return }
        host.pace.failed(turn, active: host.active + 1)
    }

    /// The host has refused a request of the sync, as `HostPace.refused`.
    mutating func refused(
        _ name: String,
        _ turn: HostTurn,
        retryAfter: Duration?,
        longest: Duration,
        at now: Duration
    ) -> (reaction: HostPace.Reaction, isSlower: Bool) {
        let host = host(name)
        let waited = host.pace.waited
        let reaction = host.pace.refused(
            turn,
            retryAfter: retryAfter,
            longest: longest,
            active: host.active + 1,
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
        held.values.lazy.filter(\.hasRoom).map(\.pace.earliest).min()
    }
}
