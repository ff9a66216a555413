import AvatarFileSystem
public import AvatarReports
public import AvatarStore
import AvatarCore
import AvatarFiles
import AvatarIndex
import AvatarWriter

/// The result of a compaction, or of its preview.
public struct CompactionReport: Hashable, Sendable {
    /// The size of the index before, in bytes.
    public var bytesBefore: Int
    /// The size of the index after it, in bytes.
    public var bytes: Int
    /// The bytes given back to the disk.
    public var bytesFreed: Int
}

extension AvatarStore {
    /// Shrinks the index file after many removals. Image files leave nothing to reclaim.
    ///
    /// Other processes may use the store meanwhile: the write lock is taken for short moments. No copy of the index is
    /// made, except for an index that was made from an SQL dump: that one is rewritten, which needs twice its size of free
    /// disk.
    ///
    /// - Parameter progress: called as the compaction advances.
    /// - Returns: the bytes reclaimed, even if the task was cancelled; another call goes on from there.
    /// - Throws: `readOnly` in a store that is open for reading only; `diskFull` if there is no room to rewrite the index,
    ///   with nothing changed; `busy` if another process kept the index locked for longer than the wait limit; another
    ///   error of the index.
    @discardableResult
    public func compact(progress: @escaping ProgressHandler = { _ in }) async throws -> CompactionReport {
        let (directory, fileSystem) = (configuration.layout.indexDirectory, parts.fileSystem)
        return try await requireWritable().writer.compact(progress) {
            try Directory.openRoot(directory, on: fileSystem, allowsNetwork: true).freeBytes()
        }
    }

    /// The report that `compact(progress:)` would return. Changes nothing; possible in a store that is open for reading
    /// only.
    ///
    /// - Throws: an error of the index.
    public func compactionPreview() throws -> CompactionReport {
        let space = try index.space()
        return CompactionReport(
            bytesBefore: space.bytes,
            bytes: space.bytes - space.unusedBytes,
            bytesFreed: space.unusedBytes
        )
    }
}

extension StoreWriter {
    fileprivate func compact(
        _ progress: @escaping ProgressHandler,
        freeBytes: @escaping @Sendable () throws -> Int
    ) throws -> CompactionReport {
        let before = try index.space().bytes
        try index.compact(freeBytes: freeBytes, progress)
        // The file shrinks once the write-ahead log is emptied.
        try index.truncateWAL()
        let now = try index.space().bytes
        return CompactionReport(bytesBefore: before, bytes: now, bytesFreed: max(0, before - now))
    }
}
