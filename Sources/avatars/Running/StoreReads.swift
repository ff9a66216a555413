import AvatarStore

/// Reads of `get` and `fetch`. A store that is open for reading only gets the policy `offline`, because it could store
/// nothing.
struct StoreReads: Sendable {
    /// The open store. Its owner closes it after the reads.
    let store: AvatarStore
    /// The options of each read.
    let options: FetchOptions

    /// Makes reads of `store` with `options`, as far as a read-only store allows them.
    init(store: AvatarStore, options: FetchOptions) {
        var options = options
        if store.isReadOnly {
            options.policy = .offline
            options.storage = .caches
        }
        self.store = store
        self.options = options
    }

    /// Reads the image of `key`, and fetches it if the policy asks for that.
    ///
    /// - Throws: `AvatarStoreError` if there is no image.
    func image(of key: AvatarKey) async throws -> AvatarImage {
        try await store.avatar(for: key, options: options)
    }

    /// Reads the image at `url`. The result says why an image is missing.
    ///
    /// - Throws: only errors that concern all images, such as a store that cannot be read; `CancellationError`.
    func result(of url: String) async throws -> ImageResult {
        let key: AvatarKey
        do {
            key = try AvatarKey(url: url)
        } catch {
            return ImageResult(AvatarKey.redact(url), failed: error)
        }
        return try await result(for: key)
    }

    /// Reads the image of `key`, as `result(of:)`.
    func result(for key: AvatarKey) async throws -> ImageResult {
        do {
            return ImageResult(try await store.file(for: key, options: options))
        } catch let error as AvatarStoreError where error.exitCode == .someFailed {
            return ImageResult(key.rawValue, failed: error)
        }
    }
}
