import AvatarStore

/// Where a front end gets its images: a store, and perhaps a memory cache in front of it.
struct ImageSource: Sendable {
    let store: AvatarStore
    let memory: MemoryCache?

    /// What can be had at once, without a request; `nil` if the origin, or the store with more care, has to be asked.
    func stored(_ key: AvatarKey, _ options: FetchOptions) throws(AvatarStoreError) -> AvatarImage? {
        guard answersAtOnce(options) else { return nil }
        return try AvatarStoreError.typed {
            if let image = try kept(key, options) { return image }
            guard let image = try store.storedAvatar(for: key), answers(image.file, options) else { return nil }
            memory?.insert(image, for: key)
            return image
        }
    }

    /// The image of `key`: from memory, from the store, or from its origin.
    ///
    /// - Throws: `AvatarStoreError`; `CancellationError`.
    func image(_ key: AvatarKey, from url: String? = nil, _ options: FetchOptions) async throws -> AvatarImage {
        if answersAtOnce(options), let image = try kept(key, options) { return image }
        let image = try await store.avatar(for: key, from: url, options: options)
        // What may not be stored is not kept in memory either.
        if image.localFile != nil { memory?.insert(image, for: key) }
        return image
    }

    /// What came of asking for an image; `nil` if nobody wants it any more.
    func result(_ key: AvatarKey, _ options: FetchOptions) async -> Result<AvatarImage, AvatarStoreError>? {
        do {
            return .success(try await image(key, options))
        } catch is CancellationError {
            return nil
        } catch {
            return .failure(AvatarStoreError(of: error))
        }
    }

    /// What is in memory, if it is what the store has. A file's name is never used twice, so the same name says that.
    private func kept(_ key: AvatarKey, _ options: FetchOptions) throws -> AvatarImage? {
        guard let memory, var image = memory.image(for: key) else { return nil }
        guard let file = try store.storedFile(for: key), file.localFile == image.localFile else {
            memory.remove(key)
            return nil
        }
        guard answers(file, options) else { return nil }
        image.file = file
        return image
    }

    private func answersAtOnce(_ options: FetchOptions) -> Bool {
        guard options.storage != .transient, (options.mode ?? store.configuration.mode) == .offlineFirst else {
            return false
        }
        return options.policy == .cacheFirst || options.policy == .offline
    }

    /// Whether it will do as it is. An image in `caches` that is asked for as a document has to be moved, and a smaller one
    /// gives way to the image itself where the network is not constrained.
    private func answers(_ file: AvatarFile, _ options: FetchOptions) -> Bool {
        guard options.storage != .documents || file.storageClass == .documents else { return false }
        guard file.isLowData, options.policy != .offline else { return true }
        return options.isConstrained ?? store.configuration.isConstrained()
    }

    /// The own image that takes the place of a missing one. That it cannot be had either is no failure of its own: there
    /// is just no image.
    func fallback(_ key: AvatarKey?) -> AvatarImage? {
        guard let key else { return nil }
        do {
            return try stored(key, FetchOptions(policy: .offline)) ?? store.storedAvatar(for: key)
        } catch {
            store.configuration.logger.warning("no fallback image", metadata: ["key": "\(key)", "error": "\(error)"])
            return nil
        }
    }
}
