import AvatarCore
import AvatarIndex
import HTTPTypes

/// What the policy of a read gives: what is stored, or what the origin sends, and what is to be done if it fails.
extension AvatarStore {
    /// What the policy gives: something that `read` finds in the store, before or after a fetch, or an image that may
    /// not be stored.
    func resolve<Stored: StoredResult>(
        _ key: AvatarKey,
        from source: String?,
        _ options: FetchOptions,
        _ read: () throws -> Stored?
    ) async throws -> Resolution<Stored> {
        if options.storage == .transient {
            return .unstored(try await transientAvatar(for: key, from: source, options))
        }
        if let source { try await keepSource(source, of: key) }
        let stored = try read()
        if let stored, try accepts(stored.file, options) {
            metrics.read(from: .store)
            return .stored(try await promote(stored, options, read))
        }
        guard options.policy != .offline else {
            let reason =
                stored == nil
                ? "is not stored, and the policy `offline` forbids fetching it"
                : "is stored but stale. Strict mode must ask its origin first, and the policy `offline` forbids that"
            throw AvatarStoreError(.fetchFailed, "\(key) \(reason).", failure: .offline)
        }
        metrics.miss()
        let resolution = try await fetched(key, from: source, options, read)
        metrics.read(from: resolution.source)
        return resolution
    }

    /// What a fetch and then the store give.
    ///
    /// Another process may evict or remove the image between the two; then it is fetched once more.
    private func fetched<Stored: StoredResult>(
        _ key: AvatarKey,
        from source: String?,
        _ options: FetchOptions,
        _ read: () throws -> Stored?
    ) async throws -> Resolution<Stored> {
        for _ in 0..<2 {
            switch try await fetchOnce(key, from: source, options) {
            case .unstored(let image):
                return .unstored(image)
            case .stored:
                guard let stored = try read() else { continue }
                return .stored(try await promote(stored.coming(from: .origin), options, read))
            case .notModified:
                guard let stored = try read() else { continue }
                return .stored(try await promote(stored.coming(from: .revalidated), options, read))
            case .failed(let failure):
                return .stored(try await promote(fallback(read(), failure.error, options), options, read))
            case .overBudget(let error):
                return .stored(try await promote(fallback(read(), error, options), options, read))
            }
        }
        throw AvatarStoreError(
            .fetchFailed,
            "\(key) was evicted or removed by somebody else as soon as it was stored, twice.",
            failure: .storage
        )
    }

    /// The outcome of the one fetch for `key`, whoever began it.
    private func fetchOnce(
        _ key: AvatarKey,
        from source: String?,
        _ options: FetchOptions
    ) async throws -> FetchOutcome {
        let watching = watch(key, options)
        defer { withExtendedLifetime(watching) {} }
        while true {
            do {
                return try await flights.join(key) { [self] in
                    // Since the caller looked, another process may have stored it and be done.
                    let seen = try index.entry(for: key)
                    if let file = try storedFile(for: key), try accepts(file, options) {
                        return .stored(isChanged: false)
                    }
                    return try await fetchAndStore(key, from: source, options, seen: seen)
                }
            } catch is CancellationError where !Task.isCancelled {
                // A sync began the fetch and gave it up; this reader did not.
            }
        }
    }

    /// Whether what is stored will do.
    private func accepts(_ file: AvatarFile, _ options: FetchOptions) throws -> Bool {
        // An own image has no origin that could be asked.
        if file.key.isOwnImage { return true }
        if file.isLowData, try wantsBetter(file, options) { return false }
        switch options.policy {
        case .reload: return false
        case .revalidate: return try isFresh(file, options)
        case .cacheFirst: return try mode(options) == .offlineFirst || isFresh(file, options)
        case .offline: return try isFresh(file, options) || allowsStale(file.key, options, .disconnected)
        }
    }

    /// Whether the image itself is to take the place of the smaller one now.
    private func wantsBetter(_ file: AvatarFile, _ options: FetchOptions) throws -> Bool {
        guard options.policy != .offline, !isConstrained(options.isConstrained) else { return false }
        return try index.entry(for: file.key)?.validation.isBackingOff(at: clock.now()) != true
    }

    /// Whether what is stored is fresh, and answers the request that would be sent now (RFC 9111 section 4.1).
    private func isFresh(_ file: AvatarFile, _ options: FetchOptions) throws -> Bool {
        guard !file.isStale else { return false }
        guard mode(options) == .strict, let entry = try index.entry(for: file.key) else { return true }
        let metadata = ResponseMetadata(stored: entry.validation)
        let request = try requestFields(for: entry)
        return try limits(options).freshness.assess(metadata, for: request).isFresh(at: clock.now())
    }

    /// The header fields that a request for the image would carry; `nil` if its response varies by none.
    func requestFields(for entry: AvatarEntry) throws -> HTTPFields? {
        guard ResponseMetadata(stored: entry.validation).selection != nil, let url = entry.sourceURL else { return nil }
        return try origin.client().requestFields(for: url)
    }

    private func mode(_ options: FetchOptions) -> CachingMode { options.mode ?? configuration.mode }

    /// Whether a stale image may be served (RFC 9111 section 4.2.4).
    private func allowsStale(
        _ key: AvatarKey,
        _ options: FetchOptions,
        _ cause: Freshness.StaleCause
    ) throws -> Bool {
        guard mode(options) == .strict, let entry = try index.entry(for: key) else { return true }
        let metadata = ResponseMetadata(stored: entry.validation)
        let request = try requestFields(for: entry)
        let freshness = try limits(options).freshness.assess(metadata, for: request)
        return freshness.allowsStale(at: clock.now(), because: cause)
    }

    /// A caller's own key goes with the latest URL that was given for it.
    private func keepSource(_ source: String, of key: AvatarKey) async throws {
        guard !isReadOnly, let entry = try index.entry(for: key) else { return }
        let url = try AvatarKey(url: source)
        guard entry.sourceURL != url.rawValue, let host = url.host else { return }
        try await requireWritable().writer.setSource(url.rawValue, host: host.description, of: key)
    }

    /// Moves what is stored in `caches` to `documents` if the caller asked for that.
    private func promote<Stored: StoredResult>(
        _ stored: Stored,
        _ options: FetchOptions,
        _ read: () throws -> Stored?
    ) async throws -> Stored {
        guard options.storage == .documents, stored.file.storageClass == .caches, !isReadOnly,
            try await move(stored.file.key, to: .documents), var moved = try read()
        else { return stored }
        let before = stored.file
        moved.file.isStale = before.isStale
        moved.file.source = before.source
        moved.file.failure = before.failure
        moved.file.failureMessage = before.failureMessage
        return moved
    }

    /// The last good image, with the reason why it is not a new one.
    private func fallback<Stored: StoredResult>(
        _ stored: Stored?,
        _ error: AvatarStoreError,
        _ options: FetchOptions
    ) throws -> Stored {
        let kind = error.failure ?? .storage
        guard var stored,
            try allowsStale(stored.file.key, options, Freshness.StaleCause(kind))
        else { throw error }
        stored.file.isStale = true
        stored.file.failure = kind
        stored.file.failureMessage = error.message
        return stored
    }
}

/// What a read finds in the store: a file, with or without its bytes.
protocol StoredResult {
    var file: AvatarFile { get set }
}

extension StoredResult {
    fileprivate func coming(from source: AvatarFile.Source) -> Self {
        var result = self
        result.file.source = source
        return result
    }
}

extension AvatarImage: StoredResult {}

extension AvatarFile: StoredResult {
    var file: AvatarFile {
        get { self }
        set { self = newValue }
    }
}

/// What a read comes to.
enum Resolution<Stored: StoredResult> {
    case stored(Stored)
    case unstored(AvatarImage)

    fileprivate var source: AvatarFile.Source {
        switch self {
        case .stored(let stored): stored.file.source
        case .unstored: .origin
        }
    }
}
