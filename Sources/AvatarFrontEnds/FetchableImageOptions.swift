public import AvatarStore

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
