import AvatarCore
import AvatarFiles

/// One image to ask an origin for.
struct FetchTarget: Sendable {
    let key: AvatarKey
    /// The URL of the image, which for an image of the caller's own name is not its key.
    let sourceKey: AvatarKey
    /// Its host's name and port.
    private let sourceHost: String
    /// Where a smaller image for constrained networks is.
    private(set) var lowDataURL: String?
    /// What is asked for: the image, or the smaller one.
    private(set) var requestKey: AvatarKey
    /// The name and port of the host that is asked.
    private(set) var host: String
    /// Where the image is to be stored.
    var storageClass: StorageClass
    /// What is stored.
    private(set) var entry: AvatarEntry?
    /// Whether a download of it broke off and can go on, as far as that was looked at.
    private(set) var isPartial = false
    /// Whether the image is asked for in full although it could be revalidated.
    var isUnconditional = false
    /// Whether it is asked for only because it is stored: if it was removed meanwhile, it stays removed.
    var isRefresh = false
    /// Whether nothing of it may stay in the store, nor be taken from there: no partial download either.
    var isTransient = false
    /// The contacts that use it.
    var owners: [String] = []
    /// Whether its contact has another image to ask for, should the origin have none here.
    var hasSuccessor = false
    /// Whether its contact stays linked to candidates that are gone.
    var keepsGone = false

    /// The image of `key` at `source`.
    ///
    /// - Throws: `unsupportedURL` if `source` is no URL that may be fetched; `noSuchEntry` for an own image.
    init(key: AvatarKey, source: String?, entry: AvatarEntry?, storageClass: StorageClass) throws(AvatarStoreError) {
        guard let source = source ?? entry?.sourceURL ?? key.url else {
            throw AvatarStoreError(.noSuchEntry, "There is no image \(key), and no URL to fetch it from.")
        }
        let url = try AvatarKey(url: source)
        guard let host = url.host else {
            throw AvatarStoreError(.unsupportedURL, "\(url) names no host.", failure: .unsupportedURL)
        }
        self.key = key
        sourceKey = url
        sourceHost = host.description
        requestKey = sourceKey
        self.host = sourceHost
        self.entry = entry
        lowDataURL = entry?.lowDataURL
        // What is kept as a document stays one.
        self.storageClass = entry?.storageClass == .documents ? .documents : storageClass
    }

    /// Takes note of what is stored by now.
    mutating func update(_ entry: AvatarEntry?, isPartial: Bool) {
        self.entry = entry
        self.isPartial = isPartial
        if entry?.storageClass == .documents { storageClass = .documents }
    }

    /// The whole URL that is asked for, normalised.
    var requestURL: String { requestKey.rawValue }

    /// Whether the smaller image is asked for.
    var isLowData: Bool { requestKey != sourceKey }

    /// Asks for the smaller image at `url`, or at the one that is kept with the entry, if the network is constrained and
    /// nothing better is stored.
    ///
    /// - Throws: `unsupportedURL` if `url` may not be fetched.
    mutating func consider(lowDataURL url: String?, isConstrained: Bool) throws(AvatarStoreError) {
        let smaller = try (url ?? lowDataURL).map { text throws(AvatarStoreError) in try AvatarKey(url: text) }
        lowDataURL = smaller?.rawValue
        let isBetterStored = entry.map { $0.file != nil && !$0.isLowData } ?? false
        guard isConstrained, !isBetterStored, let smaller, let smallerHost = smaller.host else {
            (requestKey, host) = (sourceKey, sourceHost)
            return
        }
        (requestKey, host) = (smaller, smallerHost.description)
    }

    /// Whether an image is bound to come that needs new room in the caches.
    var bringsCacheFile: Bool { storageClass == .caches && entry?.file == nil }

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
