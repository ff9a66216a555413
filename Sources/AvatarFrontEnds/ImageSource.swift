import AvatarStore

/// The source of a front end's images: a store, optionally with a memory cache in front of it.
struct ImageSource: Sendable {
    let store: AvatarStore
    let memory: MemoryCache?

    /// The image if it is available at once, in memory or in the store. Returns `nil` if the options require more than
    /// that, such as a revalidation or a move to another storage class.
    ///
    /// - Throws: an error of the index or disk.
    func stored(_ key: AvatarKey, _ options: FetchOptions) throws(AvatarStoreError) -> AvatarImage? {
        guard answersAtOnce(options) else { return nil }
        return try AvatarStoreError.typed {
            if let image = try kept(key, options) { return image }
            guard let image = try store.storedAvatar(for: key), answers(image.file, options) else { return nil }
            memory?.insert(image, for: key)
            return image
        }
    }

    /// The image of `key` from memory, from the store or from its host.
    ///
    /// - Throws: `AvatarStoreError`; `CancellationError`.
    func image(_ key: AvatarKey, from url: String? = nil, _ options: FetchOptions) async throws -> AvatarImage {
        if answersAtOnce(options), let image = try kept(key, options) { return image }
        let image = try await store.avatar(for: key, from: url, options: options)
        // An image that must not be stored is not kept in memory either.
        if image.localFile != nil { memory?.insert(image, for: key) }
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
        guard let memory, var image = memory.image(for: key) else { return nil }
        guard let file = try store.storedFile(for: key), file.localFile == image.localFile else {
            memory.remove(key)
            return nil
        }
        guard answers(file, options) else { return nil }
        image.file = file
        return image
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
    private func answers(_ file: AvatarFile, _ options: FetchOptions) -> Bool {
        guard options.storage != .documents || file.storageClass == .documents else { return false }
        guard file.isLowData, options.policy != .offline else { return true }
        return options.isConstrained ?? store.configuration.isConstrained()
    }

    /// The stored image of `key`, shown in place of a missing one. An error is logged, and returned as `nil`: a missing
    /// fallback must not hide the original failure.
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
