public import AvatarStore
public import Foundation

/// Gives a type images by URL: it only has to name its store.
///
/// ```swift
/// struct ContactCell: FetchableImage {
///     let avatarStore: AvatarStore
/// }
/// let cell = ContactCell(avatarStore: store)
/// let image = try await cell.fetchImage(from: "https://example.org/ada.png")
/// ```
public protocol FetchableImage {
    /// The store that keeps the images.
    var avatarStore: AvatarStore { get }
    /// Images in memory in front of it. Default: none.
    var avatarMemory: MemoryCache? { get }
}

extension FetchableImage {
    /// None.
    public var avatarMemory: MemoryCache? { nil }

    var source: ImageSource { ImageSource(store: avatarStore, memory: avatarMemory) }

    /// The file of the image at `url`, or of an own image; `nil` if it is not stored. Sends no request.
    ///
    /// What lies there never changes, but it may be unlinked later.
    public func localFileURL(
        for url: String?,
        options: FetchableImageOptions = FetchableImageOptions()
    ) throws(AvatarStoreError) -> URL? {
        guard options.allowLocalStorage else { return nil }
        let key = try options.key(for: url)
        let store = avatarStore
        return try AvatarStoreError.typed { try store.localFile(for: key) }.map { URL(fileURLWithPath: $0) }
    }

    /// The image at `url`: what is stored or, if nothing is, what the origin sends. Without a URL, the own image of the
    /// custom name.
    ///
    /// Asking for a document moves an image that is in `caches`.
    /// - Throws: `AvatarStoreError`; `CancellationError`.
    public func fetchImage(
        from url: String?,
        options: FetchableImageOptions = FetchableImageOptions()
    ) async throws -> AvatarImage {
        try await source.fetched(url, options)
    }

    /// Removes the image of `url`, or an own image, from the store.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    public func deleteImage(
        using url: String?,
        options: FetchableImageOptions = FetchableImageOptions()
    ) async throws -> Bool {
        try await source.removes(url, options)
    }

    /// Removes the images of `urls` from the store. What is no URL is passed over.
    ///
    /// - Returns: how many there were.
    @discardableResult
    public func deleteBatchImages(
        using urls: [String?],
        options: FetchableImageOptions = FetchableImageOptions()
    ) async throws -> Int {
        try await source.remove(urls, options)
    }

    /// Removes the own images that have the custom names of `options`.
    ///
    /// - Returns: how many there were.
    @discardableResult
    public func deleteBatchImages(using options: [FetchableImageOptions]) async throws -> Int {
        try await source.remove(options)
    }

    /// Keeps an own image under the custom name of `options`; the same name replaces. In `caches` it may be evicted; in
    /// `documents` it stays, and is on stable storage on return.
    ///
    /// - Throws: `invalidKey` without a name; `imageRefused` for what is no image; `readOnly` where nothing may be
    ///   stored.
    @discardableResult
    public func save(image: [UInt8], options: FetchableImageOptions) async throws -> AvatarKey {
        try await source.save(image, options)
    }
}

extension FetchableImageOptions {
    fileprivate func keyIfAny(for url: String?) -> AvatarKey? {
        do {
            return try key(for: url)
        } catch {
            // What has no key is not stored.
            return nil
        }
    }
}

extension ImageSource {
    func fetched(_ url: String?, _ options: FetchableImageOptions) async throws -> AvatarImage {
        guard url != nil || options.allowLocalStorage else {
            throw AvatarStoreError(.noSuchEntry, "An own image lies in the store, which may not be read here.")
        }
        return try await image(try options.key(for: url), from: url, options.fetchOptions)
    }

    /// The image that takes the place of a missing one.
    func fallback(_ options: FetchableImageOptions) -> AvatarImage? {
        options.allowLocalStorage ? fallback(options.fallbackImage) : nil
    }

    func save(_ bytes: [UInt8], _ options: FetchableImageOptions) async throws -> AvatarKey {
        guard options.allowLocalStorage else {
            throw AvatarStoreError(.readOnly, "An image cannot be saved where nothing may be stored.")
        }
        guard let name = options.customFileName else {
            throw AvatarStoreError(.invalidKey, "An own image needs a name to be saved under.")
        }
        return try await store.save(bytes, named: name, in: options.storageClass)
    }

    /// Whether there was one.
    func removes(_ url: String?, _ options: FetchableImageOptions) async throws -> Bool {
        guard options.allowLocalStorage else { return false }
        return try await remove([options.key(for: url)]) > 0
    }

    func remove(_ urls: [String?], _ options: FetchableImageOptions) async throws -> Int {
        guard options.allowLocalStorage else { return 0 }
        return try await remove(urls.map { options.forList.keyIfAny(for: $0) })
    }

    func remove(_ options: [FetchableImageOptions]) async throws -> Int {
        try await remove(options.map { $0.allowLocalStorage ? $0.keyIfAny(for: nil) : nil })
    }

    /// - Returns: how many of `keys` there were.
    private func remove(_ keys: [AvatarKey?]) async throws -> Int {
        let keys = Array(Set(keys.compactMap(\.self)))
        guard !keys.isEmpty else { return 0 }
        let receipt = try await store.remove(keys)
        for key in keys { memory?.remove(key) }
        return receipt.rows
    }
}
