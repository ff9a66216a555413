public import AvatarStore
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Adds fetching, saving and deleting of images to any type that has a store.
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
    /// The memory cache in front of the store. Default: none.
    var avatarMemory: MemoryCache? { get }
}

extension FetchableImage {
    /// No memory cache.
    public var avatarMemory: MemoryCache? { nil }

    var source: ImageSource { ImageSource(store: avatarStore, memory: avatarMemory) }

    /// The local file of an image, or of its rendition if `options` have one, without a request.
    ///
    /// The content of the file never changes, but the store may delete the file later.
    ///
    /// - Parameters:
    ///   - url: the URL of the image; `nil` for an image saved under the custom name of `options`.
    ///   - options: the custom name, the rendition, and whether the store may be read.
    /// - Returns: `nil` if the image is not stored, its rendition is not made yet, or `options` forbid reading the store.
    /// - Throws: `unsupportedURL` or `invalidKey` if `url` and name give no key; an error of the index or disk.
    public func localFileURL(
        for url: String?,
        options: FetchableImageOptions = FetchableImageOptions()
    ) throws(AvatarStoreError) -> URL? {
        guard options.allowLocalStorage else { return nil }
        let key = try options.key(for: url)
        let store = avatarStore
        let path = try AvatarStoreError.typed {
            guard let rendition = options.rendition else { return try store.localFile(for: key) }
            return try store.storedFile(for: key, as: rendition)?.localFile
        }
        return path.map { URL(fileURLWithPath: $0) }
    }

    /// The image at `url`, from the store or else from its host. Without a URL, the image saved under the custom name
    /// of `options`.
    ///
    /// A fetched image is in the index and on disk on return; in `documents` it is on stable storage. A fetch into
    /// `documents` moves an image that is stored in `caches`.
    ///
    /// - Parameters:
    ///   - url: the URL of the image; `nil` for an image saved under a name.
    ///   - options: the storage class, the custom name, the rendition, and whether to use the store at all.
    /// - Throws: `unsupportedURL` or `invalidKey` if `url` and name give no key; `noSuchEntry` if there is no URL and
    ///   the image is not stored or the store must not be read; `fetchFailed`; `overBudget`; an error of the index or
    ///   disk; `CancellationError`.
    public func fetchImage(
        from url: String?,
        options: FetchableImageOptions = FetchableImageOptions()
    ) async throws -> AvatarImage {
        try await source.fetched(url, options)
    }

    /// Removes one image from the store and the memory cache. On return it is gone from index and disk.
    ///
    /// - Parameters:
    ///   - url: the URL of the image; `nil` for an image saved under the custom name of `options`.
    ///   - options: the custom name. Nothing is removed if `allowLocalStorage` is false.
    /// - Returns: whether the image was stored.
    /// - Throws: `unsupportedURL` or `invalidKey` if `url` and name give no key; `readOnly`; an error of the index or
    ///   disk.
    @discardableResult
    public func deleteImage(
        using url: String?,
        options: FetchableImageOptions = FetchableImageOptions()
    ) async throws -> Bool {
        try await source.removes(url, options)
    }

    /// Removes the images at `urls` from the store and the memory cache. Invalid URLs and `nil` are skipped.
    ///
    /// - Parameters:
    ///   - urls: the URLs of the images.
    ///   - options: a custom name is ignored. Nothing is removed if `allowLocalStorage` is false.
    /// - Returns: the number of images that were stored.
    /// - Throws: `readOnly`; an error of the index or disk.
    @discardableResult
    public func deleteBatchImages(
        using urls: [String?],
        options: FetchableImageOptions = FetchableImageOptions()
    ) async throws -> Int {
        try await source.remove(urls, options)
    }

    /// Removes the images saved under the custom names of `options` from the store and the memory cache.
    ///
    /// - Parameter options: one for each image. Options without a valid name, or with `allowLocalStorage` false, are
    ///   skipped.
    /// - Returns: the number of images that were stored.
    /// - Throws: `readOnly`; an error of the index or disk.
    @discardableResult
    public func deleteBatchImages(using options: [FetchableImageOptions]) async throws -> Int {
        try await source.remove(options)
    }

    /// Saves an image under the custom name of `options`, and replaces an image of the same name.
    ///
    /// On return the image is in the index and on disk. In `caches` it may be evicted later; in `documents` it stays,
    /// and is on stable storage on return.
    ///
    /// - Parameters:
    ///   - image: the bytes of the image file.
    ///   - options: the custom name and the storage class.
    /// - Returns: the key of the image.
    /// - Throws: `invalidKey` without a custom name; `imageRefused` if the bytes are not an image, or exceed a limit;
    ///   `readOnly` if `allowLocalStorage` is false or the store is open for reading only; `overBudget`; an error of
    ///   the index or disk.
    @discardableResult
    public func save(image: [UInt8], options: FetchableImageOptions) async throws -> AvatarKey {
        try await source.save(image, options)
    }
}

extension FetchableImageOptions {
    /// The key, or `nil` if `url` and name give none.
    fileprivate func keyIfAny(for url: String?) -> AvatarKey? {
        do {
            return try key(for: url)
        } catch {
            // An image without a valid key cannot be stored, so there is nothing to remove.
            return nil
        }
    }
}

extension ImageSource {
    /// The image for `url` or the custom name, as `FetchableImage.fetchImage(from:options:)`.
    func fetched(_ url: String?, _ options: FetchableImageOptions) async throws -> AvatarImage {
        guard url != nil || options.allowLocalStorage else {
            throw AvatarStoreError(
                .noSuchEntry,
                "An image without a URL can only come from the store, and `allowLocalStorage` is false."
                    + " Set it to true or pass a URL."
            )
        }
        return try await image(try options.key(for: url), from: url, options.fetchOptions)
    }

    /// The fallback image of `options`, if the store may be read.
    func fallback(_ options: FetchableImageOptions) -> AvatarImage? {
        options.allowLocalStorage ? fallback(options.fallbackImage, as: options.rendition) : nil
    }

    /// The result after `error`: the fallback of `options`, with the error as its failure; without one, the error.
    func result(
        after error: AvatarStoreError,
        _ options: FetchableImageOptions
    ) -> Result<AvatarImage, AvatarStoreError> {
        guard var image = fallback(options) else { return .failure(error) }
        image.file.failure = error.failure ?? .storage
        image.file.failureMessage = error.message
        return .success(image)
    }

    /// Saves `bytes` under the custom name of `options`.
    func save(_ bytes: [UInt8], _ options: FetchableImageOptions) async throws -> AvatarKey {
        guard options.allowLocalStorage else {
            throw AvatarStoreError(
                .readOnly,
                "The image cannot be saved because `allowLocalStorage` is false. Set it to true."
            )
        }
        guard let name = options.customFileName else {
            throw AvatarStoreError(.invalidKey, "The image cannot be saved without a name. Set `customFileName`.")
        }
        return try await store.save(bytes, named: name, in: options.storageClass)
    }

    /// Removes one image, and returns whether it was stored.
    func removes(_ url: String?, _ options: FetchableImageOptions) async throws -> Bool {
        guard options.allowLocalStorage else { return false }
        return try await remove([options.key(for: url)]) > 0
    }

    /// Removes the images at `urls`, and returns how many were stored.
    func remove(_ urls: [String?], _ options: FetchableImageOptions) async throws -> Int {
        guard options.allowLocalStorage else { return 0 }
        return try await remove(urls.map { options.forList.keyIfAny(for: $0) })
    }

    /// Removes the images with the custom names of `options`, and returns how many were stored.
    func remove(_ options: [FetchableImageOptions]) async throws -> Int {
        try await remove(options.map { $0.allowLocalStorage ? $0.keyIfAny(for: nil) : nil })
    }

    /// Removes `keys` from the store and the memory cache, and returns how many were stored.
    private func remove(_ keys: [AvatarKey?]) async throws -> Int {
        let keys = Array(Set(keys.compactMap(\.self)))
        guard !keys.isEmpty else { return 0 }
        let receipt = try await store.remove(keys)
        for key in keys { memory?.remove(key) }
        return receipt.rows
    }
}

/// The storage class and the name under which a ``FetchableImage`` keeps an image, and the rendition that it returns.
public struct FetchableImageOptions: Hashable, Sendable {
    /// Whether to store the image in the class `caches`, where it may be evicted, or in `documents`, where it stays.
    /// Default: true.
    public var storeInCachesDirectory = true
    /// Whether to read and write the store at all. Default: true.
    public var allowLocalStorage = true
    /// A name to keep the image under instead of its URL. Default: none.
    ///
    /// Without a URL, it is the name of an image saved with ``FetchableImage/save(image:options:)``. With a URL, the
    /// fetched image is kept under this name, even if its URL is another one next time. The two kinds of names are
    /// separate. A name is not a path: any text of up to 1,000 bytes is allowed, including slashes and dots. Fetches of
    /// a list of URLs ignore the name and keep each image under its URL.
    public var customFileName: String?
    /// The key of a stored image to use if the fetch fails or there is no URL, such as `AvatarKey(name: "silhouette")`.
    /// Save it beforehand. It is not used if `allowLocalStorage` is false. Default: none.
    public var fallbackImage: AvatarKey?
    /// The rendition to return in place of the image, made if necessary. Default: `nil`, the original.
    ///
    /// If the image cannot be decoded, the store has no decoder, or `allowLocalStorage` is false, the original is returned, and
    /// its `renditionFailure` gives the reason. If no quality and size fits `Rendition.maxBytes`, the read throws
    /// `imageRefused`.
    public var rendition: Rendition?

    /// Options with these values.
    public init(
        storeInCachesDirectory: Bool = true,
        allowLocalStorage: Bool = true,
        customFileName: String? = nil,
        fallbackImage: AvatarKey? = nil,
        rendition: Rendition? = nil
    ) {
        self.storeInCachesDirectory = storeInCachesDirectory
        (self.allowLocalStorage, self.customFileName) = (allowLocalStorage, customFileName)
        (self.fallbackImage, self.rendition) = (fallbackImage, rendition)
    }

    /// The options for each of several URLs: without the custom name, which cannot serve more than one image.
    var forList: FetchableImageOptions {
        var options = self
        options.customFileName = nil
        return options
    }

    /// The storage class that `storeInCachesDirectory` selects.
    var storageClass: StorageClass { storeInCachesDirectory ? .caches : .documents }

    /// The options of a fetch: `transient` if `allowLocalStorage` is false.
    var fetchOptions: FetchOptions {
        guard allowLocalStorage else { return FetchOptions(storage: .transient, rendition: rendition) }
        return FetchOptions(storage: storeInCachesDirectory ? .caches : .documents, rendition: rendition)
    }

    /// The key for `url`, the custom name, or both.
    ///
    /// - Throws: `unsupportedURL`; `invalidKey` if there is neither a URL nor a name, or the name is invalid.
    func key(for url: String?) throws(AvatarStoreError) -> AvatarKey {
        switch (url, customFileName) {
        case (let url?, nil):
            return try AvatarKey(url: url)
        case (_?, let name?):
            return try AvatarKey(custom: "file:" + name)
        case (nil, let name?):
            return try AvatarKey(name: name)
        case (nil, nil):
            throw AvatarStoreError(
                .invalidKey,
                "The image has neither a URL nor a name. Pass a URL or set `customFileName`."
            )
        }
    }
}
