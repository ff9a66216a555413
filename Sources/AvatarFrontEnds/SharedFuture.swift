import AvatarStore
import Synchronization

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
