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
#endif
