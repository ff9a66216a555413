import AvatarCore
import Synchronization

/// How urgently an image is wanted. Fetches get connections in this order, the most urgent first.
public enum FetchPriority: Int, Sendable, Comparable, CaseIterable {
    /// No user is waiting, as in a sync.
    case background
    /// A caller asked for the image. The default of a read.
    case normal
    /// A user is looking at the place where the image belongs.
    case high

    /// Whether `left` is less urgent than `right`.
    public static func < (left: FetchPriority, right: FetchPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// Connection slots: a total limit, a per-host limit, and the waiters.
///
/// Reads and syncs share the slots. The most urgent waiter goes first, then the one that waits longest. A host whose
/// slots are all in use delays only requests to itself.
final class FetchSlots: Sendable {
    /// One fetch that waits for a slot.
    fileprivate struct Waiter {
        /// Increases with each waiter, so it also orders them by arrival.
        let number: Int
        let host: String
        let key: AvatarKey
        /// The number of slots that the host may have in use when this waiter begins.
        let perHost: Int
        var priority: FetchPriority
        /// Resumed once: with a slot, or with `CancellationError`.
        let continuation: CheckedContinuation<Void, any Error>
    }

    fileprivate struct State {
        /// Slots in use. A host without one is not in `activeByHost`.
        var active = 0
        var activeByHost: [String: Int] = [:]
        /// Sorted: the most urgent first, and the longest waiting first among equals.
        var waiting: [Waiter] = []
        /// The last number given to a waiter or a wish.
        var lastNumber = 0
        /// The priority that each reader of a key wants, by the reader's wish number.
        var wishes: [AvatarKey: [Int: FetchPriority]] = [:]
        /// Waiters that were cancelled before they waited.
        var cancelled: Set<Int> = []
    }

    private let total: Int
    private let perHost: Int
    private let state = Mutex(State())

    /// Slots for at most `total` connections, and at most `perHost` to each host.
    init(total: Int, perHost: Int) {
        self.total = total
        self.perHost = perHost
    }

    /// The slots that `configuration` allows.
    convenience init(_ configuration: AvatarStore.Configuration) {
        self.init(total: configuration.connections, perHost: configuration.connectionsPerHost)
    }

    /// Runs `body` with a slot of `host`, as soon as one is free.
    ///
    /// - Parameters:
    ///   - key: the image that is fetched. A wish for it changes the place among the waiters.
    ///   - priority: the priority while no reader has a wish for `key`.
    ///   - limit: the number of connections that the host may have at once, if it is smaller than the usual one.
    /// - Throws: `CancellationError` if the task is cancelled before a slot is free; any error of `body`.
    func withSlot<Result>(
        _ host: String,
        for key: AvatarKey,
        _ priority: FetchPriority,
        limit: Int? = nil,
        body: () async throws -> Result
    ) async throws -> Result {
        try await take(host, for: key, priority: priority, limit: min(limit ?? perHost, perHost))
        defer { release(host) }
        return try await body()
    }

    /// Takes a slot of `host` if one is free and no fetch waits. The caller returns it with `giveBack`.
    func takeAtOnce(_ host: String) -> Bool {
        state.withLock { $0.beginAtOnce(host, total: total, perHost: perHost) }
    }

    /// Returns a slot that `takeAtOnce` took.
    func giveBack(_ host: String) {
        release(host)
    }

    /// Slots in use.
    var activeCount: Int { state.withLock { $0.active } }

    /// Fetches that wait for a slot.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Changes the priority of the fetches that wait for `key`.
    func setPriority(_ priority: FetchPriority, of key: AvatarKey) {
        state.withLock { $0.setPriority(priority, of: key) }
    }

    /// A number for the wish of a reader that waits for a fetch.
    func newWish() -> Int {
        state.withLock { $0.nextNumber() }
    }

    /// Sets the priority that a reader wants for the image of `key`; `nil` withdraws the wish. The most urgent wish
    /// counts, even for a fetch that begins later.
    ///
    /// - Parameter number: the reader's number, from `newWish`.
    func wish(_ number: Int, for key: AvatarKey, _ priority: FetchPriority?) {
        state.withLock { state in
            state.wishes[key, default: [:]][number] = priority
            guard let most = state.wish(for: key) else { return state.wishes[key] = nil }
            state.setPriority(most, of: key)
        }
    }

    /// The most urgent wish for `key`; `nil` without one.
    func wish(for key: AvatarKey) -> FetchPriority? {
        state.withLock { $0.wish(for: key) }
    }

    /// Waits for a slot of `host`.
    ///
    /// - Parameter limit: the number of slots that the host may have in use when this fetch begins.
    /// - Throws: `CancellationError` if the task is cancelled before a slot is free.
    private func take(_ host: String, for key: AvatarKey, priority: FetchPriority, limit: Int) async throws {
        let number = state.withLock { $0.nextNumber() }
        defer { forgetCancellation(of: number) }
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

    // Not inlined into an async function; see CONTRIBUTING.md, "Locks".
    @inline(never)
    private func forgetCancellation(of number: Int) {
        state.withLock { _ = $0.cancelled.remove(number) }
    }

    /// Frees a slot, and resumes the waiter that gets it.
    // Not inlined into an async function; see CONTRIBUTING.md, "Locks".
    @inline(never)
    private func release(_ host: String) {
        // One slot became free, so one waiter may begin. It may be of any host: the total limit may have held it back.
        state.withLock { $0.release(host, total) }?.continuation.resume()
    }
}

extension FetchSlots.State {
    /// The outcome of an attempt to begin.
    enum Beginning {
        case started, waiting, cancelled
    }

    /// The next number for a waiter or a wish. Both share one sequence.
    fileprivate mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// The most urgent wish for `key`; `nil` without one.
    fileprivate func wish(for key: AvatarKey) -> FetchPriority? {
        wishes[key]?.values.max()
    }

    /// Moves the waiters of `key` to their new places. They keep their order of arrival.
    fileprivate mutating func setPriority(_ priority: FetchPriority, of key: AvatarKey) {
        let concerned = waiting.filter { $0.key == key && $0.priority != priority }
        guard !concerned.isEmpty else { return }
        waiting.removeAll { $0.key == key && $0.priority != priority }
        for var waiter in concerned {
            waiter.priority = priority
            insert(waiter)
        }
    }

    /// Gives `waiter` a slot if one is free, else inserts it among the waiters.
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

    /// Inserts `waiter` behind the more urgent ones, and behind those that wait longer.
    fileprivate mutating func insert(_ waiter: FetchSlots.Waiter) {
        let place = waiting.firstIndex { ($0.priority, -$0.number) < (waiter.priority, -waiter.number) }
        waiting.insert(waiter, at: place ?? waiting.endIndex)
    }

    /// Removes the waiter. If it does not wait yet, its number is recorded so that it never begins.
    fileprivate mutating func cancel(_ number: Int) -> FetchSlots.Waiter? {
        guard let place = waiting.firstIndex(where: { $0.number == number }) else {
            cancelled.insert(number)
            return nil
        }
        return waiting.remove(at: place)
    }

    /// Frees a slot of `host`, and gives it to the first waiter that may begin now.
    ///
    /// - Parameter total: the limit over all hosts.
    fileprivate mutating func release(_ host: String, _ total: Int) -> FetchSlots.Waiter? {
        active -= 1
        activeByHost[host] = activeByHost[host].flatMap { $0 > 1 ? $0 - 1 : nil }
        guard let place = waiting.firstIndex(where: { isFree(for: $0, total) }) else { return nil }
        let waiter = waiting.remove(at: place)
        start(waiter.host)
        return waiter
    }

    /// Takes a slot without a waiter.
    ///
    /// - Returns: `false` if no slot is free, or a fetch waits, which goes first.
    fileprivate mutating func beginAtOnce(_ host: String, total: Int, perHost: Int) -> Bool {
        guard waiting.isEmpty, active < total, activeByHost[host, default: 0] < perHost else { return false }
        start(host)
        return true
    }

    private mutating func start(_ host: String) {
        active += 1
        activeByHost[host, default: 0] += 1
    }

    /// Whether both limits leave a slot for `waiter`.
    private func isFree(for waiter: FetchSlots.Waiter, _ total: Int) -> Bool {
        active < total && activeByHost[waiter.host, default: 0] < waiter.perHost
    }
}
