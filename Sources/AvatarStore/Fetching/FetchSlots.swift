import AvatarCore
import Synchronization

/// The connections of a store: so many in all, so many a host, and who waits for one.
///
/// Reads and syncs share them. What is most urgent goes first, then who came first; a host that has its share makes
/// nobody wait but itself.
final class FetchSlots: Sendable {
    fileprivate struct Waiter {
        let number: Int
        let host: String
        let key: AvatarKey
        let perHost: Int
        var priority: FetchPriority
        let continuation: CheckedContinuation<Void, any Error>
    }

    fileprivate struct State {
        var active = 0
        var activeByHost: [String: Int] = [:]
        /// The most urgent first, and among those whoever came first.
        var waiting: [Waiter] = []
        var lastNumber = 0
        /// How urgently those who wait for the fetch of a key want it.
        var wishes: [AvatarKey: [Int: FetchPriority]] = [:]
        /// Waiters that were cancelled before they waited.
        var cancelled: Set<Int> = []
    }

    private let total: Int
    private let perHost: Int
    private let state = Mutex(State())

    init(total: Int, perHost: Int) {
        self.total = total
        self.perHost = perHost
    }

    convenience init(_ configuration: AvatarStore.Configuration) {
        self.init(total: configuration.connections, perHost: configuration.connectionsPerHost)
    }

    /// Runs `body` with a connection to `host`, as soon as there is one.
    ///
    /// - Parameter limit: fewer connections to the host than usual, if it is being tried.
    func withSlot<Result>(
        _ host: String,
        for key: AvatarKey,
        _ priority: FetchPriority,
        limit: Int? = nil,
        _ body: () async throws -> Result
    ) async throws -> Result {
        try await take(host, key, priority, min(limit ?? perHost, perHost))
        defer { release(host) }
        return try await body()
    }

    /// Takes a connection to `host` if one is free and nobody waits; `giveBack` ends that.
    func takeAtOnce(_ host: String) -> Bool {
        state.withLock { $0.beginAtOnce(host, total, perHost) }
    }

    /// Gives back what `takeAtOnce` took.
    func giveBack(_ host: String) {
        release(host)
    }

    /// Connections in use.
    var activeCount: Int { state.withLock { $0.active } }

    /// Who waits for one.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Lets whoever waits for `key` go sooner, or later.
    func setPriority(_ priority: FetchPriority, of key: AvatarKey) {
        state.withLock { $0.setPriority(priority, of: key) }
    }

    /// A number for the wish of one who waits for a fetch.
    func newWish() -> Int {
        state.withLock { $0.nextNumber() }
    }

    /// Notes that the one who has the wish `number` wants the image of `key` so urgently; with `nil`, no more. The most
    /// urgent wish counts, also for a fetch that begins later.
    func wish(_ number: Int, for key: AvatarKey, _ priority: FetchPriority?) {
        state.withLock { state in
            state.wishes[key, default: [:]][number] = priority
            guard let most = state.wish(for: key) else { return state.wishes[key] = nil }
            state.setPriority(most, of: key)
        }
    }

    /// The most urgent wish; `nil` if nobody waits.
    func wish(for key: AvatarKey) -> FetchPriority? {
        state.withLock { $0.wish(for: key) }
    }

    private func take(_ host: String, _ key: AvatarKey, _ priority: FetchPriority, _ limit: Int) async throws {
        let number = state.withLock { $0.nextNumber() }
        defer { state.withLock { _ = $0.cancelled.remove(number) } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let waiter = Waiter(
                    number: number,
                    host: host,
                    key: key,
                    perHost: limit,
                    priority: priority,
                    continuation: continuation
                )
                switch state.withLock({ $0.begin(waiter, total) }) {
                case .started: continuation.resume()
                case .cancelled: continuation.resume(throwing: CancellationError())
                case .waiting: break
                }
            }
        } onCancel: {
            let waiter = state.withLock { $0.cancel(number) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    private func release(_ host: String) {
        // One place came free, so one waiter may begin, of whichever host.
        state.withLock { $0.release(host, total) }?.continuation.resume()
    }
}

extension FetchSlots.State {
    enum Beginning {
        case started, waiting, cancelled
    }

    fileprivate mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    fileprivate func wish(for key: AvatarKey) -> FetchPriority? {
        wishes[key]?.values.max()
    }

    fileprivate mutating func setPriority(_ priority: FetchPriority, of key: AvatarKey) {
        let concerned = waiting.filter { $0.key == key && $0.priority != priority }
        guard !concerned.isEmpty else { return }
        waiting.removeAll { $0.key == key && $0.priority != priority }
        for var waiter in concerned {
            waiter.priority = priority
            insert(waiter)
        }
    }

    fileprivate mutating func begin(_ waiter: FetchSlots.Waiter, _ total: Int) -> Beginning {
        if cancelled.contains(waiter.number) { return .cancelled }
        var waiter = waiter
        waiter.priority = wish(for: waiter.key) ?? waiter.priority
        guard isFree(for: waiter, total) else {
            insert(waiter)
            return .waiting
        }
        start(waiter.host)
        return .started
    }

    fileprivate mutating func insert(_ waiter: FetchSlots.Waiter) {
        let place = waiting.firstIndex { ($0.priority, -$0.number) < (waiter.priority, -waiter.number) }
        waiting.insert(waiter, at: place ?? waiting.endIndex)
    }

    /// The waiter, if it still waits; else it is remembered that it need not begin.
    fileprivate mutating func cancel(_ number: Int) -> FetchSlots.Waiter? {
        guard let place = waiting.firstIndex(where: { $0.number == number }) else {
            cancelled.insert(number)
            return nil
        }
        return waiting.remove(at: place)
    }

    fileprivate mutating func release(_ host: String, _ total: Int) -> FetchSlots.Waiter? {
        active -= 1
        activeByHost[host] = activeByHost[host].flatMap { $0 > 1 ? $0 - 1 : nil }
        guard let place = waiting.firstIndex(where: { isFree(for: $0, total) }) else { return nil }
        let waiter = waiting.remove(at: place)
        start(waiter.host)
        return waiter
    }

    fileprivate mutating func beginAtOnce(_ host: String, _ total: Int, _ perHost: Int) -> Bool {
        guard waiting.isEmpty, active < total, activeByHost[host, default: 0] < perHost else { return false }
        start(host)
        return true
    }

    private mutating func start(_ host: String) {
        active += 1
        activeByHost[host, default: 0] += 1
    }

    private func isFree(for waiter: FetchSlots.Waiter, _ total: Int) -> Bool {
        active < total && activeByHost[waiter.host, default: 0] < waiter.perHost
    }
}
