import AvatarCore
import AvatarFiles
import AvatarIndex
import HTTPTypes

/// The parts of an open store that fetches share: the connections, the fetches under way and the client.
///
/// Reads run a fetch with it from beginning to end. A sync takes an engine from it and runs its fetches itself. It is a
/// class so that a read of a stored image copies one reference.
package final class FetchParts: Sendable {
    /// Index, files and writer.
    package let parts: StoreParts
    /// Fetches under way, by key: tasks that want the same image share one.
    let flights = FlightTable<FetchJob.Fetched>()
    /// Fetches of images that are not stored, by URL.
    let transientFlights = FlightTable<AvatarImage>()
    /// Renditions being made, by original and spec.
    let renditionFlights = FlightTable<RenditionWork.Outcome>()
    /// The progress of fetches, for readers that watch them.
    let progress = FetchProgressTable()
    /// The requests of reads, batches and the sync.
    let requests: RequestQueue
    /// Counts reads, misses and fetches of the whole store.
    let metrics: StoreMetrics
    /// The client that sends requests; created by the first fetch.
    package let origin: OriginHolder
    /// The source of answers that is asked before a host; `nil` without one.
    let answers: (any AnswerSource)?

    /// Parts without a fetch under way. A store makes them once, so that all of its fetches share them.
    init(_ parts: StoreParts, _ metrics: StoreMetrics, answers: (any AnswerSource)? = nil) {
        (self.parts, self.metrics, self.answers) = (parts, metrics, answers)
        origin = OriginHolder(parts.configuration)
        requests = RequestQueue(total: origin.mostRequests, perHost: parts.configuration.connectionsPerHost)
    }

    // MARK: Requests

    /// Whether the guard refuses every address that is not globally reachable.
    var refusesAddresses: Bool { origin.addressGuard == .globalOnly }

    /// Whether the network counts as metered: the caller's own word, else the configuration's.
    func isConstrained(_ said: Bool?) -> Bool {
        said ?? parts.configuration.isConstrained()
    }

    /// The header fields that a request for the image would carry; `nil` if its response varies by none.
    ///
    /// - Throws: `invalidConfiguration` as `OriginHolder.client()`.
    func requestFields(for entry: AvatarEntry) throws -> HTTPFields? {
        guard ResponseMetadata(stored: entry.validation).selection != nil, let url = entry.sourceURL else { return nil }
        return try origin.client().requestFields(for: url)
    }

    /// The engine for fetches with `options`.
    private func engine(_ options: FetchOptions) throws -> FetchEngine {
        try engine(
            parts.limits(mode: options.mode, ceiling: options.budgetCeiling),
            timeout: options.timeout,
            isConstrained: isConstrained(options.isConstrained)
        )
    }

    /// An engine that keeps to `limits`.
    ///
    /// - Parameters:
    ///   - timeout: the time for one image in all; `nil`: the configuration's.
    ///   - isConstrained: whether the network is constrained.
    /// - Throws: `readOnly` in a store that is open for reading only; `invalidConfiguration` as `OriginHolder.client()`.
    func engine(_ limits: Limits, timeout: Duration?, isConstrained: Bool) throws -> FetchEngine {
        let writable = try parts.requireWritable()
        let fetcher = try fetcher(limits, timeout: timeout, writable)
        return FetchEngine(self, writable, fetcher: fetcher, isConstrained: isConstrained)
    }

    /// A fetcher that keeps to `limits`, with the client that the first call creates.
    private func fetcher(_ limits: Limits, timeout: Duration?, _ writable: StoreParts.Writable) throws -> Fetcher {
        Fetcher(
            try origin.client(),
            parts,
            writable,
            timeout: timeout ?? parts.configuration.timeout,
            limits: limits,
            metrics: metrics,
            progress: progress
        )
    }

    // MARK: Fetches of reads

    /// Registers a reader of `key` with its priority and its watch, while the returned value lives.
    func watch(_ key: AvatarKey, _ options: FetchOptions) -> FetchWatching {
        FetchWatching(requests, progress, key: key, options: options)
    }

    /// A job that fetches or revalidates one image and commits the result. Several processes that do this at the same time
    /// send one request.
    ///
    /// - Parameter seen: the entry that the decision to fetch was based on. If another process has stored something
    ///   newer since, no request is sent.
    func job(
        _ key: AvatarKey,
        from source: String?,
        _ options: FetchOptions,
        seen: AvatarEntry?
    ) throws -> FetchJob {
        let engine = try engine(options)
        var target = try FetchTarget(
            key: key,
            source: source,
            entry: seen,
            storageClass: options.storage.storageClass
        )
        target.isUnconditional = options.policy == .reload
        try target.consider(lowDataURL: options.lowDataURL, isConstrained: engine.isConstrained)
        return FetchJob(target, engine)
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
        let engine = try engine(options)
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
