import AvatarCore
import AvatarFiles
import AvatarIndex

/// The fetches of reads: each key once, for all tasks that wait for it.
extension AvatarStore {
    /// The engine for fetches with `options`.
    func fetchEngine(_ options: FetchOptions) throws -> FetchEngine {
        try fetchEngine(
            limits(options),
            timeout: options.timeout,
            isConstrained: isConstrained(options.isConstrained)
        )
    }

    /// An engine that keeps to `limits`.
    ///
    /// - Parameters:
    ///   - timeout: the time for one image in all; `nil`: the configuration's.
    ///   - isConstrained: whether the network is constrained.
    func fetchEngine(_ limits: Limits, timeout: Duration?, isConstrained: Bool) throws -> FetchEngine {
        let writable = try requireWritable()
        return FetchEngine(
            index: index,
            writer: writable.writer,
            places: writable.places,
            slots: slots,
            fetcher: try fetcher(limits, timeout: timeout),
            limits: limits,
            isConstrained: isConstrained,
            clock: clock,
            logger: configuration.logger
        )
    }

    /// Whether the network counts as metered: the caller's own word, else the configuration's.
    func isConstrained(_ said: Bool?) -> Bool {
        said ?? configuration.isConstrained()
    }

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
    ) async throws -> FetchJob.Fetched {
        let engine = try fetchEngine(options)
        var target = try FetchTarget(
            key: key,
            source: source,
            entry: seen,
            storageClass: options.storage.storageClass
        )
        target.isUnconditional = options.policy == .reload
        try target.consider(lowDataURL: options.lowDataURL, isConstrained: engine.isConstrained)
        var job = FetchJob(target, engine)
        return try await job.run(options.priority)
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
        let engine = try fetchEngine(options)
        var target = try FetchTarget(key: key, source: source, entry: nil, storageClass: .caches)
        target.isTransient = true
        try target.consider(lowDataURL: options.lowDataURL, isConstrained: engine.isConstrained)
        let watching = watch(key, options)
        defer { withExtendedLifetime(watching) {} }
        // The image and the smaller one are two downloads: the flight is named after the requested URL.
        let job = FetchJob(target, engine)
        var image = try await transientFlights.join(target.requestKey) {
            try await job.runWithoutStoring(options.priority)
        }
        image.file.key = key
        image.file.isLowData = target.isLowData
        return image
    }
}
