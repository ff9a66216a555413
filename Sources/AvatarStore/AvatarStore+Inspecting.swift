public import AvatarCore
import AvatarFiles
import AvatarIndex
import Foundation

extension AvatarStore {
    /// One page of the entries that `query` asks for.
    ///
    /// - Throws: `invalidConfiguration` if `query.after` is not what a page gave; an error of the index.
    public func list(_ query: AvatarListQuery = AvatarListQuery()) throws -> AvatarListPage {
        var page = try index.list(query)
        page.items = page.items.map(\.withoutForeignFile)
        return page
    }

    /// All keys that `query` asks for, read page by page.
    public func keys(_ query: AvatarListQuery) throws -> [AvatarKey] {
        var query = query
        var keys: [AvatarKey] = []
        while true {
            let page = try list(query)
            keys += page.items.map { AvatarKey(stored: $0.key) }
            guard let next = page.next else { return keys }
            query.after = next
        }
    }

    /// Bytes of the files in `caches`, from the kept total: costs one row, whatever the size of the store.
    public func cachesBytes() throws -> Int {
        try index.total(of: .caches).bytes
    }

    /// Counts and bytes. Walks the entries once for their states, and the folders for the blocks that files take: seconds
    /// with a million entries.
    public func statistics() throws -> StoreStatistics {
        let counted = try index.statistics()
        let layout = configuration.layout
        let staging = Set([layout.staging(of: .caches), layout.staging(of: .documents)]).map(DiskUsage.init(foldersIn:))
        let wal = DiskUsage(file: layout.indexPath + "-wal")
        let index = [layout.indexPath, layout.indexPath + "-shm"].map(DiskUsage.init(file:))
        let roots = [layout.cachesRoot, layout.documentsRoot].map(DiskUsage.init(folder:))
        let budget = try self.index.budget()
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
            oldestAccess: counted.oldestAccessMicroseconds.map { Timestamp(milliseconds: $0 / 1000) },
            newestAccess: counted.newestAccessMicroseconds.map { Timestamp(milliseconds: $0 / 1000) },
            schemaVersion: counted.schemaVersion,
            guardDescription: guardDescription,
            lastSync: counted.lastSync,
            failures: counted.failures,
            neverHad: counted.neverHad
        )
    }

    /// The entry for `key` in full; `nil` if there is none.
    public func details(for key: AvatarKey) throws -> AvatarDetails? {
        guard let entry = try index.entry(for: key), let overview = try index.overview(of: key) else { return nil }
        let validation = entry.validation
        let eviction = try eviction(of: entry)
        let sharing = try entry.file.map { try index.keys(usingFile: $0.id).filter { $0 != key } } ?? []
        return AvatarDetails(
            overview: overview.withoutForeignFile,
            localFile: entry.file.flatMap { FilePath.isPublishedName($0.path) ? roots.path(of: $0) : nil },
            isFilePresent: entry.file.map(roots.contains) ?? false,
            sha256: entry.sha256.map(Hexadecimal.text),
            mediaType: entry.file?.mediaType,
            width: entry.file?.width,
            height: entry.file?.height,
            lastModified: validation.lastModified,
            responseFields: validation.responseFields,
            fetched: validation.fetched,
            nextCheck: validation.nextCheck,
            failure: validation.failure,
            failureCount: validation.failureCount,
            sharedWith: sharing,
            evictedAfterFiles: eviction,
            reasons: try reasons(entry, eviction)
        )
    }

    /// How many files go before it when room is needed; `nil` for a document, and without a file.
    private func eviction(of entry: AvatarEntry) throws -> Int? {
        guard let file = entry.file, file.storageClass == .caches, let lastAccess = entry.lastAccessMicroseconds else {
            return nil
        }
        return try index.filesEvicted(before: file.id, usedAt: lastAccess)
    }

    private func reasons(_ entry: AvatarEntry, _ eviction: Int?) throws -> [String] {
        let explanation = EntryExplanation(
            entry: entry,
            now: clock.now(),
            isThere: entry.file.map(roots.contains) ?? false
        )
        let limits = try limits(mode: nil, ceiling: nil)
        var reasons = explanation.freshness(limits.freshness)
        if let url = entry.sourceURL, let host = try AvatarKey(url: url).host?.description {
            let health = try index.health(of: host)
            if let reason = health.reason(at: clock.now()) { reasons.append("Its host, \(host), \(reason).") }
        }
        if let eviction {
            let used = try index.total(of: .caches).accountedBytes
            reasons.append(explanation.eviction(after: eviction, used: used, budget: limits.budget))
        } else if entry.file != nil {
            reasons.append("It is a document: it is never evicted.")
        }
        return reasons
    }
}

extension AvatarListItem {
    /// The item without a file that no store can have published: its path may lead anywhere.
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
