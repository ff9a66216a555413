public import AvatarCore
import AvatarIndex
public import Foundation

extension AvatarStore {
    /// The image at `url`: what is stored or, if nothing is, what the origin sends.
    ///
    /// A new image is in the index and on disk on return, and with `documents` on stable storage.
    /// - Throws: `unsupportedURL`; `fetchFailed` if the origin fails and nothing is stored; `overBudget`; an error of the
    ///   index or disk; `CancellationError`.
    public func avatar(for url: String, options: FetchOptions = FetchOptions()) async throws -> AvatarImage {
        try await avatar(for: AvatarKey(url: url), options: options)
    }

    /// The image at `url`, as `avatar(for:options:)` with its text.
    public func avatar(for url: URL, options: FetchOptions = FetchOptions()) async throws -> AvatarImage {
        try await avatar(for: AvatarKey(url: url.absoluteString), options: options)
    }

    /// The image of `key`.
    ///
    /// - Parameter source: the URL to fetch it from, for a key of the caller's own; the latest one is kept.
    public func avatar(
        for key: AvatarKey,
        from source: String? = nil,
        options: FetchOptions = FetchOptions()
    ) async throws -> AvatarImage {
        switch try await resolve(key, from: source, options, { try storedImage(for: key) }) {
        case .stored(let image): image
        case .unstored(let image): image
        }
    }

    /// The image of `key` as a file: as `avatar(for:from:options:)`, but its bytes are not read into memory.
    ///
    /// - Returns: `localFile` is `nil` for an image that may not be stored, or was asked for as `transient`.
    public func file(
        for key: AvatarKey,
        from source: String? = nil,
        options: FetchOptions = FetchOptions()
    ) async throws -> AvatarFile {
        switch try await resolve(key, from: source, options, { try storedFile(for: key) }) {
        case .stored(let file): file
        case .unstored(let image): image.file
        }
    }

    /// What is stored for `url`; `nil` if nothing is. Never sends a request and waits for nobody.
    ///
    /// - Throws: `unsupportedURL`; an error of the index or disk.
    public func storedAvatar(for url: String) throws -> AvatarImage? {
        try storedAvatar(for: AvatarKey(url: url))
    }

    /// What is stored for `key`; `nil` if nothing is. Never sends a request and waits for nobody.
    public func storedAvatar(for key: AvatarKey) throws -> AvatarImage? {
        try storedImage(for: key)
    }

    /// The absolute path of the file stored for `key`; `nil` if there is none.
    ///
    /// The file was there with its indexed length when the call returned. What lies at the path never changes, but it
    /// may be unlinked later; `withFile(for:_:)` lends a descriptor for use that must not fail.
    ///
    /// - Parameter recordsAccess: whether this counts as a use for the eviction order. Default: yes.
    public func localFile(for key: AvatarKey, recordsAccess: Bool = true) throws -> String? {
        try lookTwice(key) { hit in
            let files = roots.files(of: hit.file.storageClass)
            guard files.contains(hit.file) else { return nil }
            if recordsAccess { accesses.record(fileID: hit.file.id) }
            return files.path(of: hit.file)
        }
    }

    /// Lends an open descriptor of the file stored for `key`, which stays readable whatever happens to its name.
    ///
    /// - Returns: `nil` if nothing is stored.
    public func withFile<Result>(for key: AvatarKey, _ body: (_ descriptor: Int32) throws -> Result) throws -> Result? {
        try lookTwice(key) { hit in
            try roots.files(of: hit.file.storageClass).withDescriptor(of: hit.file) { descriptor in
                accesses.record(fileID: hit.file.id)
                return try body(descriptor)
            }
        }
    }

    /// Runs `read` for what the index has for `key`. If the file vanished meanwhile, looks again once: somebody may
    /// have replaced the image between the two steps.
    private func lookTwice<Result>(_ key: AvatarKey, _ read: (IndexHit) throws -> Result?) throws -> Result? {
        guard let hit = try index.hit(for: key) else { return nil }
        if let result = try read(hit) { return result }
        guard let second = try index.hit(for: key), second.file.id != hit.file.id else { return nil }
        return try read(second)
    }

    private func storedImage(for key: AvatarKey) throws -> AvatarImage? {
        try lookTwice(key) { hit in
            guard let bytes = try roots.files(of: hit.file.storageClass).read(hit.file) else { return nil }
            return AvatarImage(file: used(hit, key), bytes: bytes)
        }
    }

    private func storedFile(for key: AvatarKey) throws -> AvatarFile? {
        try lookTwice(key) { hit in roots.contains(hit.file) ? used(hit, key) : nil }
    }

    /// Records the access.
    private func used(_ hit: IndexHit, _ key: AvatarKey) -> AvatarFile {
        accesses.record(fileID: hit.file.id)
        return AvatarFile(
            key: key,
            sizeBytes: hit.file.sizeBytes,
            mediaType: hit.file.mediaType,
            width: hit.file.width,
            height: hit.file.height,
            localFile: roots.files(of: hit.file.storageClass).path(of: hit.file),
            storageClass: hit.file.storageClass,
            isStale: hit.freshUntil.map { $0 <= clock.now() } ?? false,
            source: .store
        )
    }

    // MARK: Policies

    /// What the policy gives: something that `read` finds in the store, before or after a fetch, or an image that may
    /// not be stored.
    private func resolve<Stored: StoredResult>(
        _ key: AvatarKey,
        from source: String?,
        _ options: FetchOptions,
        _ read: () throws -> Stored?
    ) async throws -> Resolution<Stored> {
        if options.storage == .transient {
            return .unstored(try await transientAvatar(for: key, from: source, options))
        }
        if let source { try await keepSource(source, of: key) }
        if let stored = try read(), try accepts(stored.file, options) {
            return .stored(try await promote(stored, options, read))
        }
        guard options.policy != .offline else {
            throw AvatarStoreError(
                .fetchFailed,
                "\(key) is not stored, and no request was asked for.",
                failure: .offline
            )
        }
        switch try await fetchOnce(key, from: source, options) {
        case .unstored(let image):
            return .unstored(image)
        case .stored:
            return .stored(try await promote(require(read(), key, .origin), options, read))
        case .notModified:
            return .stored(try await promote(require(read(), key, .revalidated), options, read))
        case .failed(let failure):
            return .stored(try await promote(fallback(read(), failure.error, options), options, read))
        case .overBudget(let error):
            return .stored(try await promote(fallback(read(), error, options), options, read))
        }
    }

    /// The outcome of the one fetch for `key`, whoever began it.
    private func fetchOnce(
        _ key: AvatarKey,
        from source: String?,
        _ options: FetchOptions
    ) async throws -> FetchOutcome {
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
        switch options.policy {
        case .reload: return false
        case .revalidate: return !file.isStale
        case .cacheFirst: return !file.isStale || mode(options) == .offlineFirst
        case .offline: return try !file.isStale || allowsStale(file.key, options, .disconnected)
        }
    }

    private func mode(_ options: FetchOptions) -> CachingMode { options.mode ?? configuration.mode }

    /// Whether a stale image may be served (RFC 9111 section 4.2.4).
    private func allowsStale(
        _ key: AvatarKey,
        _ options: FetchOptions,
        _ cause: Freshness.StaleCause
    ) throws -> Bool {
        guard mode(options) == .strict, let entry = try index.entry(for: key) else { return true }
        let freshness = try limits(options).freshness.assess(ResponseMetadata(entry.validation))
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

    private func require<Stored: StoredResult>(
        _ stored: Stored?,
        _ key: AvatarKey,
        _ source: AvatarFile.Source
    ) throws -> Stored {
        guard var stored else {
            throw AvatarStoreError(.storage, "\(key) was removed while it was being fetched.", failure: .storage)
        }
        stored.file.source = source
        return stored
    }

    /// The last good image, with the reason why it is not a new one.
    private func fallback<Stored: StoredResult>(
        _ stored: Stored?,
        _ error: AvatarStoreError,
        _ options: FetchOptions
    ) throws -> Stored {
        let answered: Set<FailureKind> = [.serverError, .gone, .refused, .rateLimited, .unexpectedStatus]
        let kind = error.failure ?? .storage
        guard var stored,
            try allowsStale(stored.file.key, options, answered.contains(kind) ? .originError : .disconnected)
        else { throw error }
        stored.file.isStale = true
        stored.file.failure = kind
        stored.file.failureMessage = error.message
        return stored
    }
}

/// What a read finds in the store: a file, with or without its bytes.
private protocol StoredResult {
    var file: AvatarFile { get set }
}

extension AvatarImage: StoredResult {}

extension AvatarFile: StoredResult {
    fileprivate var file: AvatarFile {
        get { self }
        set { self = newValue }
    }
}

/// What a read comes to.
private enum Resolution<Stored> {
    case stored(Stored)
    case unstored(AvatarImage)
}
