import AvatarCore
import AvatarIndex

/// The result of a read: a file, with or without its bytes.
protocol ReadResult: Sendable {
    /// The description of the image, which a read completes with source and failure.
    var file: AvatarFile { get set }

    /// The result for an image that is not stored.
    init(notStored image: AvatarImage)
}

/// A stored image that a fetch has received, and that need not be read back.
struct ReceivedImage: Sendable {
    /// The image as the index had it after the commit.
    let hit: IndexHit
    let bytes: [UInt8]
    /// Whether it is the first image of its entry. Its storing counts as a use, so this read need not.
    let isFirst: Bool
}

extension AvatarImage: ReadResult {
    init(notStored image: AvatarImage) { self = image }
}

extension AvatarFile: ReadResult {
    var file: AvatarFile {
        get { self }
        set { self = newValue }
    }

    init(notStored image: AvatarImage) { self = image.file }
}

/// One read: the stored image or the origin's, as the policy of its options says.
struct ImageRead<Result: ReadResult>: Sendable {
    /// The fetches that this read joins or begins.
    private let fetching: FetchParts
    private let key: AvatarKey
    /// The URL that the caller gave for a key of its own.
    private let source: String?
    private let options: FetchOptions
    /// Looks the image up in the store; `nil` if it is not stored. One that was just received is not looked up again.
    private let lookUp: @Sendable (ReceivedImage?) throws -> Result?
    /// Looks the image up without its bytes; `nil` if it is not stored.
    private let storedFile: @Sendable () throws -> AvatarFile?

    /// A read of the image of `key`.
    ///
    /// - Parameters:
    ///   - source: the URL that the caller gave for a key of its own.
    ///   - stored: looks the image up in the store. A look-up counts as a use.
    ///   - storedFile: as `stored`, without the bytes.
    init(
        _ key: AvatarKey,
        from source: String?,
        options: FetchOptions,
        fetching: FetchParts,
        stored: @escaping @Sendable (ReceivedImage?) throws -> Result?,
        storedFile: @escaping @Sendable () throws -> AvatarFile?
    ) {
        (self.fetching, self.key, self.source, self.options) = (fetching, key, source, options)
        lookUp = stored
        self.storedFile = storedFile
    }

    private var parts: StoreParts { fetching.parts }
    /// The caching mode of this read: its own, else the configuration's.
    private var mode: CachingMode { options.mode ?? parts.configuration.mode }
    private var now: Timestamp { parts.clock.now() }

    /// The image.
    ///
    /// - Throws: `fetchFailed` if the origin gives none and nothing is stored, or the policy `offline` forbids the
    ///   request; `overBudget`; `unsupportedURL`; an error of the index or the disk; `CancellationError`.
    package func run() async throws -> Result {
        if options.storage == .transient {
            return Result(notStored: try await fetching.transientAvatar(for: key, from: source, options))
        }
        try await keepSource()
        let found = try stored()
        if let found, try suffices(found.file) {
            fetching.metrics.read(from: .store)
            return try await promote(found)
        }
        guard options.policy != .offline else {
            if found == nil { try requireNotIgnored(parts.index.entry(for: key)) }
            let reason =
                found == nil
                ? "is not stored, and the policy `offline` forbids fetching it"
                : "is stored but stale. Strict mode must ask its origin first, and the policy `offline` forbids that"
            throw AvatarStoreError(.fetchFailed, "\(key) \(reason).", failure: .offline)
        }
        fetching.metrics.miss()
        let result = try await fetch()
        fetching.metrics.read(from: result.file.source)
        return result
    }

    // MARK: The origin

    /// The image after a fetch. If another process evicts or removes it in between, it is fetched once more.
    private func fetch() async throws -> Result {
        for _ in 0..<2 {
            let fetched = try await fetchOnce()
            switch fetched.outcome {
            case .stored:
                if let found = try stored(fetched.received) { return try await promote(found.coming(from: .origin)) }
            case .notModified:
                if let found = try stored() { return try await promote(found.coming(from: .revalidated)) }
            case .notStored:
                if let image = fetched.image { return Result(notStored: image) }
            case .ignored:
                throw FetchFailure.ignored(key).error
            case .overBudget(let error):
                return try await promote(fallback(for: error))
            case .failed(let failure):
                return try await promote(fallback(for: failure.error))
            }
        }
        throw AvatarStoreError(
            .fetchFailed,
            "Another process evicted or removed \(key) as soon as it was stored, twice. Try again.",
            failure: .storage
        )
    }

    /// Fetches the image, or joins the fetch of the key that is running.
    private func fetchOnce() async throws -> FetchJob.Fetched {
        let watching = fetching.watch(key, options)
        defer { withExtendedLifetime(watching) {} }
        while true {
            do {
                return try await fetching.flights.join(key) { [self] in
                    guard let job = try job() else { return Self.isStored }
                    return try await job.run(options.priority)
                } begin: { [self] done in
                    if let job = try job() { return job.beginAtOnce(options.priority, done: done) }
                    done(.success(Self.isStored))
                    return {}
                }
            } catch is CancellationError where !Task.isCancelled {
                // A sync began the fetch and gave it up; this reader did not.
            }
        }
    }

    private static var isStored: FetchJob.Fetched { FetchJob.Fetched(outcome: .stored(isChanged: false)) }

    /// The job that fetches the image; `nil` if another process has stored the image since the caller looked.
    private func job() throws -> FetchJob? {
        let seen = try parts.index.entry(for: key)
        if seen?.file == nil {
            try requireNotIgnored(seen)
        } else if let file = try storedFile(), try suffices(file) {
            return nil
        }
        return try fetching.job(key, from: source, options, seen: seen)
    }

    /// Stores the URL that the caller gave for a custom key, if the index has another one.
    private func keepSource() async throws {
        guard let source, !parts.isReadOnly, let entry = try parts.index.entry(for: key) else { return }
        let url = try AvatarKey(url: source)
        guard entry.sourceURL != url.rawValue, let host = url.host else { return }
        try await parts.requireWritable().writer.setSource(url.rawValue, host: host.description, of: key)
    }

    // MARK: The stored image

    private func stored(_ received: ReceivedImage? = nil) throws -> Result? { try lookUp(received) }

    /// Whether the stored image suffices, without a request.
    private func suffices(_ file: AvatarFile) throws -> Bool {
        // An own image (`name:…` or `contact:…`) has no origin.
        if file.key.isOwnImage { return true }
        if file.isLowData, try wantsBetter(file) { return false }
        switch options.policy {
        case .reload: return false
        case .revalidate: return try isFresh(file)
        case .cacheFirst: return try mode == .offlineFirst || isFresh(file)
        case .offline: return try isFresh(file) || allowsStale(because: .disconnected)
        }
    }

    /// Whether the full image should replace the smaller one now.
    private func wantsBetter(_ file: AvatarFile) throws -> Bool {
        guard options.policy != .offline, !fetching.isConstrained(options.isConstrained) else { return false }
        return try parts.index.entry(for: file.key)?.validation.isBackingOff(at: now) != true
    }

    /// Whether the stored image is fresh, and was selected by the request that would be sent now (RFC 9111 section
    /// 4.1).
    private func isFresh(_ file: AvatarFile) throws -> Bool {
        guard !file.isStale else { return false }
        return try strictFreshness()?.isFresh(at: now) ?? true
    }

    /// Checks whether to send a request. If the entry has an ignored image that is still valid, the read fails without one.
    ///
    /// - Throws: `fetchFailed` if the image is ignored.
    private func requireNotIgnored(_ entry: AvatarEntry?) throws {
        guard options.policy != .reload, let entry, entry.isIgnored else { return }
        let sufficesStale = options.policy == .offline || options.policy == .cacheFirst && mode == .offlineFirst
        let suffices =
            try sufficesStale || entry.validation.isFresh(at: now) && strictFreshness()?.isFresh(at: now) != false
        if suffices { throw FetchFailure.ignored(key).error }
    }

    /// Whether a stale image may be served (RFC 9111 section 4.2.4).
    private func allowsStale(because cause: Freshness.StaleCause) throws -> Bool {
        try strictFreshness()?.allowsStale(at: now, because: cause) ?? true
    }

    /// The freshness of the stored image by the rules of `strict`; `nil` in the other mode, and if nothing is stored.
    private func strictFreshness() throws -> Freshness? {
        guard mode == .strict, let entry = try parts.index.entry(for: key) else { return nil }
        let metadata = ResponseMetadata(stored: entry.validation)
        let limits = try parts.limits(mode: options.mode, ceiling: options.budgetCeiling)
        return try limits.freshness.assess(metadata, for: fetching.requestFields(for: entry))
    }

    /// The stored image, marked as stale, with the failure that prevented a newer one.
    ///
    /// - Throws: `error` if nothing is stored, or the stored image must not be served.
    private func fallback(for error: AvatarStoreError) throws -> Result {
        let kind = error.failure ?? .storage
        guard var found = try stored(), try allowsStale(because: Freshness.StaleCause(kind)) else { throw error }
        found.file.isStale = true
        found.file.failure = kind
        found.file.failureMessage = error.message
        return found
    }

    /// Moves the image from `caches` to `documents` if the caller asked for that.
    private func promote(_ found: Result) async throws -> Result {
        guard options.storage == .documents, found.file.storageClass == .caches, !parts.isReadOnly,
            try await parts.move(found.file.key, to: .documents), var moved = try stored()
        else { return found }
        moved.file.isStale = found.file.isStale
        moved.file.source = found.file.source
        moved.file.failure = found.file.failure
        moved.file.failureMessage = found.file.failureMessage
        return moved
    }
}

extension ReadResult {
    /// The same result with another source, for the caller and the metrics.
    fileprivate func coming(from source: AvatarFile.Source) -> Self {
        var result = self
        result.file.source = source
        return result
    }
}
