public import AvatarStore
import Synchronization

/// The place where one picture at a time is shown, such as a row of a list that is used again and again.
///
/// The row owns it. When the row goes away, so does this, and what was bound to it costs nothing any more.
public final class AvatarTarget: Sendable {
    private let binding = Mutex<FutureBinding?>(nil)

    /// A target that shows nothing.
    public init() {}

    /// Shows nothing any more: nobody is told from here on.
    public func unbind() {
        swap(nil)?.end()
    }

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

/// One future, shown at one target, until either is bound anew.
final class FutureBinding: Sendable {
    private struct State {
        var isOver = false
        var task: Task<Void, Never>?
    }

    private let state = Mutex(State())

    var isOver: Bool { state.withLock { $0.isOver } }

    func begin(_ task: Task<Void, Never>) {
        let isOver = state.withLock { state in
            state.task = task
            return state.isOver
        }
        if isOver { task.cancel() }
    }

    func end() {
        let task = state.withLock { state in
            state.isOver = true
            return state.task
        }
        task?.cancel()
    }
}

extension FutureAvatar {
    /// Shows the image at `target`: what is there at once, and then what comes. Both are bound to each other alone from
    /// now on: what was bound to the target before is not shown any more, however late it comes, and a target that the
    /// future was bound to before is told nothing more.
    ///
    /// - Parameters:
    ///   - target: the place; it is not kept alive.
    ///   - store: the store to use if the future has none yet.
    ///   - isolation: the actor that the target belongs to; by default the caller's.
    ///   - show: called on that actor, before this returns and perhaps once more.
    /// - Throws: `noStore` if there is none.
    public func bind(
        to target: AvatarTarget,
        in store: AvatarStore? = nil,
        isolation: isolated any Actor = #isolation,
        show: @escaping (Content) -> Void
    ) throws(AvatarStoreError) {
        let store = try shared.settle(store)
        let binding = FutureBinding()
        let earlier = [target.swap(binding), shared.swap(binding)]
        // If the two are for the same image, its fetch goes on.
        let holds = heldFetches(store)
        for earlier in earlier { earlier?.end() }
        let content = content
        if case .image = content { return show(content) }
        show(waiting(content))
        let shared = shared
        let task = Task {
            // So that this runs where the target is.
            _ = isolation
            let content = await Self.outcome(shared, store)
            withExtendedLifetime(holds) {}
            guard let content, !binding.isOver else { return }
            show(content)
        }
        binding.begin(task)
    }

    /// While it is fetched again, an earlier failure is not shown.
    private func waiting(_ content: Content) -> Content {
        guard case .failure(_, let substitute) = content else { return content }
        return .placeholder(substitute)
    }

    /// That of this future, whose image is kept when it comes, and that of the store, which others may have begun.
    private func heldFetches(_ store: AvatarStore) -> [FlightHold?] {
        do {
            let key = try AvatarKey(url: url)
            return [shared.flights.hold(key), store.holdFetch(of: key, isTransient: !shared.cache.isInStore)]
        } catch {
            // What is no URL is not being fetched.
            return []
        }
    }

    /// `nil` if nobody waits any more.
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
