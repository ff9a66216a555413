import AvatarCore
import AvatarFiles
import AvatarIndex

/// What came of one fetch, for all who waited for it.
enum FetchOutcome: Sendable {
    /// An image came and is stored; `isChanged`: it replaced other bytes.
    case stored(isChanged: Bool)
    case notModified
    /// An image came that may not be stored.
    case unstored(AvatarImage)
    case failed(FetchFailure)
    case overBudget(AvatarStoreError)
}

extension AvatarStore {
    /// Fetches or revalidates one image and commits what came.
    func fetchAndStore(_ key: AvatarKey, from source: String?, _ options: FetchOptions) async throws -> FetchOutcome {
        let writer = try requireWritable().writer
        let limits = try limits(options)
        let fetcher = try fetcher(limits, timeout: options.timeout)
        var target = try FetchTarget(
            key: key,
            source: source,
            entry: try index.entry(for: key),
            storageClass: options.storage.storageClass
        )
        if options.storage == .documents { target.storageClass = .documents }
        target.isUnconditional = options.policy == .reload
        if let until = try index.blockedUntil(host: target.host, at: clock.now()) {
            return .failed(.blocked(target.host, until: until, now: clock.now()))
        }
        let result = try await fetcher.fetch(target)
        guard let change = try arrival(result, target, limits) else {
            return .unstored(try await unstoredImage(result, target))
        }
        let outcome = outcome(result, try await writer.commitNow(change, RoomRules(limits)))
        if case .notModified = outcome, options.storage == .documents { _ = try await move(key, to: .documents) }
        return outcome
    }

    /// The change that a fetch leads to; `nil` for an image that may not be stored.
    func arrival(_ result: FetchResult, _ target: FetchTarget, _ limits: Limits) throws -> Change? {
        switch result.content {
        case .image(let image, let metadata, let mayBeStored):
            guard mayBeStored else { return nil }
            let validation = ValidationRecord(metadata, fetched: metadata.responseTime, policy: limits.freshness)
            return target.change(.image(image, validation: validation))
        case .notModified(let metadata):
            let fetched = target.entry?.validation.fetched
            return target.change(.confirmed(ValidationRecord(metadata, fetched: fetched, policy: limits.freshness)))
        case .failed(let failure):
            return target.change(.failed(failure.kind, checked: clock.now(), retryAfter: failure.retryAfter))
        }
    }

    /// What a fetch and its commit came to.
    func outcome(_ result: FetchResult, _ committed: ChangeResult) -> FetchOutcome {
        switch (result.content, committed) {
        case (_, .overBudget(let error)): .overBudget(error)
        case (_, .stored(let isChanged)): .stored(isChanged: isChanged)
        case (.failed(let failure), .recorded): .failed(failure)
        case (_, .recorded): .notModified
        }
    }

    /// Fetches an image for the caller alone: the store is neither read nor written.
    func transientAvatar(
        for key: AvatarKey,
        from source: String?,
        _ options: FetchOptions
    ) async throws -> AvatarImage {
        guard options.policy != .offline else {
            throw AvatarStoreError(
                .fetchFailed,
                "\(key) can only come from its origin, and no request was asked for.",
                failure: .offline
            )
        }
        let target = try FetchTarget(key: key, source: source, entry: nil, storageClass: .caches)
        let result = try await fetcher(limits(options), timeout: options.timeout).fetch(target)
        if case .failed(let failure) = result.content {
            throw AvatarStoreError(.fetchFailed, failure.message, failure: failure.kind)
        }
        return try await unstoredImage(result, target)
    }

    /// Reads a staged image into memory and removes its file.
    private func unstoredImage(_ result: FetchResult, _ target: FetchTarget) async throws -> AvatarImage {
        guard case .image(let staged, let metadata, _) = result.content else {
            throw AvatarStoreError(.storage, "\(target.key) gave no image.", failure: .storage)
        }
        let files = try requireWritable().places.files(of: staged.storageClass)
        defer { files.discard(staged) }
        let freshness = try limits(mode: nil, ceiling: nil).freshness.assess(metadata)
        let file = AvatarFile(
            key: target.key,
            sizeBytes: staged.sizeBytes,
            mediaType: staged.image.format.mediaType,
            width: staged.image.width,
            height: staged.image.height,
            isStale: !freshness.isFresh(at: clock.now()),
            source: .origin
        )
        return AvatarImage(file: file, bytes: try files.read(staged))
    }
}
