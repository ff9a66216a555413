import AvatarPlaceholder
import AvatarStore

/// The source of a front end's images: a store, optionally with a memory cache in front of it.
struct ImageSource: Sendable {
    let store: AvatarStore
    let memory: MemoryCache?

    /// The image, or its rendition if the options have one, if it is available at once, in memory or in the store. Returns
    /// `nil` if the options require more than that, such as a revalidation, a move to another storage class or a rendition
    /// that is not made yet.
    ///
    /// - Throws: an error of the index or disk.
    func stored(_ key: AvatarKey, _ options: FetchOptions) throws(AvatarStoreError) -> AvatarImage? {
        guard answersAtOnce(options) else { return nil }
        return try AvatarStoreError.typed {
            if let image = try kept(key, options) { return image }
            guard let image = try look(key, options), try answers(image.file, options) else { return nil }
            memory?.insert(image, for: key, as: options.rendition)
            return image
        }
    }

    /// The stored image or rendition with its bytes.
    private func look(_ key: AvatarKey, _ options: FetchOptions) throws -> AvatarImage? {
        guard let rendition = options.rendition else { return try store.storedAvatar(for: key) }
        return try store.storedAvatar(for: key, as: rendition)
    }

    /// The stored image or rendition as a file.
    private func lookForFile(_ key: AvatarKey, _ options: FetchOptions) throws -> AvatarFile? {
        guard let rendition = options.rendition else { return try store.storedFile(for: key) }
        return try store.storedFile(for: key, as: rendition)
    }

    /// The image of `key` from memory, from the store or from its host.
    ///
    /// - Throws: `AvatarStoreError`; `CancellationError`.
    func image(_ key: AvatarKey, from url: String? = nil, _ options: FetchOptions) async throws -> AvatarImage {
        if answersAtOnce(options), let image = try kept(key, options) { return image }
        let image = try await store.avatar(for: key, from: url, options: options)
        // An image that must not be stored is not kept in memory either. If the rendition cannot be made, the original is
        // kept as the original.
        if image.localFile != nil {
            memory?.insert(image, for: key, as: image.rendition == nil ? nil : options.rendition)
        }
        return image
    }

    /// The image or the error, as a value. Returns `nil` if the task was cancelled.
    func result(_ key: AvatarKey, _ options: FetchOptions) async -> Result<AvatarImage, AvatarStoreError>? {
        do {
            return .success(try await image(key, options))
        } catch is CancellationError {
            return nil
        } catch {
            return .failure(AvatarStoreError(of: error))
        }
    }

    /// The image in memory, if the store still has the same one. File names are never reused, so an equal name proves
    /// that.
    private func kept(_ key: AvatarKey, _ options: FetchOptions) throws -> AvatarImage? {
        guard let memory, var image = memory.image(for: key, as: options.rendition) else { return nil }
        guard let file = try lookForFile(key, options), file.localFile == image.localFile else {
            memory.remove(key)
            return nil
        }
        guard try answers(file, options) else { return nil }
        image.file = file
        return image
    }

    /// The blurred stand-in for the image of `key` as PNG; `nil` if its ThumbHash is not known. An error is logged, and
    /// returned as `nil`: the fetch that follows reports it.
    func standIn(_ key: AvatarKey) -> [UInt8]? {
        do {
            return try store.thumbHash(for: key).flatMap(ThumbHash.init)?.png
        } catch {
            store.configuration.logger.warning("no stand-in", metadata: ["key": "\(key)", "error": "\(error)"])
            return nil
        }
    }

    /// Whether the options accept a stored image without a request.
    private func answersAtOnce(_ options: FetchOptions) -> Bool {
        guard options.storage != .transient, (options.mode ?? store.configuration.mode) == .offlineFirst else {
            return false
        }
        return options.policy == .cacheFirst || options.policy == .offline
    }

    /// Whether the stored `file` satisfies the options. An image in `caches` does not if `documents` is requested,
    /// because it must be moved. A low-data image does not on an unmetered network, because the regular image replaces
    /// it.
    private func answers(_ file: AvatarFile, _ options: FetchOptions) throws -> Bool {
        guard try options.storage != .documents || isDocument(file) else { return false }
        guard file.isLowData, options.policy != .offline else { return true }
        return options.isConstrained ?? store.configuration.isConstrained()
    }

    /// Whether the image is stored in `documents`. A rendition is always in `caches`, so its original counts.
    private func isDocument(_ file: AvatarFile) throws -> Bool {
        let original = file.rendition == nil ? file : try store.storedFile(for: file.key)
        return original?.storageClass == .documents
    }

    /// The stored image of `key`, shown in place of a missing one: its rendition if that is stored, else the original. An
    /// error is logged, and returned as `nil`: a missing fallback must not hide the failure of the fetch.
    func fallback(_ key: AvatarKey?, as rendition: Rendition? = nil) -> AvatarImage? {
        guard let key else { return nil }
        do {
            if let rendition, let image = try stored(key, FetchOptions(policy: .offline, rendition: rendition)) {
                return image
            }
            return try stored(key, FetchOptions(policy: .offline)) ?? store.storedAvatar(for: key)
        } catch {
            store.configuration.logger.warning("no fallback image", metadata: ["key": "\(key)", "error": "\(error)"])
            return nil
        }
    }
}
