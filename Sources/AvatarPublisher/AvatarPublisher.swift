#if canImport(Combine)
public import AvatarStore
public import Combine
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
#elseif OpenCombine
public import AvatarStore
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import OpenCombine
#endif

#if canImport(Combine) || OpenCombine
import AvatarFoundation

/// A Combine publisher of one image: its local file and the header fields of its response.
///
/// The fetch starts when a subscriber requests a value. Each subscription delivers one value and completes, or fails.
/// Subscriptions for the same image share one download. Cancelling a subscription cancels the download, unless another
/// reader waits for the same image. The bytes of the image are not read into memory. Values arrive on an arbitrary
/// thread.
public struct AvatarPublisher: Publisher, Sendable {
    /// The file of an image, with its metadata.
    public struct Output: Sendable {
        /// The location of the file. Its content never changes, but the store may delete it later.
        public var fileURL: URL
        /// The format, size and storage class of the image.
        public var file: AvatarFile
        /// The header fields of its latest response, one per line, as far as the store keeps them.
        public var responseFields: String?

        /// A value with these contents, for example to replace a failure.
        public init(fileURL: URL, file: AvatarFile, responseFields: String? = nil) {
            (self.fileURL, self.file, self.responseFields) = (fileURL, file, responseFields)
        }
    }

    /// The error type of the store.
    public typealias Failure = AvatarStoreError

    let url: String
    let store: AvatarStore
    let options: FetchOptions

    /// A publisher of the image at `url`. It fails with `noSuchEntry` if there is no file: the image must not be stored, or
    /// its rendition cannot be stored.
    ///
    /// - Parameters:
    ///   - url: the URL of the image. An invalid URL fails with `unsupportedURL` when a value is requested.
    ///   - store: the store that keeps the image.
    ///   - options: the read policy, storage and limits of the fetch, and the rendition to publish.
    public init(url: String, from store: AvatarStore, options: FetchOptions = FetchOptions()) {
        (self.url, self.store, self.options) = (url, store, options)
    }

    /// Creates a subscription for `subscriber`. The fetch starts when it requests a value.
    public func receive<Receiver: Subscriber>(subscriber: Receiver)
    where Receiver.Input == Output, Receiver.Failure == AvatarStoreError {
        subscriber.receive(subscription: AvatarSubscription(self, AnySubscriber(subscriber)))
    }

    /// Fetches the image and returns its file.
    ///
    /// - Throws: `AvatarStoreError`; `CancellationError`.
    func fetch() async throws -> Output {
        let key = try AvatarKey(url: url)
        let file = try await store.file(for: key, options: options)
        guard let path = file.localFile else { throw Self.noFile(file) }
        return Output(
            fileURL: URL(fileURLWithPath: path),
            file: file,
            responseFields: try store.responseFields(for: key)
        )
    }

    /// The error for an image that is not stored.
    private static func noFile(_ file: AvatarFile) -> AvatarStoreError {
        guard let rendition = file.rendition else {
            return AvatarStoreError(
                .noSuchEntry,
                "\(file.key) has no file, because it must not be stored (`no-store`, or the storage `transient`)."
            )
        }
        return AvatarStoreError(
            .noSuchEntry,
            "The rendition \"\(rendition)\" of \"\(file.key)\" has no file, because the budget has no room for it or the store"
                + " is open for reading only. Raise the budget, or leave `rendition` unset."
        )
    }
}

/// One subscriber that waits for its image.
///
///     idle ──demand──▶ fetching ──▶ over
///       └────────cancel───┴──────────▲
private final class AvatarSubscription: Subscription, Sendable {
    typealias Receiver = AnySubscriber<AvatarPublisher.Output, AvatarStoreError>

    private struct State {
        /// `nil` once the subscription is over.
        var subscriber: Receiver?
        /// The fetch; `nil` before the first demand.
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
        // Release the subscriber outside the lock, because its deinit may run any code.
        withExtendedLifetime(subscriber) {}
    }

    private func run() async {
        do {
            let output = try await publisher.fetch()
            // There is only one value, so the demand that the subscriber returns does not matter.
            _ = subscriber()?.receive(output)
            // The subscriber may have cancelled while it received the value.
            takeSubscriber()?.receive(completion: .finished)
        } catch is CancellationError {
            _ = takeSubscriber()
        } catch {
            takeSubscriber()?.receive(completion: .failure(AvatarStoreError(of: error)))
        }
    }

    private func subscriber() -> Receiver? {
        state.withLock { $0.subscriber }
    }

    /// Returns the subscriber at the first call, which ends the subscription, and `nil` afterwards.
    private func takeSubscriber() -> Receiver? {
        state.withLock { state in
            defer { state.subscriber = nil }
            return state.subscriber
        }
    }
}

/// A value that is accessed only under its lock.
///
/// It makes a non-`Sendable` subscriber usable from several threads. That is safe: Combine requires subscribers to
/// accept signals on any thread, one at a time, and this class sends them so.
private final class UncheckedState<Value>: @unchecked Sendable {
    private let lock = Locked(())
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        lock.withLock { _ in body(&value) }
    }
}
#endif
