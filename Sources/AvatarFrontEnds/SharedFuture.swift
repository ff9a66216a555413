import AvatarFoundation
import AvatarStore

/// The state that all copies of a ``FutureAvatar`` share: its store, its fetch, its error and its binding.
final class SharedFuture: Sendable {
    let url: String
    let cache: FutureAvatar.CachePolicy
    private let retry: FetchRetry
    private let placeholder: AvatarKey?
    private let rendition: Rendition?
    /// The running fetch. Copies that ask meanwhile join it.
    let flights = FlightTable<AvatarImage>()
    private let state: Locked<State>

    private struct State {
        var store: AvatarStore?
        /// The loaded image, only with the cache policy `none`.
        var image: AvatarImage?
        /// The error of the last fetch; `nil` after a success.
        var error: AvatarStoreError?
        /// The binding whose closure is to be called.
        weak var binding: FutureBinding?
    }

    init(
        url: String,
        store: AvatarStore?,
        cache: FutureAvatar.CachePolicy,
        retry: FetchRetry,
        placeholder: AvatarKey?,
        rendition: Rendition?
    ) {
        (self.url, self.cache, self.retry) = (url, cache, retry)
        (self.placeholder, self.rendition) = (placeholder, rendition)
        state = Locked(State(store: store))
    }

    /// Adopts `store` if the future has none yet, and returns the store of the future.
    ///
    /// - Throws: `noStore` if there is neither.
    func settle(_ store: AvatarStore?) throws(AvatarStoreError) -> AvatarStore {
        let settled = state.withLock { state in
            state.store = state.store ?? store
            return state.store
        }
        guard let settled else {
            throw AvatarStoreError(
                .noStore,
                "The future of \"\(AvatarKey.redact(url))\" has no store. Pass one when you create, decode or bind it."
            )
        }
        return settled
    }

    /// Replaces the binding, and returns the previous one.
    func swap(_ binding: FutureBinding) -> FutureBinding? {
        state.withLock { state in
            defer { state.binding = binding }
            return state.binding
        }
    }

    /// The image. Concurrent calls share one fetch.
    ///
    /// - Throws: `AvatarStoreError`; `CancellationError`.
    func image() async throws -> AvatarImage {
        let store = try settle(nil)
        let key = try AvatarKey(url: url)
        if let image = there(key, store) { return image }
        do {
            let image = try await flights.join(key) { [self, retry] in
                // A fetch may have ended since. The store looks by itself.
                if !cache.isInStore, let image = there(key, store) { return image }
                return try await retry.run { try await fetch(key, store) }
            }
            note(nil)
            return image
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let error = AvatarStoreError(of: error)
            note(error)
            throw error
        }
    }

    private func note(_ error: AvatarStoreError?) {
        state.withLock { $0.error = error }
    }

    /// The current content, without starting a fetch.
    var content: FutureAvatar.Content {
        do {
            let store = try settle(nil)
            if let image = there(try AvatarKey(url: url), store) { return .image(image) }
            let substitute = ImageSource(store: store, memory: nil).fallback(placeholder, as: rendition)
            if let error = state.withLock({ $0.error }) { return .failure(error, substitute) }
            return .placeholder(substitute)
        } catch {
            return error.code == .noStore ? .placeholder(nil) : .failure(error, nil)
        }
    }

    /// The blurred stand-in for the image as PNG.
    var standIn: [UInt8]? {
        guard cache.isInStore else { return nil }
        do {
            return ImageSource(store: try settle(nil), memory: nil).standIn(try AvatarKey(url: url))
        } catch {
            // `content` reports that there is no store or no valid URL.
            return nil
        }
    }

    /// The content after a fetch failed with `error`.
    func content(_ error: AvatarStoreError, _ store: AvatarStore) -> FutureAvatar.Content {
        .failure(error, ImageSource(store: store, memory: nil).fallback(placeholder, as: rendition))
    }

    // MARK: Cache

    private func options(_ storage: FetchOptions.Storage = .caches) -> FetchOptions {
        FetchOptions(storage: storage, rendition: rendition)
    }

    /// The image if it is available without a request.
    private func there(_ key: AvatarKey, _ store: AvatarStore) -> AvatarImage? {
        do {
            switch cache {
            case .disk: return try ImageSource(store: store, memory: nil).stored(key, options())
            case .memoryAndDisk(let memory):
                return try ImageSource(store: store, memory: memory).stored(key, options())
            case .memory(let memory): return memory.image(for: key, as: rendition)
            case .none: return state.withLock { $0.image }
            }
        } catch {
            // The fetch that follows reports the error.
            return nil
        }
    }

    /// Fetches the image and keeps it where the cache policy says.
    private func fetch(_ key: AvatarKey, _ store: AvatarStore) async throws -> AvatarImage {
        switch cache {
        case .disk:
            return try await ImageSource(store: store, memory: nil).image(key, options())
        case .memoryAndDisk(let memory):
            return try await ImageSource(store: store, memory: memory).image(key, options())
        case .memory(let memory):
            let image = try await store.avatar(for: key, options: options(.transient))
            memory.insert(image, for: key, as: rendition)
            return image
        case .none:
            let image = try await store.avatar(for: key, options: options(.transient))
            state.withLock { $0.image = image }
            return image
        }
    }
}
