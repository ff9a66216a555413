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
    /// - Parameter key: which image.
    /// - Parameter source: the URL to fetch it from, for a key of the caller's own; the latest one is kept.
    /// - Parameter options: how it is got. Default: what is stored, else fetched into `caches`.
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
        if let (hit, key) = remembered(url), let image = try image(of: hit, key) {
            metrics.read(from: .store)
            return image
        }
        return try storedAvatar(for: AvatarKey(url: url))
    }

    /// What is stored for `key`; `nil` if nothing is. Never sends a request and waits for nobody.
    public func storedAvatar(for key: AvatarKey) throws -> AvatarImage? {
        let image = try storedImage(for: key)
        if image == nil { metrics.miss() } else { metrics.read(from: .store) }
        return image
    }

    /// What is stored for `url` as a file: as `storedAvatar(for:)`, but its bytes are not read.
    ///
    /// The file was there with its indexed length when the call returned. What lies at the path never changes, but it
    /// may be unlinked later.
    public func storedFile(for url: String) throws -> AvatarFile? {
        if let (hit, key) = remembered(url), let file = file(of: hit, key) { return file }
        return try storedFile(for: AvatarKey(url: url))
    }

    /// What is stored for `key` as a file, as `storedFile(for:)` with a URL.
    public func storedFile(for key: AvatarKey) throws -> AvatarFile? {
        try lookTwice(key) { file(of: $0, key) }
    }

    /// The absolute path of the file stored for `key`; `nil` if there is none.
    ///
    /// The file was there with its indexed length when the call returned. What lies at the path never changes, but it
    /// may be unlinked later; `withFile(for:_:)` lends a descriptor for use that must not fail.
    ///
    /// - Parameter key: which image.
    /// - Parameter recordsAccess: whether this counts as a use for the eviction order. Default: yes.
    public func localFile(for key: AvatarKey, recordsAccess: Bool = true) throws -> String? {
        try lookTwice(key) { hit in
            guard roots.contains(hit.file) else { return nil }
            if recordsAccess { accesses.record(hit, at: clock.now()) }
            return roots.path(of: hit.file)
        }
    }

    /// Lends an open descriptor of the file stored for `key`, which stays readable whatever happens to its name.
    ///
    /// - Returns: `nil` if nothing is stored.
    public func withFile<Result>(for key: AvatarKey, _ body: (_ descriptor: Int32) throws -> Result) throws -> Result? {
        try lookTwice(key) { hit in
            try roots.withDescriptor(of: hit.file) { descriptor in
                accesses.record(hit, at: clock.now())
                return try body(descriptor)
            }
        }
    }

    /// What is in memory for `url`, if that is spelled as a key: it is found without a look at each of its characters.
    private func remembered(_ url: String) -> (hit: IndexHit, key: AvatarKey)? {
        let key = AvatarKey(stored: url)
        guard let hit = index.rememberedHit(for: key), hit.isURL else { return nil }
        return (hit, key)
    }

    /// Runs `read` for what the index has for `key`. If the file vanished meanwhile, looks again once: somebody may
    /// have replaced the image between the two steps.
    private func lookTwice<Result>(_ key: AvatarKey, _ read: (IndexHit) throws -> Result?) throws -> Result? {
        guard let hit = try index.hit(for: key) else { return nil }
        if let result = try read(hit) { return result }
        guard let second = try index.hitInFile(for: key), second.file.id != hit.file.id else { return nil }
        return try read(second)
    }

    private func storedImage(for key: AvatarKey) throws -> AvatarImage? {
        try lookTwice(key) { try image(of: $0, key) }
    }

    private func image(of hit: IndexHit, _ key: AvatarKey) throws -> AvatarImage? {
        guard let bytes = try roots.read(hit.file) else { return nil }
        return AvatarImage(file: used(hit, key), bytes: bytes)
    }

    private func file(of hit: IndexHit, _ key: AvatarKey) -> AvatarFile? {
        roots.contains(hit.file) ? used(hit, key) : nil
    }

    /// Records the access.
    private func used(_ hit: IndexHit, _ key: AvatarKey) -> AvatarFile {
        let now = clock.now()
        accesses.record(hit, at: now)
        return AvatarFile(
            key: key,
            sizeBytes: hit.file.sizeBytes,
            mediaType: hit.file.mediaType,
            width: hit.file.width,
            height: hit.file.height,
            localFile: roots.path(of: hit.file),
            storageClass: hit.file.storageClass,
            isStale: hit.freshUntil.map { $0 <= now } ?? false,
            isLowData: hit.isLowData,
            source: .store
        )
    }
}
