import AvatarStore

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
