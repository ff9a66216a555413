public import AvatarStore

/// A value that stands for an image which may not be loaded yet, for use in models.
///
/// The fetch starts at the first use: when a caller awaits ``image`` or binds the future to a target. Copies share one
/// state, and separate futures for the same URL share the download. A future can be decoded from a URL. Its store comes
/// from `decoder.userInfo[.avatarStore]`, or from the call that binds it.
public struct FutureAvatar: Sendable {
    /// The place where a loaded image is kept.
    public enum CachePolicy: Sendable {
        /// In the store.
        case disk
        /// In this memory cache only. The store is neither read nor written.
        case memory(MemoryCache)
        /// In the store, with this memory cache in front of it.
        case memoryAndDisk(MemoryCache)
        /// Only in the future itself.
        case none

        /// Whether the store is used.
        var isInStore: Bool {
            switch self {
            case .disk, .memoryAndDisk: true
            case .memory, .none: false
            }
        }
    }

    /// The content to show for a future.
    public enum Content: Sendable {
        /// The image is not loaded yet. The associated value is the placeholder image, if one is stored.
        case placeholder(AvatarImage?)
        /// The image is loaded.
        case image(AvatarImage)
        /// The fetch failed. The associated values are the error and the placeholder image, if one is stored.
        case failure(AvatarStoreError, AvatarImage?)

        /// The image or placeholder to show, if there is one.
        public var image: AvatarImage? {
            switch self {
            case .placeholder(let image): image
            case .image(let image): image
            case .failure(_, let image): image
            }
        }
    }

    /// The URL of the image.
    public let url: String
    /// The state that all copies share.
    let shared: SharedFuture

    /// A future of the image at `url`. It does nothing before its first use.
    ///
    /// - Parameters:
    ///   - url: the URL of the image.
    ///   - store: the store that keeps the image. Without one, pass a store when you bind the future.
    ///   - cache: the place where the image is kept. Default: the store.
    ///   - retry: the number of attempts and the wait between them. Default: 3 attempts.
    ///   - placeholder: the key of a stored image to show during the fetch and after a failure. Default: none.
    ///   - rendition: the rendition to return in place of the image. Default: `nil`, the original. Only stored images have
    ///     renditions: with the cache policies `memory` and `none`, or if the image cannot be decoded, you get the original.
    public init(
        url: String,
        from store: AvatarStore? = nil,
        cache: CachePolicy = .disk,
        retry: FetchRetry = FetchRetry(),
        placeholder: AvatarKey? = nil,
        rendition: Rendition? = nil
    ) {
        self.url = url
        shared = SharedFuture(
            url: url,
            store: store,
            cache: cache,
            retry: retry,
            placeholder: placeholder,
            rendition: rendition
        )
    }

    /// The image. Reading it starts the fetch, or joins the one that is running.
    ///
    /// - Throws: `noStore` if the future has no store yet; `unsupportedURL`; the error of the last attempt, such as
    ///   `fetchFailed` or `overBudget`; `CancellationError`.
    public var image: AvatarImage {
        get async throws { try await shared.image() }
    }

    /// The current content. Reading it never starts a fetch.
    public var content: Content { shared.content }

    /// A blurred image as PNG, 32 pixels on its longer side, to show while the content is a placeholder without an image.
    /// `nil` for an image without a rendition so far, and with the cache policies `memory` and `none`.
    public var standIn: [UInt8]? { shared.standIn }
}

extension CodingUserInfoKey {
    /// The `AvatarStore` for decoded futures. Default: none; pass one when you bind a future.
    public static let avatarStore = key("AvatarFrontEnds.store")
    /// The ``FutureAvatar/CachePolicy`` for decoded futures. Default: `disk`.
    public static let avatarCache = key("AvatarFrontEnds.cache")
    /// The ``FetchRetry`` for decoded futures. Default: 3 attempts.
    public static let avatarRetry = key("AvatarFrontEnds.retry")
    /// The `AvatarKey` of the placeholder image for decoded futures. Default: none.
    public static let avatarPlaceholder = key("AvatarFrontEnds.placeholder")
    /// The `Rendition` for decoded futures. Default: none, the original.
    public static let avatarRendition = key("AvatarFrontEnds.rendition")

    private static func key(_ name: String) -> CodingUserInfoKey {
        // The initialiser is failable only because `RawRepresentable` asks for that; it takes every string.
        guard let key = CodingUserInfoKey(rawValue: name) else {
            preconditionFailure("CodingUserInfoKey accepts any name.")
        }
        return key
    }
}

extension FutureAvatar: Codable {
    /// Decodes a future from a single string, its URL. Store and options come from `decoder.userInfo`.
    ///
    /// - Throws: `DecodingError` if the value is not a string. The URL is checked only when the future is used.
    public init(from decoder: any Decoder) throws {
        let info = decoder.userInfo
        self.init(
            url: try decoder.singleValueContainer().decode(String.self),
            from: info[.avatarStore] as? AvatarStore,
            cache: info[.avatarCache] as? CachePolicy ?? .disk,
            retry: info[.avatarRetry] as? FetchRetry ?? FetchRetry(),
            placeholder: info[.avatarPlaceholder] as? AvatarKey,
            rendition: info[.avatarRendition] as? Rendition
        )
    }

    /// Encodes the URL as a single string.
    ///
    /// - Throws: the error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(url)
    }
}

/// The retry schedule of a ``FutureAvatar``. Only transient failures are retried: 5xx, timeouts, unreachable hosts and
/// truncated bodies.
public struct FetchRetry: Hashable, Sendable {
    /// The maximum number of attempts, including the first. Default: 3.
    public var attempts = 3
    /// The wait before the second attempt. It doubles with each further attempt. Default: 0.5 seconds.
    public var delay = Duration.milliseconds(500)

    /// A schedule of at most `attempts` attempts, the second of them after `delay`.
    public init(attempts: Int = 3, delay: Duration = .milliseconds(500)) {
        self.attempts = attempts
        self.delay = delay
    }

    /// A single attempt, without a retry.
    public static let never = FetchRetry(attempts: 1)

    /// Runs `fetch` until it succeeds, fails with a permanent error, or has used all attempts.
    ///
    /// - Throws: the error of the last attempt; `CancellationError`.
    func run<Value>(_ fetch: () async throws -> Value) async throws -> Value {
        var wait = delay
        for _ in 1..<max(attempts, 1) {
            do {
                return try await fetch()
            } catch let error as AvatarStoreError where Self.isPassing(error) {
                try await Task.sleep(for: wait)
                wait *= 2
            }
        }
        return try await fetch()
    }

    /// Whether a retry may succeed. A host that limits requests (429) is not retried at once.
    private static func isPassing(_ error: AvatarStoreError) -> Bool {
        guard let failure = error.failure else { return false }
        return [.serverError, .timeout, .unreachable, .truncated].contains(failure)
    }
}
