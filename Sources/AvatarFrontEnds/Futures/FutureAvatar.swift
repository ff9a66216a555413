public import AvatarStore
import Synchronization

/// An image that may not be there yet, to hand around as if it were.
///
/// It starts when it is first used: when somebody waits for ``image`` or binds it to a target. Copies are the same
/// future; others for the same URL share its download. It can be decoded from a URL in a model, and takes its store from
/// `decoder.userInfo[.avatarStore]` or gets one when it is bound.
public struct FutureAvatar: Sendable {
    /// Where an image is kept once it is there.
    public enum CachePolicy: Sendable {
        /// In the store.
        case disk
        /// In this cache alone: the store is neither read nor written.
        case memory(MemoryCache)
        /// In the store, and in this cache in front of it.
        case memoryAndDisk(MemoryCache)
        /// Nowhere but in the future itself.
        case none

        var isInStore: Bool {
            switch self {
            case .disk, .memoryAndDisk: true
            case .memory, .none: false
            }
        }
    }

    /// What there is to show.
    public enum Content: Sendable {
        /// No image yet; the own image to show meanwhile, if there is one.
        case placeholder(AvatarImage?)
        /// The image.
        case image(AvatarImage)
        /// There is none; the placeholder to show instead, if there is one.
        case failure(AvatarStoreError, AvatarImage?)

        /// Whichever image there is to show.
        public var image: AvatarImage? {
            switch self {
            case .placeholder(let image): image
            case .image(let image): image
            case .failure(_, let image): image
            }
        }
    }

    /// Where the image is.
    public let url: String
    let shared: SharedFuture

    /// The image at `url`. Nothing happens before it is used.
    ///
    /// - Parameters:
    ///   - url: where the image is.
    ///   - store: the store it comes from; without one, it needs to be bound with one.
    ///   - cache: where it is kept. Default: in the store.
    ///   - retry: how often it is asked for.
    ///   - placeholder: an own image of the store to show meanwhile, and if it cannot be had.
    public init(
        url: String,
        from store: AvatarStore? = nil,
        cache: CachePolicy = .disk,
        retry: FetchRetry = FetchRetry(),
        placeholder: AvatarKey? = nil
    ) {
        self.url = url
        shared = SharedFuture(url: url, store: store, cache: cache, retry: retry, placeholder: placeholder)
    }

    /// The image, as soon as it is there.
    ///
    /// - Throws: `AvatarStoreError`: `noStore` if the future has none yet; what the fetch throws after the last attempt.
    ///   `CancellationError`.
    public var image: AvatarImage {
        get async throws { try await shared.image() }
    }

    /// What is there now. Does not start anything.
    public var content: Content { shared.content }
}

/// What all copies of a future have in common.
final class SharedFuture: Sendable {
    let url: String
    let cache: FutureAvatar.CachePolicy
    private let retry: FetchRetry
    private let placeholder: AvatarKey?
    let flights = FlightTable<AvatarImage>()
    private let state: Mutex<State>

    private struct State {
        var store: AvatarStore?
        /// Only if it is kept nowhere else.
        var image: AvatarImage?
        var error: AvatarStoreError?
        /// The target that is told.
        weak var binding: FutureBinding?
    }

    init(
        url: String,
        store: AvatarStore?,
        cache: FutureAvatar.CachePolicy,
        retry: FetchRetry,
        placeholder: AvatarKey?
    ) {
        self.url = url
        self.cache = cache
        self.retry = retry
        self.placeholder = placeholder
        state = Mutex(State(store: store))
    }

    /// Takes `store` if it has none yet; the one it has.
    func settle(_ store: AvatarStore?) throws(AvatarStoreError) -> AvatarStore {
        let settled = state.withLock { state in
            state.store = state.store ?? store
            return state.store
        }
        guard let settled else {
            throw AvatarStoreError(.noStore, "The image \(AvatarKey.redact(url)) was asked for before it had a store.")
        }
        return settled
    }

    /// Makes `binding` the one that is told; the one that was before.
    func swap(_ binding: FutureBinding) -> FutureBinding? {
        state.withLock { state in
            defer { state.binding = binding }
            return state.binding
        }
    }

    /// The image, fetched once however many copies ask for it.
    func image() async throws -> AvatarImage {
        let store = try settle(nil)
        let key = try AvatarKey(url: url)
        if let image = there(key, store) { return image }
        do {
            let image = try await flights.join(key) { [self, retry] in
                try await retry.run { try await fetch(key, store) }
            }
            state.withLock { $0.error = nil }
            return image
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let error = AvatarStoreError(of: error)
            state.withLock { $0.error = error }
            throw error
        }
    }

    var content: FutureAvatar.Content {
        do {
            let store = try settle(nil)
            if let image = there(try AvatarKey(url: url), store) { return .image(image) }
            let substitute = ImageSource(store: store, memory: nil).fallback(placeholder)
            if let error = state.withLock({ $0.error }) { return .failure(error, substitute) }
            return .placeholder(substitute)
        } catch {
            return error.code == .noStore ? .placeholder(nil) : .failure(error, nil)
        }
    }

    func content(_ error: AvatarStoreError, _ store: AvatarStore) -> FutureAvatar.Content {
        .failure(error, ImageSource(store: store, memory: nil).fallback(placeholder))
    }

    // MARK: Where it is kept

    private func there(_ key: AvatarKey, _ store: AvatarStore) -> AvatarImage? {
        do {
            switch cache {
            case .disk: return try ImageSource(store: store, memory: nil).stored(key, FetchOptions())
            case .memoryAndDisk(let memory):
                return try ImageSource(store: store, memory: memory).stored(key, FetchOptions())
            case .memory(let memory): return memory.image(for: key)
            case .none: return state.withLock { $0.image }
            }
        } catch {
            // The fetch says what is wrong.
            return nil
        }
    }

    private func fetch(_ key: AvatarKey, _ store: AvatarStore) async throws -> AvatarImage {
        switch cache {
        case .disk:
            return try await ImageSource(store: store, memory: nil).image(key, FetchOptions())
        case .memoryAndDisk(let memory):
            return try await ImageSource(store: store, memory: memory).image(key, FetchOptions())
        case .memory(let memory):
            let image = try await store.avatar(for: key, options: FetchOptions(storage: .transient))
            memory.insert(image, for: key)
            return image
        case .none:
            let image = try await store.avatar(for: key, options: FetchOptions(storage: .transient))
            state.withLock { $0.image = image }
            return image
        }
    }
}
