public import AvatarStore
import DequeModule
import Synchronization

/// Fetches images before somebody looks at them: with the lowest priority, so that whatever is asked for by others goes
/// first, and some of them at a time.
///
/// Asking for an image that is being prefetched joins that fetch and makes it as urgent as the request. An image that is
/// stored costs no request. When the prefetcher goes away, it ends.
public final class AvatarPrefetcher: Sendable {
    private let work: PrefetchWork

    /// A prefetcher.
    ///
    /// - Parameters:
    ///   - store: the store that gets the images.
    ///   - limit: how many are fetched at once. Default: 4.
    public init(store: AvatarStore, limit: Int = 4) {
        work = PrefetchWork(store: store, limit: max(1, limit))
    }

    deinit {
        work.cancelAll()
    }

    /// Fetches the images of `urls` in this order, after those it was given before. What is no URL, and what fails, is
    /// passed over: whoever asks for the image gets the error.
    public func prefetch(_ urls: [String]) {
        work.add(keys(urls))
    }

    /// Gives up what scrolled away. A fetch that somebody else waits for goes on.
    public func cancel(_ urls: [String]) {
        work.cancel(keys(urls))
    }

    /// Gives up all.
    public func cancelAll() {
        work.cancelAll()
    }

    /// How many are left.
    public var pendingCount: Int { work.pendingCount }

    /// Returns when nothing is left, or the task is cancelled.
    public func waitUntilDone() async {
        await work.waitUntilDone()
    }

    private func keys(_ urls: [String]) -> [AvatarKey] {
        urls.compactMap { url in
            do {
                return try AvatarKey(url: url)
            } catch {
                return nil
            }
        }
    }
}

/// The list of what is wanted, and the few tasks that work on it.
private final class PrefetchWork: Sendable {
    private struct State {
        /// In this order; what is not wanted any more is passed over.
        var waiting: Deque<AvatarKey> = []
        var wanted: Set<AvatarKey> = []
        var running: [AvatarKey: (number: Int, task: Task<Void, Never>)] = [:]
        /// Those that run, and those that were cancelled and are not over yet.
        var taskCount = 0
        var lastNumber = 0
        var listeners: [AsyncStream<Void>.Continuation] = []

        mutating func want(_ key: AvatarKey) {
            guard running[key] == nil, wanted.insert(key).inserted else { return }
            // So that giving up and beginning again cannot make it grow.
            if waiting.count > 2 * wanted.count + 64 {
                var seen = wanted
                seen.remove(key)
                waiting.removeAll { seen.remove($0) == nil }
            }
            waiting.append(key)
        }

        mutating func giveUp(_ key: AvatarKey) -> Task<Void, Never>? {
            wanted.remove(key)
            return running.removeValue(forKey: key)?.task
        }
    }

    private let store: AvatarStore
    private let limit: Int
    private let state = Mutex(State())

    init(store: AvatarStore, limit: Int) {
        self.store = store
        self.limit = limit
    }

    var pendingCount: Int { state.withLock { $0.wanted.count + $0.running.count } }

    func add(_ keys: [AvatarKey]) {
        state.withLock { state in
            for key in keys { state.want(key) }
            beginMore(&state)
        }
    }

    func cancel(_ keys: [AvatarKey]) {
        let tasks = state.withLock { state in keys.compactMap { state.giveUp($0) } }
        for task in tasks { task.cancel() }
    }

    func cancelAll() {
        let tasks = state.withLock { state in
            defer {
                state.waiting = []
                state.wanted = []
                state.running = [:]
            }
            return state.running.values.map(\.task)
        }
        for task in tasks { task.cancel() }
    }

    func waitUntilDone() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        state.withLock { $0.listeners.append(continuation) }
        tellIfDone()
        for await _ in stream {}
    }

    private func beginMore(_ state: inout State) {
        while state.taskCount < limit, let key = state.waiting.popFirst() {
            guard state.wanted.remove(key) != nil else { continue }
            state.taskCount += 1
            state.lastNumber += 1
            let number = state.lastNumber
            let task = Task {
                await self.fetch(key)
                self.ended(key, number)
            }
            state.running[key] = (number, task)
        }
    }

    private func fetch(_ key: AvatarKey) async {
        var options = FetchOptions()
        options.priority = .background
        do {
            _ = try await store.file(for: key, options: options)
        } catch {
            store.configuration.logger.debug("not prefetched", metadata: ["key": "\(key)", "error": "\(error)"])
        }
    }

    private func ended(_ key: AvatarKey, _ number: Int) {
        state.withLock { state in
            state.taskCount -= 1
            // If it was cancelled, another one may have begun since.
            if state.running[key]?.number == number { state.running[key] = nil }
            beginMore(&state)
        }
        tellIfDone()
    }

    private func tellIfDone() {
        let listeners = state.withLock { state -> [AsyncStream<Void>.Continuation] in
            guard state.wanted.isEmpty, state.taskCount == 0 else { return [] }
            defer { state.listeners = [] }
            return state.listeners
        }
        for listener in listeners { listener.finish() }
    }
}
