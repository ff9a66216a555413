import AvatarCore
import AvatarFiles
import AvatarIndex

/// Work that frees a full disk.
///
/// It needs room itself: for the write-ahead log, its shared memory, and the lock file of the process. So the files that would be
/// evicted first are deleted before it. They are the reserve: no file has to be set apart for it, and a store of an earlier
/// version has them too. Any program may delete files of `caches`, so a process killed in between leaves a state that the store
/// knows: files that are missing.
extension StoreWriter {
    /// Runs `step`, and again after each time that it fails because the disk is full, as long as there are files to delete.
    ///
    /// - Parameter step: a transaction, or work that may be begun again. Its argument tells whether the disk was full: then its
    ///   transactions should be small.
    /// - Throws: the errors of `step`; `diskFull` if no file is left in `caches`.
    func makingRoom<Result>(_ step: (_ isFull: Bool) throws -> Result) throws -> Result {
        var deleted: [Int64] = []
        var room = DiskRoom.first
        while true {
            do {
                let result = try step(!deleted.isEmpty)
                retire(deleted)
                return result
            } catch let error as AvatarStoreError where error.code == .diskFull {
                let files = try DiskRoom.make(room, in: places.stored.caches, index)
                guard !files.isEmpty else { throw error }
                deleted += files
                room *= 2
            }
        }
    }

    /// Evicts the files that were deleted and that the work itself has not evicted.
    private func retire(_ deleted: [Int64]) {
        guard !deleted.isEmpty else { return }
        do {
            let evicted = try write { try evict(deleted, $0) }
            if let evicted { try unlink([], [evicted]) }
        } catch {
            // The next read or sync finds that they are missing.
        }
    }
}

extension AvatarStore {
    /// Opens a store as `open(_:)`, for work that frees the disk: if the disk is full, it makes room as `StoreWriter.makingRoom`.
    ///
    /// - Throws: as `open(_:)`.
    package static func openMakingRoom(_ configuration: Configuration) async throws -> AvatarStore {
        var room = DiskRoom.first
        while true {
            do {
                return try await open(configuration)
            } catch let error as AvatarStoreError where error.code == .diskFull && configuration.access != .readOnly {
                guard try makeRoom(room, configuration) else { throw error }
                room *= 2
            }
        }
    }

    /// Deletes files of a store that cannot be opened for writing.
    ///
    /// - Returns: whether there were any.
    private static func makeRoom(_ bytes: Int, _ configuration: Configuration) throws -> Bool {
        var configuration = configuration
        configuration.access = .readOnly
        let store = try openForReading(configuration)
        let files = try DiskRoom.make(bytes, in: store.roots.caches, store.index)
        try store.closeForReading()
        return !files.isEmpty
    }
}

/// Room on a full disk.
private enum DiskRoom {
    /// The bytes that are freed first: enough for a small transaction and the files beside the index.
    static let first = 256 << 10

    /// Deletes the files of `caches` that would be evicted first, until at least `bytes` bytes are free. Their rows stay.
    ///
    /// - Returns: the row ids of the deleted files; none if no file is left.
    static func make(_ bytes: Int, in caches: StoredFiles, _ index: AvatarIndex) throws -> [Int64] {
        var deleted: [Int64] = []
        var freed = 0
        try index.forEachEvictionFile { file in
            if FilePath.isPublishedName(file.path), try caches.remove(file.path) {
                deleted.append(file.id)
                freed += file.sizeBytes
            }
            return freed < bytes
        }
        return deleted
    }
}
