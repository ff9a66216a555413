import AvatarCore
import AvatarFiles

extension FetchTarget {
    /// The change that an answer leads to whose request was sent at `time`.
    func change(_ content: Change.Content, requestedAt time: Timestamp) -> Change {
        var change = Change(key: key, sourceURL: sourceKey.rawValue, host: sourceHost, owners: owners, content: content)
        change.lowDataURL = lowDataURL
        change.isLowData = isLowData
        change.isRefresh = isRefresh
        change.keepsGone = keepsGone
        change.askedHost = host
        change.order = AnswerOrder(requested: time, lastCheck: entry?.validation.checked)
        return change
    }
}

/// What came of asking.
struct FetchResult: Sendable {
    var content: Content
    /// When it began.
    var began: Timestamp
    /// When it ended.
    var ended: Timestamp
    /// Every HTTP request, redirects too.
    var requestCount = 0
    /// The bytes of all bodies, as far as they were read.
    var bytesReceived = 0

    enum Content: Sendable {
        /// An image, complete and in the staging folder; `mayBeStored` is what its Cache-Control allows.
        case image(StagedImage, ResponseMetadata, mayBeStored: Bool)
        /// What is stored is still right; the metadata are the stored ones, brought up to date.
        case notModified(ResponseMetadata)
        case failed(FetchFailure)
    }
}

extension FetchResult {
    /// The host that the note is about, if not the one that was asked: that one has answered.
    var redirectedHost: String? {
        guard case .failed(let failure) = content else { return nil }
        return failure.redirectedHost
    }

    /// What it says of the host.
    var hostNote: HostNote {
        guard case .failed(let failure) = content else { return HostNote(requested: began, answered: ended) }
        return HostNote(failure: failure.kind, retryAfter: failure.retryAfter, requested: began, answered: ended)
    }
}

/// Why an image could not be had.
struct FetchFailure: Error, Sendable {
    var kind: FailureKind
    var message: String
    /// Until when the origin wants no further request.
    var retryAfter: Timestamp?
    /// The host that it says something of, if redirects had led to another one than was asked.
    var redirectedHost: String?
    /// The error of the store's own disk, if that is what failed.
    var storeError: AvatarStoreError?

    /// The error for a caller who gets no image: that of the store's own disk, or that the fetch failed.
    var error: AvatarStoreError {
        storeError ?? AvatarStoreError(.fetchFailed, message, failure: kind)
    }

    /// The host is left alone for a while: it asked for that (RFC 9110 section 10.2.3), or it keeps failing.
    static func leftAlone(_ host: String, _ health: HostHealth, until: Timestamp, now: Timestamp) -> FetchFailure {
        FetchFailure(
            kind: health.failure ?? .rateLimited,
            message:
                "\(host) \(health.reason(at: now) ?? "is left alone"), for \(until.seconds(since: now) + 1) seconds."
        )
    }
}

extension FetchFailure {
    /// Whether the origin answered 404 or 410, and no image is stored. A stored image is not given up for that.
    func hasNothing(for target: FetchTarget) -> Bool {
        kind == .gone && target.entry?.file == nil
    }

    /// Whether that does not count as a failure yet: another candidate follows, or an e-mail source has no picture.
    func isNone(for target: FetchTarget) -> Bool {
        hasNothing(for: target) && (target.hasSuccessor || target.key.isEmailImage)
    }
}

extension FetchResult {
    func isNone(for target: FetchTarget) -> Bool {
        if case .failed(let failure) = content { failure.isNone(for: target) } else { false }
    }

    func hasNothing(for target: FetchTarget) -> Bool {
        if case .failed(let failure) = content { failure.hasNothing(for: target) } else { false }
    }
}
