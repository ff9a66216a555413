import AvatarFoundation
public import AvatarStore

/// Fetches images before they are shown, a few at a time and with the lowest priority, so every other read goes first.
///
/// A read of an image that is being prefetched joins that fetch and raises it to the priority of the read. An image
/// that is already stored costs no request. Releasing the prefetcher cancels its fetches.
public final class AvatarPrefetcher: Sendable {
    private let work: PrefetchWork

    /// A prefetcher into `store`.
    ///
    /// - Parameters:
    ///   - store: the store that keeps the images.
    ///   - limit: the maximum number of concurrent fetches, at least 1. Default: 4.
    ///   - rendition: the rendition to make of each image, so that a later read finds it. Default: `nil`, none.
    public init(store: AvatarStore, limit: Int = 4, rendition: Rendition? = nil) {
        work = PrefetchWork(store: store, limit: max(1, limit), rendition: rendition)
    }

    deinit {
        work.cancelAll()
    }

    /// Appends the images of `urls` to the queue, in this order. Images that are already queued keep their place.
    ///
    /// Invalid URLs and failed fetches are skipped; a later read of the image reports the error.
    public func prefetch(_ urls: [String]) {
        work.add(keys(urls))
    }

    /// Cancels the prefetch of `urls`, for example when their rows scroll away. A fetch with other readers continues.
    public func cancel(_ urls: [String]) {
        work.cancel(keys(urls))
    }

    /// Cancels all prefetches. A fetch with other readers continues.
    public func cancelAll() {
        work.cancelAll()
    }

    /// The number of images that are queued or being fetched.
    public var pendingCount: Int { work.pendingCount }

    /// Waits until the queue is empty and all fetches have ended. Returns early if the calling task is cancelled.
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

/// The queue of wanted images and the tasks that fetch them.
private final class PrefetchWork: Sendable {
    private struct State {
        /// The queue in order. Keys that are not in `wanted` any more are skipped when their turn comes.
        var waiting: Queue<AvatarKey> = []
        /// The queued keys that are not cancelled.
        var wanted: Set<AvatarKey> = []
        /// The current fetches. The number tells a fetch from an earlier, cancelled one of the same key.
        var running: [AvatarKey: (number: Int, task: Task<Void, Never>)] = [:]
        /// The tasks that have not ended yet, including cancelled ones.
        var taskCount = 0
        var lastNumber = 0
        /// The callers that wait until the work is done.
        var listeners: [AsyncStream<Void>.Continuation] = []

        /// Appends `key` to the queue unless it is queued or being fetched.
        mutating func want(_ key: AvatarKey) {
            guard running[key] == nil, wanted.insert(key).inserted else { return }
            // Cancelling leaves stale keys in the queue. Dropping them bounds it for callers that cancel and re-add
            // often.
            if waiting.count > 2 * wanted.count + 64 {
                var seen = wanted
                seen.remove(key)
                waiting.removeAll { seen.remove($0) == nil }
            }
            waiting.append(key)
        }

        /// Takes `key` off the queue. Returns its task, if one is running, for the caller to cancel outside the lock.
        mutating func giveUp(_ key: AvatarKey) -> Task<Void, Never>? {
            wanted.remove(key)
            return running.removeValue(forKey: key)?.task
        }
    }

    private let store: AvatarStore
    private let limit: Int
    private let rendition: Rendition?
    private let state = Locked(State())

    init(store: AvatarStore, limit: Int, rendition: Rendition?) {
        (self.store, self.limit, self.rendition) = (store, limit, rendition)
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

    /// Starts fetches up to the limit.
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
        let options = FetchOptions(priority: .background, rendition: rendition)
        do {
            _ = try await store.file(for: key, options: options)
        } catch {
            store.configuration.logger.debug("not prefetched", metadata: ["key": "\(key)", "error": "\(error)"])
        }
    }

    private func ended(_ key: AvatarKey, _ number: Int) {
        state.withLock { state in
            state.taskCount -= 1
            // After a cancellation, a newer fetch of the same key may be running.
            if state.running[key]?.number == number { state.running[key] = nil }
            beginMore(&state)
        }
        tellIfDone()
    }

    /// Wakes the waiting callers if no work is left.
    private func tellIfDone() {
        let listeners = state.withLock { state -> [AsyncStream<Void>.Continuation] in
            guard state.wanted.isEmpty, state.taskCount == 0 else { return [] }
            defer { state.listeners = [] }
            return state.listeners
        }
        for listener in listeners { listener.finish() }
    }
}
