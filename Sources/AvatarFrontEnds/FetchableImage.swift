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

/// Where a ``FetchableImage`` keeps an image, and under which name.
public struct FetchableImageOptions: Hashable, Sendable {
    /// In the class `caches`, where it may be evicted, or in `documents`, where it stays. Default: in `caches`.
    public var storeInCachesDirectory = true
    /// Whether the store is read and written at all. Default: yes.
    public var allowLocalStorage = true
    /// The name of an own image or, with a URL, the one to keep the fetched image under whatever its URL is next time.
    /// The two never meet. A name stands for one picture. It leads nowhere on disk: any text of up to 1,000 bytes will
    /// do, slashes and dots too. A list of URLs has no use for it: there each image is kept under its URL. Default: none,
    /// an image is kept under its URL.
    public var customFileName: String?
    /// An own image to use where there is none, such as `AvatarKey(name: "nobody")`, saved before. It lies in the store,
    /// so it is not used where that may not be read. Default: none.
    public var fallbackImage: AvatarKey?

    /// These options.
    public init(
        storeInCachesDirectory: Bool = true,
        allowLocalStorage: Bool = true,
        customFileName: String? = nil,
        fallbackImage: AvatarKey? = nil
    ) {
        self.storeInCachesDirectory = storeInCachesDirectory
        self.allowLocalStorage = allowLocalStorage
        self.customFileName = customFileName
        self.fallbackImage = fallbackImage
    }

    /// These options for one of several URLs, which cannot all have the same name.
    var forList: FetchableImageOptions {
        var options = self
        options.customFileName = nil
        return options
    }

    var storageClass: StorageClass { storeInCachesDirectory ? .caches : .documents }

    var fetchOptions: FetchOptions {
        guard allowLocalStorage else { return FetchOptions(storage: .transient) }
        return FetchOptions(storage: storeInCachesDirectory ? .caches : .documents)
    }

    /// The key of the image at `url`, or of the own image that has the custom name.
    func key(for url: String?) throws(AvatarStoreError) -> AvatarKey {
        switch (url, customFileName) {
        case (let url?, nil):
            return try AvatarKey(url: url)
        case (_?, let name?):
            return try AvatarKey(custom: "file:" + name)
        case (nil, let name?):
            return try AvatarKey(name: name)
        case (nil, nil):
            throw AvatarStoreError(.invalidKey, "An image needs a URL or a name.")
        }
    }
}
