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

    /// A prefetcher for `store`.
    ///
    /// - Parameter limit: how many are fetched at once. Default: 4.
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
        var waiting: Deque<AvatarKey> = []
        var wanted: Set<AvatarKey> = []
        var running: [AvatarKey: Task<Void, Never>] = [:]
        var listeners: [AsyncStream<Void>.Continuation] = []
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
            for key in keys where state.running[key] == nil && state.wanted.insert(key).inserted {
                state.waiting.append(key)
            }
            beginMore(&state)
        }
    }

    func cancel(_ keys: [AvatarKey]) {
        let tasks = state.withLock { state in
            // Its place in the line stays, and is passed over.
            for key in keys { state.wanted.remove(key) }
            return keys.compactMap { state.running[$0] }
        }
        for task in tasks { task.cancel() }
    }

    func cancelAll() {
        let tasks = state.withLock { state in
            state.waiting = []
            state.wanted = []
            return Array(state.running.values)
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
        while state.running.count < limit, let key = state.waiting.popFirst() {
            guard state.wanted.remove(key) != nil else { continue }
            state.running[key] = Task {
                await self.fetch(key)
                self.ended(key)
            }
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

    private func ended(_ key: AvatarKey) {
        state.withLock { state in
            state.running[key] = nil
            beginMore(&state)
        }
        tellIfDone()
    }

    private func tellIfDone() {
        let listeners = state.withLock { state -> [AsyncStream<Void>.Continuation] in
            guard state.wanted.isEmpty, state.running.isEmpty else { return [] }
            defer { state.listeners = [] }
            return state.listeners
        }
        for listener in listeners { listener.finish() }
    }
}
