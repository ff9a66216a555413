/// The outcome of one fetch: what the store did with the origin's response.
///
/// Reads, batches and syncs share it. Reports, events and counters are derived from it.
public enum FetchOutcome: Sendable {
    /// An image was received and is stored. `isChanged`: it replaced other bytes.
    case stored(isChanged: Bool)
    /// The origin confirmed the stored image, or another process stored or confirmed it meanwhile.
    case notModified
    /// An image was received and is not stored: its response forbids that and the mode obeys (RFC 9111 section 3), or
    /// its entry was removed meanwhile.
    case notStored
    /// The origin sent an ignored image (`AvatarStore.ignore(digests:dryRun:)`), so nothing is stored. `isReceived`: the response
    /// had its bytes; otherwise the origin confirmed that the image is unchanged.
    case ignored(isReceived: Bool)
    /// An image was received, and there is no room for it in the budget. The stored image stays.
    case overBudget(AvatarStoreError)
    /// No image was received. The stored image stays.
    case failed(FetchFailure)

    /// Whether the index has recorded the answer.
    package var isKept: Bool {
        switch self {
        case .stored, .notModified, .failed: true
        case .notStored, .ignored, .overBudget: false
        }
    }
}

/// The failure of one fetch.
public struct FetchFailure: Error, Sendable {
    /// The kind of the failure.
    public var kind: FailureKind
    /// A sentence for a log or a user. URLs in it have no user info, query or fragment.
    public var message: String
    /// The end of the pause that the origin asked for (`Retry-After`, RFC 9110 section 10.2.3); `nil` if it asked for
    /// none.
    public package(set) var retryAfter: Timestamp?
    /// Whether the status was 429 or 503: the host may bear the same request later (RFC 6585 section 4, RFC 9110
    /// section 15.6.4).
    package var isRefusal = false
    /// The status of the response, if that is the failure.
    package var status: Int?
    /// Whether the response allows that other machines learn of it. A redirected one is not told.
    package var mayBeShared = false
    /// The host at fault, if redirects led to another host than the one requested.
    package var redirectedHost: String?
    /// The error of the store's own disk, if the fetch failed because of it.
    package var storeError: AvatarStoreError?

    package init(
        kind: FailureKind,
        message: String,
        retryAfter: Timestamp? = nil,
        redirectedHost: String? = nil,
        storeError: AvatarStoreError? = nil
    ) {
        (self.kind, self.message, self.retryAfter) = (kind, message, retryAfter)
        (self.redirectedHost, self.storeError) = (redirectedHost, storeError)
    }

    /// The message for the index, which keeps it. URLs have neither user info nor a query, even if a client of the host
    /// program named them whole.
    ///
    /// - Parameter keepsPaths: whether URLs keep their paths. Default: yes.
    package func lastingMessage(keepsPaths: Bool = true) -> String? {
        let text = AvatarKey.redactURLs(in: message, keepsPaths: keepsPaths).prefix(Self.longestMessage)
        return text.isEmpty ? nil : String(text)
    }

    /// The most characters of a message that the index keeps.
    private static let longestMessage = 500

    /// The error for a caller that gets no image: the error of the store's own disk, or `fetchFailed`.
    package var error: AvatarStoreError {
        storeError ?? AvatarStoreError(.fetchFailed, message, failure: kind)
    }

    /// The failure of a request that is not sent, because its host asked for a pause or keeps failing.
    package static func paused(_ host: String, _ health: HostHealth, until: Timestamp, now: Timestamp) -> FetchFailure {
        FetchFailure(
            kind: health.failure ?? .rateLimited,
            message:
                "\(host) \(health.reason(at: now) ?? "is paused") for \(until.seconds(since: now) + 1) more seconds."
        )
    }

    /// The failure of a read of an ignored image.
    package static func ignored(_ key: AvatarKey) -> FetchFailure {
        FetchFailure(
            kind: .ignored,
            message:
                "The image of \"\(key)\" is ignored. To stop ignoring it, run `avatars ignore --undo` with its digest, which "
                + "`avatars shared --ignored` lists."
        )
    }

    /// Whether the origin returned 404 or 410, and no image is stored. A stored image is kept after such a status.
    package func hasNothing(for target: FetchTarget) -> Bool {
        kind == .gone && target.entry?.file == nil
    }

    /// Whether the failure does not count: the origin has no image, and another candidate follows or the image is an
    /// e-mail source's.
    package func isNone(for target: FetchTarget) -> Bool {
        hasNothing(for: target) && (target.hasSuccessor || target.key.isEmailImage)
    }
}

extension AvatarStoreError {
    /// The error for bytes of an ignored image that a caller passed in.
    package static func ignoredImage(_ key: AvatarKey) -> AvatarStoreError {
        AvatarStoreError(.imageRefused, FetchFailure.ignored(key).message, failure: .ignored)
    }
}
