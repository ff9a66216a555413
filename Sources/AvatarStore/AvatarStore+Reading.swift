import AvatarCore
import AvatarIndex

extension AvatarStore {
    /// The image at `address`: the stored one or, if it is missing, the one that the origin sends.
    ///
    /// On return a new image is in the index and on disk; with `FetchOptions.Storage.documents` it is on stable
    /// storage. With `options.rendition` the read returns that rendition of the image, made if necessary; its file is in
    /// `caches`. If the image cannot be decoded, the read returns the original, and `renditionFailure` gives the reason.
    /// - Parameter address: the URL of the image, as a string or as a `URL`, or its key.
    /// - Parameter source: the URL to fetch it from, for a key of your own; the latest one is kept. Default: the URL in
    ///   the key, or the one kept.
    /// - Parameter options: how the image is read. Default: the stored image, else fetched into `caches`.
    /// - Throws: `unsupportedURL` for a URL that cannot be a key; `fetchFailed` if nothing is stored and the origin fails, its host is paused, or the policy is
    ///   `offline` (`failure` tells which); `noSuchEntry` for a key of your own without a URL; `unsupportedURL` for a
    ///   `source` or `lowDataURL` that is not an http or https URL; `overBudget` if the image needs more room than
    ///   `caches` can make; `readOnly` in a store that is open for reading only, if a request is needed;
    ///   `invalidConfiguration` if the store has no client for requests; `imageRefused` if no quality and size of
    ///   `options.rendition` fits its `maxBytes`; another error of the index or the disk; `CancellationError` if the task
    ///   is cancelled.
    public func avatar(
        for address: some AvatarAddress,
        from source: String? = nil,
        options: FetchOptions = FetchOptions()
    ) async throws -> AvatarImage {
        let (key, source) = try place(of: address, from: source, options)
        if let rendition = options.rendition {
            return try await image(for: key, as: rendition, of: original(for: key, from: source, options: options))
        }
        return try await ImageRead(key, from: source, options: options, fetching: fetching) { [self] received in
            try storedImage(for: key, received)
        } storedFile: { [self] in
            try storedFile(for: key)
        }
        .run()
    }

    /// The image at `address` as a file, as `avatar(for:from:options:)`. Its bytes are not read into memory.
    ///
    /// - Parameter address: the URL of the image, or its key.
    /// - Parameter source: the URL to fetch it from, for a key of your own; the latest one is kept.
    /// - Parameter options: how the image is read. Default: the stored image, else fetched into `caches`.
    /// - Returns: an image with `localFile` `nil` if it must not be stored, `options.storage` is `transient`, or `caches` has
    ///   no room for the rendition.
    /// - Throws: as `avatar(for:from:options:)`.
    public func file(
        for address: some AvatarAddress,
        from source: String? = nil,
        options: FetchOptions = FetchOptions()
    ) async throws -> AvatarFile {
        let (key, source) = try place(of: address, from: source, options)
        if let rendition = options.rendition {
            return try await file(for: key, as: rendition, of: original(for: key, from: source, options: options))
        }
        let look: @Sendable () throws -> AvatarFile? = { [self] in try storedFile(for: key) }
        return try await ImageRead(
            key,
            from: source,
            options: options,
            fetching: fetching,
            stored: { _ in try look() },
            storedFile: look
        ).run()
    }

    /// The image stored for `address`, else `nil`. Sends no request and does not wait for writers.
    ///
    /// - Parameter address: the URL of the image, or its key.
    /// - Parameter rendition: a rendition of the image, which counts as a use of its original too. Default: the original. To make
    ///   a rendition, call `avatar(for:from:options:)` with `FetchOptions.rendition`.
    /// - Returns: `nil` if the image is not stored, or the rendition is not made yet.
    /// - Throws: `unsupportedURL` for a URL that cannot be a key; an error of the index or the disk.
    public func storedAvatar(for address: some AvatarAddress, as rendition: Rendition? = nil) throws -> AvatarImage? {
        if let rendition {
            return try storedRendition(for: address.avatarKey, rendition) { hit, file in
                try roots.read(hit.file).map { AvatarImage(file: file, bytes: $0) }
            }
        }
        if let (hit, key) = remembered(address), let image = try image(of: hit, key) {
            metrics.read(from: .store)
            return image
        }
        let image = try readPlaced(address.avatarKey) { try storedImage(for: $0) }
        if image == nil { metrics.miss() } else { metrics.read(from: .store) }
        return image
    }

    /// The image stored for `address` as a file, as `storedAvatar(for:as:)`. Its bytes are not read.
    ///
    /// The file existed with its indexed length when the call returned. Its content never changes, but it may be
    /// unlinked later.
    /// - Parameter address: the URL of the image, or its key.
    /// - Parameter rendition: a rendition of the image. Default: the original.
    /// - Returns: `nil` if the image is not stored, or the rendition is not made yet.
    /// - Throws: `unsupportedURL` for a URL that cannot be a key; an error of the index.
    public func storedFile(for address: some AvatarAddress, as rendition: Rendition? = nil) throws -> AvatarFile? {
        if let rendition {
            return try storedRendition(for: address.avatarKey, rendition) { hit, file in
                try roots.contains(hit.file) ? file : nil
            }
        }
        if let (hit, key) = remembered(address), let file = try file(of: hit, key) { return file }
        return try readPlaced(address.avatarKey) { key in try lookTwice(key) { try file(of: $0, key) } }
    }

    /// The absolute path of the file stored for `address`, else `nil`.
    ///
    /// The file existed with its indexed length when the call returned. Its content never changes, but it may be
    /// unlinked later; `withFile(for:_:)` lends a descriptor that stays valid.
    ///
    /// - Parameter address: the URL of the image, or its key.
    /// - Parameter recordsAccess: whether the call counts as a use for the eviction order. Default: yes.
    /// - Throws: `unsupportedURL` for a URL that cannot be a key; an error of the index.
    public func localFile(for address: some AvatarAddress, recordsAccess: Bool = true) throws -> String? {
        try readPlaced(address.avatarKey) { key in
            try lookTwice(key) { hit in
                guard try roots.contains(hit.file) else { return nil }
                if recordsAccess { accesses.record(hit, at: clock.now()) }
                return roots.path(of: hit.file)
            }
        }
    }

    /// Opens the file stored for `address` and passes its descriptor to `body`. It stays readable even if the file is
    /// unlinked meanwhile; it is closed when `body` returns.
    ///
    /// - Parameter address: the URL of the image, or its key.
    /// - Parameter body: reads the file.
    /// - Returns: the result of `body`; `nil` if nothing is stored.
    /// - Throws: `unsupportedURL` for a URL that cannot be a key; an error of the index or the disk; errors of `body`.
    public func withFile<Result>(
        for address: some AvatarAddress,
        _ body: (_ descriptor: Int32) throws -> Result
    ) throws -> Result? {
        let key = try storedKey(for: address)
        return try lookTwice(key) { hit in
            try roots.withDescriptor(of: hit.file) { descriptor in
                accesses.record(hit, at: clock.now())
                return try body(descriptor)
            }
        }
    }

    /// The key of the image at `address`, and the URL to fetch it from: that of the caller, else one with volatile parameters.
    private func place(
        of address: some AvatarAddress,
        from source: String?,
        _ options: FetchOptions
    ) throws -> (key: AvatarKey, source: String?) {
        let key = try address.avatarKey
        return try source == nil && options.storage != .transient ? place(of: key) : (key, source)
    }

    /// The index's hit in memory for a string that is spelled as a key. Such a hit is found without parsing the URL.
    private func remembered(_ address: some AvatarAddress) -> (hit: IndexHit, key: AvatarKey)? {
        guard let url = address as? String else { return nil }
        let key = AvatarKey(stored: url)
        guard let hit = index.rememberedHit(for: key), hit.isURL else { return nil }
        return (hit, key)
    }

    /// Runs `read` on the index's hit for `key`. If the file is missing, looks once more in the index: another process
    /// may have replaced the image in between.
    func lookTwice<Result>(_ key: AvatarKey, _ read: (IndexHit) throws -> Result?) throws -> Result? {
        guard let hit = try index.hit(for: key) else { return nil }
        if let result = try read(hit) { return result }
        guard let second = try index.hitInFile(for: key), second.file.id != hit.file.id else { return nil }
        return try read(second)
    }

    /// The stored image. Its use is recorded, except that of a new image, whose storing is one. The metrics do not count it.
    ///
    /// - Parameter received: an image that was just stored for `key`: it is neither looked up nor read.
    func storedImage(for key: AvatarKey, _ received: ReceivedImage? = nil) throws -> AvatarImage? {
        if let received {
            let now = clock.now()
            if !received.isFirst { accesses.record(received.hit, at: now) }
            return AvatarImage(file: file(received.hit, key, at: now), bytes: received.bytes)
        }
        return try lookTwice(key) { try image(of: $0, key) }
    }

    private func image(of hit: IndexHit, _ key: AvatarKey) throws -> AvatarImage? {
        guard let bytes = try roots.read(hit.file) else { return nil }
        return AvatarImage(file: used(hit, key), bytes: bytes)
    }

    private func file(of hit: IndexHit, _ key: AvatarKey) throws -> AvatarFile? {
        try roots.contains(hit.file) ? used(hit, key) : nil
    }

    /// Records the access and describes the file.
    func used(_ hit: IndexHit, _ key: AvatarKey) -> AvatarFile {
        let now = clock.now()
        accesses.record(hit, at: now)
        return file(hit, key, at: now)
    }

    private func file(_ hit: IndexHit, _ key: AvatarKey, at now: Timestamp) -> AvatarFile {
        AvatarFile(
            key: key,
            sizeBytes: hit.file.sizeBytes,
            mediaType: hit.file.mediaType,
            width: hit.file.width,
            height: hit.file.height,
            localFile: roots.path(of: hit.file),
            storageClass: hit.file.storageClass,
            isStale: hit.freshUntil.map { $0 <= now } ?? false,
            isLowData: hit.isLowData,
            thumbHash: hit.thumbHash,
            source: .store
        )
    }
}

extension AvatarStore {
    /// The header fields that the image of `key` arrived with; `nil` without any.
    ///
    /// - Throws: an error of the index.
    package func responseFields(for key: AvatarKey) throws -> String? {
        try index.entry(for: key)?.validation.responseFields
    }
}
