public import AvatarCore
import AvatarIndex
import AvatarProviders

extension AvatarStore {
    /// The ThumbHash of the image of `key`, 5 to 25 bytes: a blurred stand-in to show while the image is fetched. An
    /// entry keeps it while its file is evicted. Sends no request and does not wait for writers.
    ///
    /// `ThumbHash` of the module `AvatarPlaceholder` draws it.
    ///
    /// - Returns: `nil` until a rendition of the image is made.
    /// - Throws: an error of the index.
    public func thumbHash(for key: AvatarKey) throws -> [UInt8]? { try index.thumbHash(for: key) }

    /// Looks up a stored rendition, and records a use of it and of its original.
    func storedRendition<Result>(
        for key: AvatarKey,
        _ rendition: Rendition,
        _ read: (IndexHit, AvatarFile) throws -> Result?
    ) throws -> Result? {
        guard let original = try index.hit(for: key) else { return nil }
        let resolved = rendition.resolved(of: original.file)
        for look in [index.hit(for:rendition:of:), index.hitInFile(for:rendition:of:)] {
            guard let hit = try look(key, resolved.spec, original.file.id) else { return nil }
            if let result = try read(hit, used(hit, key, as: resolved, of: original)) { return result }
        }
        return nil
    }

    /// Records a use of a rendition and of its original, and describes the rendition.
    private func used(_ hit: IndexHit, _ key: AvatarKey, as rendition: Rendition, of original: IndexHit) -> AvatarFile {
        var file = used(hit, key)
        // Record the original last. Otherwise it is evicted first, with all its renditions.
        accesses.record(original, at: clock.now())
        file.rendition = rendition
        return file
    }
}

// MARK: Renditions of images

extension AvatarStore {
    /// The stored rendition of `image`. Decodes nothing, does not wait for writers, and does not count as a use; `open(_:)`
    /// does.
    ///
    /// - Returns: `nil` if the rendition is not made yet, or its file is missing.
    /// - Throws: an error of the index.
    package func rendition(_ rendition: Rendition, of image: StoredImage) throws -> StoredImage? {
        let spec = rendition.resolved(of: image.hit.file).spec
        guard let hit = try index.hit(for: image.key, rendition: spec, of: image.hit.file.id),
            try roots.contains(hit.file)
        else { return nil }
        return try self.image(hit, of: image)
    }

    /// The rendition of `image`, made and stored if necessary. Making one usually takes milliseconds.
    ///
    /// - Parameter rendition: the rendition to make.
    /// - Parameter image: the original.
    /// - Returns: `nil` if the image cannot be decoded, or the rendition cannot be stored. Use the original then.
    /// - Throws: `imageRefused` if no quality and size fits `Rendition.maxBytes`; an error of the index or the disk;
    ///   `CancellationError` if the task is cancelled.
    package func makeRendition(_ rendition: Rendition, of image: StoredImage) async throws -> StoredImage? {
        let resolved = rendition.resolved(of: image.hit.file)
        let outcome = try await RenditionWork(resolved, of: image.hit, image.key, fetching).run()
        guard case .stored(let hit) = outcome else { return nil }
        return try self.image(hit, of: image)
    }

    /// The rendition or the copy with this hit as an image.
    func image(_ hit: IndexHit, of original: StoredImage, isCopy: Bool = false) throws -> StoredImage? {
        guard let digest = try index.digest(ofFile: hit.file.id) else { return nil }
        return StoredImage(
            key: original.key,
            sha256: Hexadecimal.text(digest),
            published: original.published,
            // Decoders write none, and a copy is checked.
            hasMetadata: false,
            hit: hit,
            original: original.hit,
            isCopy: isCopy
        )
    }
}

// MARK: Reads that make a rendition

extension AvatarStore {
    /// Reads the original for a read with a rendition: fetches it if necessary, and has its bytes only if it is not stored.
    func original(
        for key: AvatarKey,
        from source: String?,
        options: FetchOptions
    ) async throws -> RenditionOriginal {
        let look: @Sendable () throws -> AvatarFile? = { [self] in try storedFile(for: key) }
        return try await ImageRead(
            key,
            from: source,
            options: options,
            fetching: fetching,
            stored: { _ in try look().map { RenditionOriginal(file: $0, bytes: nil) } },
            storedFile: look
        ).run()
    }

    /// The rendition of `original` with its bytes, or the original.
    func image(for key: AvatarKey, as rendition: Rendition, of original: RenditionOriginal) async throws -> AvatarImage
    {
        switch try await find(rendition, of: original, key) {
        case .file(let file, let hit):
            if let bytes = try roots.read(hit.file) { return AvatarImage(file: file, bytes: bytes) }
        case .image(let image): return image
        case .original(let file, let bytes):
            if let bytes { return AvatarImage(file: file, bytes: bytes) }
            if var image = try storedImage(for: key) {
                image.file.renditionFailure = file.renditionFailure
                return image
            }
        }
        throw AvatarStoreError.lostMeanwhile(key)
    }

    /// The rendition of `original` as a file, or the original.
    func file(for key: AvatarKey, as rendition: Rendition, of original: RenditionOriginal) async throws -> AvatarFile {
        switch try await find(rendition, of: original, key) {
        case .file(let file, _): file
        case .image(let image): image.file
        case .original(let file, _): file
        }
    }

    private enum Found {
        case file(AvatarFile, IndexHit)
        case image(AvatarImage)
        case original(AvatarFile, [UInt8]?)
    }

    /// Finds or makes the rendition. If the original is replaced meanwhile, finds or makes that of the new original.
    private func find(_ rendition: Rendition, of original: RenditionOriginal, _ key: AvatarKey) async throws -> Found {
        var file = original.file
        guard original.bytes == nil else {
            file.renditionFailure =
                "A rendition needs a stored image, but this one is not stored (`no-store`, or the storage `transient`)."
            return .original(file, original.bytes)
        }
        for _ in 0..<4 {
            guard let hit = try index.hit(for: key) else { break }
            let resolved = rendition.resolved(of: hit.file)
            switch try await RenditionWork(resolved, of: hit, key, fetching).run() {
            case .stored(let stored):
                return .file(used(stored, key, as: resolved, of: hit).after(original.file), stored)
            case .made(let made):
                return .image(AvatarImage(made, as: resolved, original.file))
            case .none(let reason):
                file.renditionFailure = reason
                return .original(file, nil)
            case .lost: continue
            }
        }
        throw AvatarStoreError.lostMeanwhile(key)
    }
}

/// The original of a rendition as a read found it.
struct RenditionOriginal: ReadResult {
    var file: AvatarFile
    /// The bytes of an image that is not stored; `nil` for a stored one.
    let bytes: [UInt8]?

    init(file: AvatarFile, bytes: [UInt8]?) {
        self.file = file
        self.bytes = bytes
    }

    init(notStored image: AvatarImage) {
        self.init(file: image.file, bytes: image.bytes)
    }
}

extension Rendition {
    /// The rendition that is made of `file`.
    func resolved(of file: FileRecord) -> Rendition {
        resolved(mediaType: file.mediaType, width: file.width, height: file.height)
    }
}

extension AvatarFile {
    /// The same file, with the freshness, source and failure of the read of the original.
    fileprivate func after(_ original: AvatarFile) -> AvatarFile {
        var file = self
        file.isStale = original.isStale
        file.source = original.source
        file.failure = original.failure
        file.failureMessage = original.failureMessage
        return file
    }
}

extension AvatarImage {
    /// A rendition that is not stored.
    fileprivate init(_ made: MadeRendition, as rendition: Rendition, _ original: AvatarFile) {
        var file = original
        file.sizeBytes = made.bytes.count
        file.mediaType = made.mediaType
        file.width = made.width
        file.height = made.height
        file.localFile = nil
        file.storageClass = nil
        file.rendition = rendition
        file.thumbHash = made.thumbHash
        self.init(file: file, bytes: made.bytes)
    }
}

extension AvatarStoreError {
    /// The error for an image that other processes removed during each attempt.
    fileprivate static func lostMeanwhile(_ key: AvatarKey) -> AvatarStoreError {
        AvatarStoreError(
            .fetchFailed,
            "Other processes evicted or replaced \"\(key)\" during each attempt to read it. Try again.",
            failure: .storage
        )
    }
}
