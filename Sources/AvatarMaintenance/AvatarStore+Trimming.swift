public import AvatarCore
import AvatarIndex
public import AvatarReports
public import AvatarStore
import AvatarWriter

extension AvatarStore {
    /// Moves the image of `key` to `storageClass` in one step: at every moment it is in one of the two storage classes.
    ///
    /// On return the image is in the index and on disk; moved to `documents`, it is on stable storage.
    /// - Returns: `false` if it was in that storage class already.
    /// - Throws: `noSuchEntry` if there is no stored image, or its file is gone or damaged; `overBudget` if `caches`
    ///   has no room for it; `imageRefused` if the image exceeds limits that were lowered since it was stored; `busy`
    ///   if other processes replaced the image three times meanwhile; `readOnly` in a store that is open for reading
    ///   only; another error of the index or the disk.
    public func move(_ key: AvatarKey, to storageClass: StorageClass) async throws -> Bool {
        try await parts.move(storedKey(for: key), to: storageClass)
    }

    /// Evicts files from `caches`, the least recently used first, until at most `target` bytes are left.
    ///
    /// - Parameter target: in bytes. Default: the low watermark.
    /// - Parameter dryRun: changes nothing and returns the same report; possible in a store that is open for reading only.
    ///   Default: no.
    /// - Parameter progress: called with the bytes evicted so far.
    /// - Returns: the evicted files. A cancelled task stops after a batch of 4,096 files; the report counts those
    ///   evicted until then.
    /// - Throws: `readOnly` in a store that is open for reading only; an error of the index or the disk.
    @discardableResult
    public func trim(
        to target: Int? = nil,
        dryRun: Bool = false,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> EvictionReport {
        let target = try target ?? defaultTrimTarget()
        if dryRun { return try evictions(trimmingTo: target) }
        return EvictionReport(try await requireWritable().writer.trim(to: target, progress: progress))
    }

    /// The report on an eviction down to `target` bytes.
    func evictions(trimmingTo target: Int) throws -> EvictionReport {
        var plan = EvictionPlan(bytes: try index.total(of: .caches).accountedBytes, trimmingTo: target)
        try index.forEachEvictionCandidate { plan.offer(fileID: $0.fileID, sizeBytes: $0.sizeBytes) }
        return EvictionReport(files: plan.victims.count, bytes: plan.freed)
    }
}
