public import AvatarStore

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

extension CodingUserInfoKey {
    /// The `AvatarStore` of the futures that are decoded.
    public static let avatarStore = key("AvatarFrontEnds.store")
    /// A ``FutureAvatar/CachePolicy`` for the futures that are decoded. Default: in the store.
    public static let avatarCache = key("AvatarFrontEnds.cache")
    /// A ``FetchRetry`` for the futures that are decoded.
    public static let avatarRetry = key("AvatarFrontEnds.retry")
    /// The `AvatarKey` of the placeholder of the futures that are decoded.
    public static let avatarPlaceholder = key("AvatarFrontEnds.placeholder")

    private static func key(_ name: String) -> CodingUserInfoKey {
        guard let key = CodingUserInfoKey(rawValue: name) else {
            preconditionFailure("A user info key can have any name.")
        }
        return key
    }
}

extension FutureAvatar: Codable {
    /// The future of the URL that is there as text.
    public init(from decoder: any Decoder) throws {
        let info = decoder.userInfo
        self.init(
            url: try decoder.singleValueContainer().decode(String.self),
            from: info[.avatarStore] as? AvatarStore,
            cache: info[.avatarCache] as? CachePolicy ?? .disk,
            retry: info[.avatarRetry] as? FetchRetry ?? FetchRetry(),
            placeholder: info[.avatarPlaceholder] as? AvatarKey
        )
    }

    /// Writes the URL.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(url)
    }
}

/// How often an image that could not be had is asked for again.
public struct FetchRetry: Hashable, Sendable {
    /// How often it is asked for in all. Default: 3.
    public var attempts = 3
    /// The wait before the second attempt; it doubles each time. Default: half a second.
    public var delay = Duration.milliseconds(500)

    /// So many attempts, the second one after `delay`.
    public init(attempts: Int = 3, delay: Duration = .milliseconds(500)) {
        self.attempts = attempts
        self.delay = delay
    }

    /// One attempt.
    public static let never = FetchRetry(attempts: 1)

    /// Runs `fetch` until it succeeds, fails for good, or has failed often enough.
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

    /// Whether the next attempt may well succeed. An origin that asks for fewer requests is not asked at once.
    private static func isPassing(_ error: AvatarStoreError) -> Bool {
        guard let failure = error.failure else { return false }
        return [.serverError, .timeout, .unreachable, .truncated].contains(failure)
    }
}
