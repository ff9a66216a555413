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
    /// Fetches or revalidates one image and commits what came; once, also if several processes do this at the same time.
    ///
    /// - Parameter seen: what was stored when it was decided to fetch. What another process has brought since then is
    ///   not asked for again.
    func fetchAndStore(
        _ key: AvatarKey,
        from source: String?,
        _ options: FetchOptions,
        seen: AvatarEntry?
    ) async throws -> FetchOutcome {
        let writer = try requireWritable().writer
        let limits = try limits(options)
        let fetcher = try fetcher(limits, timeout: options.timeout)
        var target = try FetchTarget(
            key: key,
            source: source,
            entry: seen,
            storageClass: options.storage.storageClass
        )
        if options.storage == .documents { target.storageClass = .documents }
        target.isUnconditional = options.policy == .reload
        let isConstrained = isConstrained(options.isConstrained)
        try target.consider(lowDataURL: options.lowDataURL, isConstrained: isConstrained)
        let lease = try await lease(of: key, within: fetcher.timeout)
        // Whoever gets it next finds in the index what is committed here.
        defer { withExtendedLifetime(lease) {} }
        if let outcome = try catchUp(&target) { return outcome }
        try target.consider(lowDataURL: options.lowDataURL, isConstrained: isConstrained)
        let health = try index.health(of: target.host)
        if let failure = refusal(target, health) { return .failed(failure) }
        let result = try await ask(fetcher, target, health, options.priority)
        guard let change = try arrival(result, target, limits) else {
            return .unstored(try await unstoredImage(result, target))
        }
        return outcome(result, try await writer.commitNow(change, RoomRules(limits)))
    }

    /// Whether the network is constrained, for a caller who says `said`.
    func isConstrained(_ said: Bool?) -> Bool {
        said ?? configuration.isConstrained()
    }

    /// Asks the origin, once there is a connection for it. A host that keeps failing is asked by one at a time.
    private func ask(
        _ fetcher: Fetcher,
        _ target: FetchTarget,
        _ health: HostHealth,
        _ priority: FetchPriority
    ) async throws -> FetchResult {
        let limit = health.isFailing ? 1 : nil
        return try await slots.withSlot(target.host, for: target.key, priority, limit: limit) {
            try await fetcher.fetch(target)
        }
    }

    /// Why the host may not be asked now; `nil` if it may.
    ///
    /// Whoever asks for one image may try a host that is left alone because it failed, but not one that asked for it.
    private func refusal(_ target: FetchTarget, _ health: HostHealth) -> FetchFailure? {
        let now = clock.now()
        guard let until = health.blockedUntil, until > now, case .nothing = health.admission(at: now) else {
            return nil
        }
        return .leftAlone(target.host, health, until: until, now: now)
    }

    /// The change that a fetch leads to; `nil` for an image that may not be stored.
    func arrival(_ result: FetchResult, _ target: FetchTarget, _ limits: Limits) throws -> Change? {
        var change = try content(of: result, target, limits)
        change?.hostNote = result.hostNote
        if let host = result.redirectedHost { change?.askedHost = host }
        return change
    }

    private func content(of result: FetchResult, _ target: FetchTarget, _ limits: Limits) throws -> Change? {
        switch result.content {
        case .image(let image, let metadata, let mayBeStored):
            guard mayBeStored else { return nil }
            let validation = ValidationRecord(
                metadata,
                fetched: metadata.responseTime,
                policy: limits.freshness,
                jitter: .random(in: 0...1)
            )
            return target.change(.image(image, validation: due(validation, target)), requestedAt: metadata.requestTime)
        case .notModified(let metadata):
            let validation = ValidationRecord(
                metadata,
                fetched: target.entry?.validation.fetched,
                policy: limits.freshness,
                jitter: .random(in: 0...1)
            )
            // Only an entry with a file is asked for conditionally.
            let file = target.entry?.file?.id ?? 0
            let content = Change.Content.confirmed(due(validation, target), file: file)
            return target.change(content, requestedAt: metadata.requestTime)
        case .failed(let failure):
            let content = Change.Content.failed(failure.kind, checked: clock.now(), retryAfter: failure.retryAfter)
            return target.change(content, requestedAt: result.began)
        }
    }

    /// A smaller image is due at once, for the sync that may ask for the image itself.
    private func due(_ validation: ValidationRecord, _ target: FetchTarget) -> ValidationRecord {
        guard target.isLowData else { return validation }
        var validation = validation
        validation.nextCheck = validation.checked
        return validation
    }

    /// What a fetch and its commit came to.
    func outcome(_ result: FetchResult, _ committed: ChangeResult) -> FetchOutcome {
        switch (result.content, committed) {
        case (_, .overBudget(let error)): .overBudget(error)
        case (_, .superseded(let error)): .failed(FetchFailure(kind: .storage, message: error.message))
        case (_, .stored(_, let isChanged)): .stored(isChanged: isChanged)
        case (.failed(let failure), .recorded): .failed(failure)
        case (_, .recorded): .notModified
        }
    }

    /// Fetches an image for the caller, and whoever else asks for it meanwhile. Of what is stored nothing is read, and
    /// nothing stays. Only what the host asked for, such as to be left alone, holds here too.
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
        var target = try FetchTarget(key: key, source: source, entry: nil, storageClass: .caches)
        target.isTransient = true
        try target.consider(lowDataURL: options.lowDataURL, isConstrained: isConstrained(options.isConstrained))
        let watching = watch(key, options)
        defer { withExtendedLifetime(watching) {} }
        // The image and the smaller one are two downloads, whatever they are wanted for.
        var image = try await transientFlights.join(target.requestKey) { [self, target] in
            try await transientAvatar(target, options)
        }
        image.file.key = key
        image.file.isLowData = target.isLowData
        return image
    }

    private func transientAvatar(_ target: FetchTarget, _ options: FetchOptions) async throws -> AvatarImage {
        let health = try index.health(of: target.host)
        if let failure = refusal(target, health) { throw failure.error }
        let fetcher = try fetcher(limits(options), timeout: options.timeout)
        let result = try await ask(fetcher, target, health, options.priority)
        if case .failed(let failure) = result.content {
            // Of the image nothing is kept, but what its host asked for holds for everybody.
            try await requireWritable().writer.note(result.hostNote, of: failure.redirectedHost ?? target.host)
            throw failure.error
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
            isLowData: target.isLowData,
            source: .origin
        )
        return AvatarImage(file: file, bytes: try files.read(staged))
    }
}
