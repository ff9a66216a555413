/// One image to request from an origin: its key, its URL, the stored entry, and how to request it.
package struct FetchTarget: Sendable {
    /// A URL to request, and the key of its image. They are behind one reference, because a sync hands each target on many
    /// times.
    private final class Source: Sendable {
        /// The entry to store the image under.
        let key: AvatarKey
        /// The URL to request.
        let url: AvatarKey
        /// Name and port of its host.
        let host: String

        init(key: AvatarKey, url: AvatarKey, host: String) {
            (self.key, self.url, self.host) = (key, url, host)
        }
    }

    /// The image at its own URL.
    private let source: Source
    /// The smaller image, while that is requested.
    private var smaller: Source?
    /// The URL of a smaller image for constrained networks; `nil` without one.
    package private(set) var lowDataURL: String?
    /// The storage class of a new image.
    package var storageClass: StorageClass
    /// The stored entry; `nil` if the index has none.
    package private(set) var entry: AvatarEntry?
    /// Whether a download of it broke off and can be resumed, as far as the index says.
    package private(set) var isPartial = false
    /// Whether the request is unconditional although a validator is stored (policy `reload`).
    package var isUnconditional = false
    /// Whether only the stored entry is the reason for the request. An entry that was removed meanwhile stays removed.
    package var isRefresh = false
    /// Whether the store must keep nothing of the image and use nothing it has of it, partial downloads included.
    package var isTransient = false
    /// As `OriginRequest.namedOrigin`.
    package var namedOrigin: String?
    /// The contacts that use the image.
    package var owners: [String] = []
    /// Whether its contact has another candidate, should the origin answer 404 or 410.
    package var hasSuccessor = false
    /// Whether its contact stays linked to candidates that are gone.
    package var keepsGone = false
    /// Its place in the pace of the host. Reads leave it as it is.
    package var turn = HostTurn()
    /// An older copy of another machine, which counts as stored while the origin is asked.
    package var standIn: StandIn?
    /// The answer that the source of answers lists for the image.
    package private(set) var listed = ListedAnswer.unknown

    /// A copy of the image that another machine has. It is a class, because most targets have none and all are handed on.
    package final class StandIn: Sendable {
        /// The response that delivered or confirmed it.
        package let metadata: ResponseMetadata
        /// When an origin last sent its bytes.
        package let fetched: Timestamp?

        /// A copy with these values.
        package init(metadata: ResponseMetadata, fetched: Timestamp?) {
            (self.metadata, self.fetched) = (metadata, fetched)
        }
    }

    /// The image of `key` at `source`.
    ///
    /// - Parameters:
    ///   - source: the URL; default: that of the entry, else that of the key.
    ///   - entry: the stored entry. A document stays a document, whatever `storageClass` says.
    /// - Throws: `unsupportedURL` if the URL is not an http or https URL with a host; `noSuchEntry` if there is no URL, as
    ///   for an own image.
    package init(
        key: AvatarKey,
        source: String?,
        entry: AvatarEntry?,
        storageClass: StorageClass
    ) throws(AvatarStoreError) {
        guard let source = source ?? entry?.sourceURL ?? key.url else {
            throw AvatarStoreError(.noSuchEntry, "There is no image \(key), and no URL to fetch it from.")
        }
        // The key of most images is their URL, normalised already.
        let url = source == key.rawValue && key.isURL ? key : try AvatarKey(url: source)
        guard let host = url.host else {
            throw AvatarStoreError(.unsupportedURL, "\(url) names no host.", failure: .unsupportedURL)
        }
        self.source = Source(key: key, url: url, host: host.description)
        self.entry = entry
        lowDataURL = entry?.lowDataURL
        self.storageClass = entry?.storageClass == .documents ? .documents : storageClass
    }

    /// Replaces the stored entry by what the index holds now.
    package mutating func update(_ entry: AvatarEntry?, isPartial: Bool) {
        self.entry = entry
        self.isPartial = isPartial
        if entry?.storageClass == .documents { storageClass = .documents }
    }

    /// Notes what the source of answers has. An answer is taken from there in place of one of the host.
    package mutating func see(_ answer: ListedAnswer) {
        listed = answer
    }

    /// The entry to store the image under.
    package var key: AvatarKey { source.key }

    /// The URL of the image. It differs from `key` for a caller's own key.
    package var sourceKey: AvatarKey { source.url }

    /// Whether the key leaves out parameters of the URL (`VolatileQuery`). Such an image is not shared with other machines: their
    /// keys may leave out others.
    package var isReduced: Bool { key.isURL && key != sourceKey }

    /// Name and port of the host of `sourceKey`.
    package var sourceHost: String { source.host }

    /// The URL to request: that of the image, or that of the smaller one.
    package var requestKey: AvatarKey { (smaller ?? source).url }

    /// Name and port of the host of `requestKey`.
    package var originHost: String { (smaller ?? source).host }

    /// `originHost`; `answerHost` while the answer of the source is to be taken.
    package var host: String {
        if case .answer = listed { Self.answerHost } else { originHost }
    }

    /// The URL to request, whole and normalised.
    package var requestURL: String { requestKey.rawValue }

    /// Whether the smaller image is requested.
    package var isLowData: Bool { smaller != nil }

    /// Requests the smaller image if the network is constrained and nothing better is stored, else the image itself.
    ///
    /// - Parameters:
    ///   - url: the URL of the smaller image; default: that of the entry.
    ///   - isConstrained: whether the network is constrained.
    /// - Throws: `unsupportedURL` if the URL of the smaller image is not one.
    package mutating func consider(lowDataURL url: String?, isConstrained: Bool) throws(AvatarStoreError) {
        guard let text = url ?? lowDataURL else { return }
        let lowData = try AvatarKey(url: text)
        lowDataURL = lowData.rawValue
        let isBetterStored = entry.map { $0.file != nil && !$0.isLowData } ?? false
        smaller = nil
        if isConstrained, !isBetterStored, lowData != sourceKey, let host = lowData.host {
            smaller = Source(key: key, url: lowData, host: host.description)
        }
    }

    /// Whether a new image needs new room in the caches.
    package var bringsCacheFile: Bool { storageClass == .caches && entry?.file == nil && entry?.isIgnored != true }
}

extension FetchTarget {
    /// The host in whose place the source of answers is asked. It is no host name, so it meets no real one.
    package static let answerHost = "source of answers"
}
