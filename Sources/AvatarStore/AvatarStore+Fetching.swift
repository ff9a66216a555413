import AvatarCore
import AvatarFiles
import AvatarIndex

/// The outcome of one fetch, shared by all tasks that wait for it.
enum FetchOutcome: Sendable {
    /// An image was received and stored. `isChanged`: it replaced other bytes.
    case stored(isChanged: Bool)
    /// The stored image was confirmed, by this fetch or meanwhile by another process.
    case notModified
    /// An image was received that must not be stored.
    case unstored(AvatarImage)
    /// No image was received.
    case failed(FetchFailure)
    /// An image was received, but there was no room for it.
    case overBudget(AvatarStoreError)
}

extension AvatarStore {
    /// Fetches or revalidates one image and commits the result. Several processes that do this at the same time send
    /// one request.
    ///
    /// - Parameter seen: the entry that the decision to fetch was based on. If another process has stored something
    ///   newer since, no request is sent.
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
        // The next holder of the lease finds in the index what is committed here.
        defer { withExtendedLifetime(lease) {} }
        if let outcome = try catchUp(&target) { return outcome }
        try target.consider(lowDataURL: options.lowDataURL, isConstrained: isConstrained)
        let health = try index.health(of: target.host)
        if let failure = refusal(target, health) { return .failed(failure) }
        let result = try await ask(fetcher, for: target, health: health, priority: options.priority)
        guard let change = try arrival(of: result, for: target, within: limits) else {
            return .unstored(try await unstoredImage(result, target))
        }
        return outcome(result, try await writer.commitNow(change, RoomRules(limits)))
    }

    /// Whether the network counts as metered: the caller's own word, else the configuration's.
    func isConstrained(_ said: Bool?) -> Bool {
        said ?? configuration.isConstrained()
    }

    /// Sends the request once a connection slot is free. A failing host gets one request at a time.
    private func ask(
        _ fetcher: Fetcher,
        for target: FetchTarget,
        health: HostHealth,
        priority: FetchPriority
    ) async throws -> FetchResult {
        let limit = health.isFailing ? 1 : nil
        return try await slots.withSlot(target.host, for: target.key, priority, limit: limit) {
            try await fetcher.fetch(target)
        }
    }

    /// The reason why no request may be sent to the host now; `nil` if one may.
    ///
    /// A read of a single image may probe a host that is paused after failures, but not one that asked for the pause.
    private func refusal(_ target: FetchTarget, _ health: HostHealth) -> FetchFailure? {
        let now = clock.now()
        guard let until = health.blockedUntil, until > now, case .nothing = health.admission(at: now) else {
            return nil
        }
        return .leftAlone(target.host, health, until: until, now: now)
    }

    /// The change that a response leads to; `nil` for an image that must not be stored.
    func arrival(of result: FetchResult, for target: FetchTarget, within limits: Limits) throws -> Change? {
        var change = try content(of: result, for: target, within: limits)
        change?.hostNote = result.hostNote
        if let host = result.redirectedHost { change?.askedHost = host }
        return change
    }

    /// The change without its notes about the host; `nil` for an image that must not be stored.
    private func content(
        of result: FetchResult,
        for target: FetchTarget,
        within limits: Limits
    ) throws -> Change? {
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
            // Only an entry with a file gets a conditional request.
            let file = target.entry?.file?.id ?? 0
            let content = Change.Content.confirmed(due(validation, target), file: file)
            return target.change(content, requestedAt: metadata.requestTime)
        case .failed(let failure):
            let content = Change.Content.failed(failure.kind, checked: clock.now(), retryAfter: failure.retryAfter)
            return target.change(content, requestedAt: result.began)
        }
    }

    /// The validation to store. A smaller image is due at once, so that the next sync can fetch the image itself.
    private func due(_ validation: ValidationRecord, _ target: FetchTarget) -> ValidationRecord {
        guard target.isLowData else { return validation }
        var validation = validation
        validation.nextCheck = validation.checked
        return validation
    }

    /// The outcome of a fetch whose change was committed with the result `committed`.
    func outcome(_ result: FetchResult, _ committed: ChangeResult) -> FetchOutcome {
        switch (result.content, committed) {
        case (_, .overBudget(let error)): .overBudget(error)
        case (_, .superseded(let error)): .failed(FetchFailure(kind: .storage, message: error.message))
        case (_, .stored(_, let isChanged)): .stored(isChanged: isChanged)
        case (.failed(let failure), .recorded): .failed(failure)
        case (_, .recorded): .notModified
        }
    }

    /// Fetches an image without storing it, once for all callers that wait for it. The store's image is not read. A
    /// host's request for a pause applies here too, and is stored.
    func transientAvatar(
        for key: AvatarKey,
        from source: String?,
        _ options: FetchOptions
    ) async throws -> AvatarImage {
        guard options.policy != .offline else {
            throw AvatarStoreError(
                .fetchFailed,
                "\(key) cannot be fetched: the policy `offline` forbids requests, and the storage `transient` ignores the "
                    + "stored image.",
                failure: .offline
            )
        }
        var target = try FetchTarget(key: key, source: source, entry: nil, storageClass: .caches)
        target.isTransient = true
        try target.consider(lowDataURL: options.lowDataURL, isConstrained: isConstrained(options.isConstrained))
        let watching = watch(key, options)
        defer { withExtendedLifetime(watching) {} }
        // The image and the smaller one are two downloads: the flight is named after the requested URL.
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
        let result = try await ask(fetcher, for: target, health: health, priority: options.priority)
        if case .failed(let failure) = result.content {
            // No image is stored, but the host's request for a pause applies to all.
            try await requireWritable().writer.note(result.hostNote, of: failure.redirectedHost ?? target.host)
            throw failure.error
        }
        return try await unstoredImage(result, target)
    }

    /// Reads a staged image into memory and discards its file.
    private func unstoredImage(_ result: FetchResult, _ target: FetchTarget) async throws -> AvatarImage {
        guard case .image(let staged, let metadata, _) = result.content else {
            throw AvatarStoreError(
                .storage,
                "The fetch of \(target.key) ended without an image. Try again.",
                failure: .storage
            )
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
