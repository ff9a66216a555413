#if canImport(Combine)
import AvatarStore
import Combine
#elseif OpenCombine
import AvatarStore
import OpenCombine
#endif

#if canImport(Combine) || OpenCombine
import Synchronization

/// One subscriber, waiting for its image.
///
///     idle ──demand──▶ fetching ──▶ over
///       └────────cancel───┴──────────▲
final class AvatarSubscription: Subscription, Sendable {
    typealias Receiver = AnySubscriber<AvatarPublisher.Output, AvatarStoreError>

    private struct State {
        /// `nil` when it is over.
        var subscriber: Receiver?
        var task: Task<Void, Never>?
    }

    private let publisher: AvatarPublisher
    private let state: UncheckedState<State>

    init(_ publisher: AvatarPublisher, _ subscriber: Receiver) {
        self.publisher = publisher
        state = UncheckedState(State(subscriber: subscriber))
    }

    func request(_ demand: Subscribers.Demand) {
        guard demand > .none else { return }
        state.withLock { state in
            guard state.subscriber != nil, state.task == nil else { return }
            state.task = Task { await self.run() }
        }
    }

    func cancel() {
        let (task, subscriber) = state.withLock { state in
            defer { state.subscriber = nil }
            return (state.task, state.subscriber)
        }
        task?.cancel()
        // Let go of outside the lock: its end may run anything.
        withExtendedLifetime(subscriber) {}
    }

    private func run() async {
        do {
            let output = try await publisher.fetch()
            // More than one value is never there, whatever it asks for now.
            _ = state.withLock { $0.subscriber }?.receive(output)
            // It may have cancelled when it got the value.
            takeSubscriber()?.receive(completion: .finished)
        } catch is CancellationError {
            _ = takeSubscriber()
        } catch {
            takeSubscriber()?.receive(completion: .failure(AvatarStoreError(of: error)))
        }
    }

    /// The subscriber, once: taking it ends the subscription.
    private func takeSubscriber() -> Receiver? {
        state.withLock { state in
            defer { state.subscriber = nil }
            return state.subscriber
        }
    }
}

/// A value that is only touched under its lock.
///
/// Combine's subscribers are not `Sendable`, but have to take signals from any thread, one at a time, as this sends them.
private final class UncheckedState<Value>: @unchecked Sendable {
    private let lock = Mutex(())
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        lock.withLock { _ in body(&value) }
    }
}
#endif
