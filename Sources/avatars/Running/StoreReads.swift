import AvatarStore

/// Reads through the store; one that is open for reading only is never asked to fetch.
struct StoreReads: Sendable {
    let store: AvatarStore
    let options: FetchOptions

    init(store: AvatarStore, options: FetchOptions) {
        var options = options
        if store.isReadOnly {
            options.policy = .offline
            options.storage = .caches
        }
        self.store = store
        self.options = options
    }

    /// The image of `key`.
    func image(of key: AvatarKey) async throws -> AvatarImage {
        try await store.avatar(for: key, options: options)
    }

    /// What came of the image at `url`. Thrown is only what concerns all images.
    func result(of url: String) async throws -> ImageResult {
        var key = AvatarKey.redact(url)
        do {
            let parsed = try AvatarKey(url: url)
            key = parsed.rawValue
            return ImageResult(try await store.file(for: parsed, options: options))
        } catch let error as AvatarStoreError where error.exitCode == .someFailed {
            return ImageResult(key, failed: error)
        }
    }
}
