#if canImport(Combine)
public import AvatarStore
public import Combine
public import Foundation
#elseif OpenCombine
public import AvatarStore
public import Foundation
public import OpenCombine
#endif

#if canImport(Combine) || OpenCombine
import Synchronization

/// An image as a publisher: its file, as soon as it is there, and what its origin said of it.
///
/// Nothing happens before a subscriber asks for a value. Each subscription gives one value and completes, or fails;
/// subscriptions for the same image share one download. Cancelling cancels it, unless somebody else waits for it. The
/// bytes are not read into memory.
public struct AvatarPublisher: Publisher, Sendable {
    /// A file, and what is known of it.
    public struct Output: Sendable {
        /// Where it lies. It never changes, but it may be unlinked later.
        public var fileURL: URL
        /// What the store says of it.
        public var file: AvatarFile
        /// The header fields of the answer that brought it, one a line, as far as the store keeps them.
        public var responseFields: String?

        /// Such a value, to put in the place of a failure.
        public init(fileURL: URL, file: AvatarFile, responseFields: String? = nil) {
            self.fileURL = fileURL
            self.file = file
            self.responseFields = responseFields
        }
    }

    /// What the store throws.
    public typealias Failure = AvatarStoreError

    let url: String
    let store: AvatarStore
    let options: FetchOptions

    /// The image at `url`. What may not be stored has no file, and fails with `noSuchEntry`.
    public init(url: String, from store: AvatarStore, options: FetchOptions = FetchOptions()) {
        self.url = url
        self.store = store
        self.options = options
    }

    /// Gives `subscriber` a subscription of its own.
    public func receive<Receiver: Subscriber>(subscriber: Receiver)
    where Receiver.Input == Output, Receiver.Failure == AvatarStoreError {
        subscriber.receive(subscription: AvatarSubscription(self, AnySubscriber(subscriber)))
    }

    func fetch() async throws -> Output {
        let key = try AvatarKey(url: url)
        let file = try await store.file(for: key, options: options)
        guard let path = file.localFile else {
            throw AvatarStoreError(.noSuchEntry, "\(key) may not be stored, so there is no file.")
        }
        return Output(
            fileURL: URL(fileURLWithPath: path),
            file: file,
            responseFields: try store.details(for: key)?.responseFields
        )
    }
}

/// One subscriber, waiting for its image.
///
///     idle ──demand──▶ fetching ──▶ over
///       └────────cancel───┴──────────▲
private final class AvatarSubscription: Subscription, Sendable {
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
