import AvatarFileSystem
@_exported public import AvatarReports
public import AvatarStore
public import AvatarCore
import AvatarFiles
import AvatarIndex
import AvatarFoundation

extension AvatarStore {
    /// One page of the entries that match `query`.
    ///
    /// - Parameter query: the filter, order and page. Default: the first page of all entries.
    /// - Throws: `invalidConfiguration` for a `query.limit` below 1, or a `query.after` that no page in this order
    ///   returned; an error of the index.
    public func list(_ query: AvatarListQuery = AvatarListQuery()) throws -> AvatarListPage {
        var page = try index.list(query.withSortName)
        page.items = page.items.map(\.withoutForeignFile)
        return page
    }

    /// The keys of all entries that match `query`, read page by page. Entries that other processes add meanwhile may be
    /// missing.
    ///
    /// - Throws: as `list(_:)`.
    public func keys(_ query: AvatarListQuery) throws -> [AvatarKey] {
        var query = query
        var keys: [AvatarKey] = []
        while true {
            let page = try list(query)
            keys += page.items.map(\.key)
            guard let next = page.next else { return keys }
            query.after = next
        }
    }

    /// The bytes of all files in `caches`. Reads one row, however large the store is.
    ///
    /// - Throws: an error of the index.
    public func cachesBytes() throws -> Int {
        try index.total(of: .caches).bytes
    }

    /// Counts and bytes of the store. Reads all entries for their states and all folders for the blocks of their files:
    /// seconds for a million entries.
    ///
    /// - Throws: an error of the index.
    public func statistics() throws -> StoreStatistics {
        let counted = try index.statistics()
        let layout = configuration.layout
        let fileSystem = parts.fileSystem
        let staging = Set([layout.staging(of: .caches), layout.staging(of: .documents)])
            .map { DiskUsage(foldersIn: $0, on: fileSystem) }
        let wal = DiskUsage(file: layout.indexPath + "-wal", on: fileSystem)
        let index = [layout.indexPath, layout.indexPath + "-shm"].map { DiskUsage(file: $0, on: fileSystem) }
        let roots = [layout.cachesRoot, layout.documentsRoot].map { DiskUsage(folder: $0, on: fileSystem) }
        let (budget, ailing) = (try self.index.budget(), try ailingHosts())
        let renditions = try self.index.renditionTotal()
        return StoreStatistics(
            entries: counted.entries,
            files: counted.caches.files + counted.documents.files,
            cachesBytes: counted.caches.bytes,
            documentsBytes: counted.documents.bytes,
            stagingBytes: staging.reduce(0) { $0 + $1.bytes },
            pendingBytes: counted.caches.pendingBytes + counted.documents.pendingBytes,
            budgetBytes: budget,
            lowWatermarkBytes: try self.index.lowWatermark(budget: budget),
            walBytes: wal.bytes,
            allocatedBytes: (staging + index + roots + [wal]).reduce(0) { $0 + $1.allocatedBytes },
            states: counted.states,
            hosts: counted.hosts,
            pausedHosts: ailing.count { $0.until != nil },
            failingHosts: ailing.compactMap { FailingHost($0) }.sorted {
                ($1.failures, $0.host) < ($0.failures, $1.host)
            }
            .prefix(Self.mostFailingHosts).map(\.self),
            oldestAccess: counted.oldestAccessMicroseconds.map { Timestamp(milliseconds: $0 / 1000) },
            newestAccess: counted.newestAccessMicroseconds.map { Timestamp(milliseconds: $0 / 1000) },
            schemaVersion: counted.schemaVersion,
            addressGuard: fetching.origin.addressGuard,
            lastSync: counted.lastSync,
            renditions: renditions.count,
            renditionBytes: renditions.bytes,
            failures: counted.failures,
            neverHad: counted.neverHad,
            sources: try self.index.sources().compactMap { source in
                source.syncedAt.map { SourceStatistics(name: source.name, lastSync: $0, failure: source.failure) }
            },
            sharedTier: try self.index.tierUse().map(SharedTierStatistics.init)
        )
    }

    /// How the last sync ended, as in `statistics()`; `nil` before the first one.
    package func lastSync() throws -> LastSync? {
        try index.lastSync()
    }

    /// The most hosts in `StoreStatistics.failingHosts`.
    private static let mostFailingHosts = 20

    /// All that the store knows about the entry for `key`; `nil` if there is no entry.
    ///
    /// - Throws: an error of the index.
    public func details(for key: AvatarKey) throws -> AvatarDetails? {
        let key = try storedKey(for: key)
        guard let entry = try index.entry(for: key), let overview = try index.overview(of: key) else { return nil }
        let sharing = try entry.file.map { try index.keys(usingFile: $0.id).filter { $0 != key } } ?? []
        return try details(entry, overview, sharing: sharing, eviction: try evictionPlace(of: entry))
    }

    /// As `details(for:)`, but without the contacts and the keys that share the file, of which there may be thousands.
    ///
    /// - Parameter withEvictionOrder: whether to count the files evicted before it, reading at most 10,000 rows.
    package func summary(of key: AvatarKey, withEvictionOrder: Bool) throws -> AvatarDetails? {
        guard let entry = try index.entry(for: key),
            let overview = try index.overview(of: key, withContacts: false)
        else { return nil }
        let eviction = withEvictionOrder ? try evictionPlace(of: entry, readingAtMost: Self.mostRows) : nil
        return try details(entry, overview, sharing: [], eviction: eviction)
    }

    private func details(
        _ entry: AvatarEntry,
        _ overview: AvatarListItem,
        sharing: [AvatarKey],
        eviction: EvictionPlace?
    ) throws -> AvatarDetails {
        let validation = entry.validation
        let isFilePresent = try entry.file.map(roots.contains) ?? false
        var overview = overview.withoutForeignFile
        // The index does not know yet that the file was deleted.
        if entry.file != nil, !isFilePresent, [.fresh, .stale].contains(overview.state) { overview.state = .missing }
        // A clock that ran ahead wrote its times.
        if overview.state == .fresh, validation.freshUntil != nil, !validation.isFresh(at: clock.now()) {
            overview.state = .stale
        }
        return AvatarDetails(
            overview: overview,
            sources: try index.sources(ofContacts: overview.contacts),
            localFile: entry.file.flatMap { FilePath.isPublishedName($0.path) ? roots.path(of: $0) : nil },
            isFilePresent: isFilePresent,
            sha256: entry.sha256.map(Hexadecimal.text),
            mediaType: entry.file?.mediaType,
            width: entry.file?.width,
            height: entry.file?.height,
            hasMetadata: try entry.file.flatMap { try index.hasMetadata(ofFile: $0.id) },
            lastModified: validation.lastModified,
            responseFields: validation.responseFields,
            fetched: validation.fetched,
            nextCheck: validation.nextCheck,
            failure: validation.failure,
            failureMessage: validation.failureMessage,
            failureCount: validation.failureCount,
            sharedWith: sharing,
            evictedAfterFiles: eviction.flatMap { $0.isExact ? $0.filesBefore : nil },
            thumbHash: try index.thumbHash(for: entry.key),
            reasons: try reasons(entry, eviction)
        )
    }

    /// The limit on the rows that a summary reads for the eviction order, so that a large store takes no longer.
    private static let mostRows = 10_000

    /// Its position in the order of eviction; `nil` for a document, and without a file.
    private func evictionPlace(of entry: AvatarEntry, readingAtMost limit: Int = .max) throws -> EvictionPlace? {
        guard let file = entry.file, file.storageClass == .caches, let lastAccess = entry.lastAccessMicroseconds else {
            return nil
        }
        return try index.evictionPlace(of: file.id, usedAt: lastAccess, readingAtMost: limit)
    }

    /// Sentences about freshness, the host's pause and the eviction order.
    private func reasons(_ entry: AvatarEntry, _ eviction: EvictionPlace?) throws -> [String] {
        let host = try entry.sourceURL.flatMap { try AvatarKey(url: $0).host?.description }
        let explanation = EntryExplanation(
            entry: entry,
            now: clock.now(),
            isThere: try entry.file.map(roots.contains) ?? false
        )
        let limits = try parts.limits()
        var reasons = explanation.freshness(limits.freshness)
        if let url = entry.sourceURL, entry.key.isURL, url != entry.key.rawValue, let host {
            reasons.append("Its key leaves out parameters of its URL (`avatars config volatile-query`, host \(host)).")
        }
        if let host {
            let health = try index.health(of: host)
            let now = clock.now()
            if let reason = health.reason(at: now) {
                let admission = health.admission(at: now)
                let end = if case .nothing(let until) = admission { " until \(until.localText)" } else { "" }
                reasons.append("Its host, \(host), \(reason)\(end).")
            }
            if let window = try index.hostWindow(of: host) {
                let version = window.isMultiplexed ? "HTTP/2" : "HTTP/1.1"
                reasons.append("Its host, \(host), bears \(window.count) requests at a time over \(version).")
            }
        }
        if let eviction {
            let used = try index.total(of: .caches).accountedBytes
            reasons.append(explanation.eviction(at: eviction, used: used, budget: limits.budget))
        } else if entry.file?.storageClass == .documents {
            reasons.append("It is a document: it is never evicted.")
        }
        return reasons
    }
}

extension AvatarListItem {
    /// The item without a path that no store can have published: an index from elsewhere may name any file.
    fileprivate var withoutForeignFile: AvatarListItem {
        guard let localFile, let slash = localFile.utf8.firstIndex(of: UInt8(ascii: "/")),
            !FilePath.isPublishedName(String(localFile[localFile.utf8.index(after: slash)...]))
        else { return self }
        var item = self
        item.localFile = nil
        item.sizeBytes = nil
        return item
    }
}

extension SharedTierStatistics {
    fileprivate init(_ use: TierUse) {
        self.init(
            taken: use.counts.taken,
            confirmed: use.counts.confirmed,
            put: use.counts.put,
            dropped: use.dropped,
            waiting: use.waiting,
            waitingErasures: use.erasures,
            failure: use.failure?.message,
            failed: use.failure?.time
        )
    }
}
