import AvatarFoundation
public import AvatarStore

/// A place that shows one image at a time, such as a reused row of a list.
///
/// The row owns its target. When the row is released, so is the target, and its binding ends.
public final class AvatarTarget: Sendable {
    private let binding = Locked<FutureBinding?>(nil)

    /// A target without a binding.
    public init() {}

    /// Ends the current binding: its closure is not called again.
    public func unbind() {
        swap(nil)?.end()
    }

    /// Replaces the binding, and returns the previous one.
    fileprivate func swap(_ new: FutureBinding?) -> FutureBinding? {
        binding.withLock { binding in
            defer { binding = new }
            return binding
        }
    }

    deinit {
        binding.withLock { $0 }?.end()
    }
}

/// The connection of one future to one target. It ends when either of them is bound again.
final class FutureBinding: Sendable {
    private struct State {
        var isOver = false
        var task: Task<Void, Never>?
    }

    private let state = Locked(State())

    /// Whether the binding has ended, so that its closure must not be called.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Stores the task that waits for the image. Cancels it at once if the binding has already ended.
    func begin(_ task: Task<Void, Never>) {
        let isOver = state.withLock { state in
            state.task = task
            return state.isOver
        }
        if isOver { task.cancel() }
    }

    /// Ends the binding and cancels its task.
    func end() {
        let task = state.withLock { state in
            state.isOver = true
            return state.task
        }
        task?.cancel()
    }
}

extension FutureAvatar {
    /// Shows the image at `target`: the current content at once, and the image or the failure when the fetch ends.
    ///
    /// The binding is exclusive. It ends any earlier binding of the target and of this future, so a late result of an
    /// earlier future never appears at the target.
    ///
    /// - Parameters:
    ///   - target: the place to show the image. It is not retained.
    ///   - store: the store to use if the future has none yet.
    ///   - isolation: the actor of the target. Default: the caller's.
    ///   - show: called on that actor: once before this method returns, and again with the result of the fetch if the
    ///     image was not available.
    /// - Throws: `noStore` if neither the future nor the call has a store.
    public func bind(
        to target: AvatarTarget,
        in store: AvatarStore? = nil,
        isolation: isolated any Actor = #isolation,
        show: @escaping (Content) -> Void
    ) throws(AvatarStoreError) {
        let store = try shared.settle(store)
        let binding = FutureBinding()
        let earlier = [target.swap(binding), shared.swap(binding)]
        // Hold the fetch first: if an earlier binding is for the same image, ending it must not cancel the fetch.
        let holds = heldFetches(store)
        for earlier in earlier { earlier?.end() }
        let content = content
        if case .image = content { return show(content) }
        show(waiting(content))
        let shared = shared
        let task = Task {
            // Capturing the actor makes the task run on it.
            _ = isolation
            let content = await Self.outcome(shared, store)
            withExtendedLifetime(holds) {}
            guard let content, !binding.isOver else { return }
            show(content)
        }
        binding.begin(task)
    }

    /// The content to show during a fetch: the failure of an earlier attempt becomes a placeholder.
    private func waiting(_ content: Content) -> Content {
        guard case .failure(_, let substitute) = content else { return content }
        return .placeholder(substitute)
    }

    /// Holds on the running fetch of this future, and on that of the store, which other readers may have started.
    private func heldFetches(_ store: AvatarStore) -> [FlightHold?] {
        do {
            let key = try AvatarKey(url: url)
            return [shared.flights.hold(key), store.holdFetch(of: key, isTransient: !shared.cache.isInStore)]
        } catch {
            // There is no fetch for an invalid URL.
            return []
        }
    }

    /// Waits for the image or the failure. Returns `nil` if the wait was cancelled.
    private static func outcome(_ shared: SharedFuture, _ store: AvatarStore) async -> Content? {
        do {
            return .image(try await shared.image())
        } catch is CancellationError {
            return nil
        } catch {
            return shared.content(AvatarStoreError(of: error), store)
        }
    }
}
