public import AvatarCore
import AvatarFiles
import AvatarIndex

/// What compacting made of the index.
public struct CompactionReport: Hashable, Sendable {
    /// The bytes of the index before.
    public var bytesBefore: Int
    /// The bytes of the index now.
    public var bytes: Int
    /// Bytes that are given back to the disk, or with a preview would be.
    public var bytesFreed: Int
}

extension AvatarStore {
    /// Gives the disk what deleted rows have left unused in the index. Image files leave nothing unused.
    ///
    /// Others may use the store meanwhile: the write lock is taken for short moments. It takes no copy of the index; only
    /// one that was put together from a dump is rewritten, which takes twice its size of free disk.
    ///
    /// - Parameter progress: is told how far it has come.
    /// - Returns: what was done, also if the task was cancelled meanwhile; another call goes on from there.
    /// - Throws: `diskFull` with nothing changed; `busy`; another error of the index.
    @discardableResult
    public func compact(progress: @escaping ProgressHandler = { _ in }) async throws -> CompactionReport {
        let directory = configuration.layout.indexDirectory
        return try await requireWritable().writer.compact(progress) {
            try Directory.openRoot(directory, allowsNetwork: true).freeBytes()
        }
    }

    /// What `compact` would do. Possible in a store that is open for reading only.
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
        // What is given back leaves the file with the log.
        try index.truncateWAL()
        let now = try index.space().bytes
        return CompactionReport(bytesBefore: before, bytes: now, bytesFreed: max(0, before - now))
    }
}
