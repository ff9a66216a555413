public import AvatarCore
import AvatarWriter
public import HTTPTypes

/// The header fields of an earlier response with which a cache revalidates its image: the validators and the freshness
/// that the origin gave.
public struct ImageValidators: Hashable, Sendable {
    /// The header fields, verbatim. The store keeps `ETag`, `Last-Modified`, `Cache-Control`, `Expires`, `Date`, `Age`,
    /// `Vary` and `Pragma`, and ignores others.
    public var fields: HTTPFields

    /// All header fields of a response.
    public init(_ fields: HTTPFields) {
        self.fields = fields
    }

    /// Validators one by one. Without arguments, the origin gave none: the next check downloads the image.
    ///
    /// - Parameters:
    ///   - etag: the ETag verbatim, with its quotes and `W/` (RFC 9110 section 8.8.3). Default: none.
    ///   - lastModified: the Last-Modified field verbatim (RFC 9110 section 8.8.2). Default: none.
    ///   - maxAge: how long the image is fresh, counted from the time at which it was fetched (RFC 9111 section 5.2.2.1);
    ///     rounded down to seconds. For a cache that keeps a time of expiry, pass its distance from the time of the fetch.
    ///     Default: `nil`, a tenth of the time since Last-Modified, else `Setting.defaultFreshness`.
    public init(etag: String? = nil, lastModified: String? = nil, maxAge: Duration? = nil) {
        fields = HTTPFields()
        if let etag { fields[.eTag] = etag }
        if let lastModified { fields[.lastModified] = lastModified }
        if let maxAge { fields[.cacheControl] = "max-age=\(max(0, maxAge.components.seconds))" }
    }
}

extension AvatarStore {
    /// Stores an image as if it had come from the URL of `address` at the time `fetched`, without a request: to fill a store in advance,
    /// or to move images over from another cache.
    ///
    /// The image is subject to the checks of a fetch. It counts as fresh for as long as its validators say, counted from
    /// `fetched`; then the next sync revalidates it with a conditional request, and a 304 costs one small row. An image
    /// that was fetched longer ago than `Setting.maximumAgeWithoutFetch` (30 days) is downloaded at the next check, and so
    /// is one whose URL redirects. It is linked to no contact; a sync or `link(_:)` does that.
    ///
    /// An older image does not replace a newer one. If the store fetched or revalidated its image for the URL after
    /// `fetched`, that image stays with its validators, nothing is changed, and the result is `false`. Times that are equal
    /// replace. Any image replaces one that was evicted, or whose file in `caches` is missing.
    ///
    /// On return the image is in the index and on disk. With the storage class `documents` it is on stable storage.
    ///
    /// - Parameters:
    ///   - bytes: the bytes of the image file.
    ///   - address: the URL of the image, or its key. `save(_:named:in:)` stores an own image (`name:…`).
    ///   - source: the URL that the image came from, for a key of your own; it is kept. Default: the URL in the key, or the
    ///     one kept.
    ///   - fetched: when the image was fetched or last revalidated. A time in the future counts as now.
    ///   - validators: the validators and the freshness from the response. Default: none.
    ///   - storageClass: where to store it. An image that is a document stays one. Default: `caches`.
    /// - Returns: whether the image was stored; `false` if the store has a newer one.
    /// - Throws: `unsupportedURL` for a URL that cannot be a key, and for a `source` that is not an http or https URL;
    ///   `invalidKey` for the key of an own image (`name:…` or `contact:…`), which has no origin; `noSuchEntry` for a key of
    ///   your own without a URL; `imageRefused` for bytes that are not an image, exceed
    ///   `Setting.maximumImageBytes` or have more than `Setting.maximumPixels` pixels, and for a response that must not be
    ///   stored (`no-store` in the mode `strict` or with `Configuration.respectsNoStore`); `overBudget` if no room can be
    ///   made in `caches`; `readOnly` in a store that is open for reading only; `diskFull` if the disk has, or would
    ///   have, less than `Setting.minimumFree` free; another error of the index or the disk.
    @discardableResult
    public func store(
        _ bytes: [UInt8],
        for address: some AvatarAddress,
        from source: String? = nil,
        fetched: Timestamp,
        validators: ImageValidators = ImageValidators(),
        in storageClass: StorageClass = .caches
    ) async throws -> Bool {
        let key = try address.avatarKey
        guard !key.isOwnImage else {
            throw AvatarStoreError(
                .invalidKey,
                "\(key) is an own image, which has no origin. Store it with `save(_:named:in:)`, or pass a URL."
            )
        }
        let writable = try requireWritable()
        let limits = try parts.limits()
        let entry = try index.entry(for: key)
        let target = try FetchTarget(key: key, source: source, entry: entry, storageClass: storageClass)
        let time = min(fetched, clock.now())
        if let entry, let file = entry.file {
            if try !roots.contains(file) {
                // An image whose file is missing is not newer content.
                try await writable.writer.retireLost([file])
            } else if ResponseMetadata(stored: entry.validation).requestTime > time {
                return false
            }
        }
        let metadata = ResponseMetadata(status: 200, fields: validators.fields, requestTime: time, responseTime: time)
        let response = AssessedResponse(metadata, under: limits.freshness)
        guard response.freshness.allowsStore else {
            throw AvatarStoreError(
                .imageRefused,
                "\(key) was not stored: its `Cache-Control` or `Vary` forbids that, and the store follows them (mode "
                    + "`strict`, or `respectsNoStore`)."
            )
        }
        let validation = ValidationRecord(response, fetched: time, jitter: .random(in: 0...1))
        let image = try parts.intake(limits).stage(bytes, in: target.storageClass, at: writable.places)
        var change = Change(.image(image, validation: validation), of: target, requested: time)
        change.isSupplied = true
        // Another process may store an image meanwhile. Its time is compared with this one's when the change is committed.
        change.order = AnswerOrder(requested: time, lastCheck: nil)
        let committed = try await writable.writer.commitNow(change, RoomRules(limits))
        if committed.wasChangedMeanwhile { return false }
        try committed.requireStored(key)
        return true
    }
}
