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
        if options.storage == .transient { return try await transientAvatar(for: key, from: source, options) }
        if let stored = try stored(for: key), stored.satisfies(options.policy) {
            return try await promote(stored, options)
        }
        guard options.policy != .offline else {
            throw AvatarStoreError(
                .fetchFailed,
                "\(key) is not stored, and no request was asked for.",
                failure: .offline
            )
        }
        let outcome = try await flights.join(key) { [self] in
            try await fetchAndStore(key, from: source, options)
        }
        return try image(outcome, key, options)
    }

    /// What is stored for `url`; `nil` if nothing is. Never sends a request and waits for nobody.
    ///
    /// - Throws: `unsupportedURL`; an error of the index or disk.
    public func storedAvatar(for url: String) throws -> AvatarImage? {
        try storedAvatar(for: AvatarKey(url: url))
    }

    /// What is stored for `key`; `nil` if nothing is. Never sends a request and waits for nobody.
    public func storedAvatar(for key: AvatarKey) throws -> AvatarImage? {
        try stored(for: key)?.image
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

    private func stored(for key: AvatarKey) throws -> StoredAvatar? {
        try lookTwice(key) { hit in
            guard let bytes = try roots.files(of: hit.file.storageClass).read(hit.file) else { return nil }
            accesses.record(fileID: hit.file.id)
            let isStale = hit.freshUntil.map { $0 <= clock.now() } ?? false
            return StoredAvatar(
                file: hit.file,
                image: AvatarImage(
                    key: key,
                    bytes: bytes,
                    mediaType: hit.file.mediaType,
                    width: hit.file.width,
                    height: hit.file.height,
                    localFile: roots.files(of: hit.file.storageClass).path(of: hit.file),
                    storageClass: hit.file.storageClass,
                    isStale: isStale,
                    source: .store
                )
            )
        }
    }

    /// Moves what is stored in `caches` to `documents` if the caller asked for that.
    private func promote(_ stored: StoredAvatar, _ options: FetchOptions) async throws -> AvatarImage {
        guard options.storage == .documents, stored.file.storageClass == .caches, !isReadOnly else {
            return stored.image
        }
        _ = try await move(stored.image.key, to: .documents)
        return try storedAvatar(for: stored.image.key) ?? stored.image
    }

    private func image(_ outcome: FetchOutcome, _ key: AvatarKey, _ options: FetchOptions) throws -> AvatarImage {
        switch outcome {
        case .unstored(let image):
            return image
        case .stored, .notModified:
            guard var image = try stored(for: key)?.image else {
                throw AvatarStoreError(.storage, "\(key) was removed while it was being fetched.", failure: .storage)
            }
            image.source = if case .notModified = outcome { .revalidated } else { .origin }
            return image
        case .failed(let failure):
            return try fallback(key, failure.kind, failure.message, error: nil)
        case .overBudget(let error):
            return try fallback(key, error.failure ?? .storage, error.message, error: error)
        }
    }

    /// The last good image, with the reason why it is not a new one.
    private func fallback(
        _ key: AvatarKey,
        _ kind: FailureKind,
        _ message: String,
        error: AvatarStoreError?
    ) throws -> AvatarImage {
        guard var image = try stored(for: key)?.image else {
            throw error ?? AvatarStoreError(.fetchFailed, message, failure: kind)
        }
        image.isStale = true
        image.failure = kind
        image.failureMessage = message
        return image
    }
}

/// What the store has for a key.
private struct StoredAvatar {
    let file: FileRecord
    let image: AvatarImage

    func satisfies(_ policy: FetchOptions.Policy) -> Bool {
        switch policy {
        case .cacheFirst, .offline: true
        case .revalidate: !image.isStale
        case .reload: false
        }
    }
}
