import AvatarCore
import AvatarFileSystem
package import AvatarFiles
package import AvatarIndex

/// Work that frees a full disk.
///
/// It needs room itself: for the write-ahead log, its shared memory, and the lock file of the process. So the files that would be
/// evicted first are deleted before it. They are the reserve: no file has to be set apart for it, and a store of an earlier
/// version has them too. Any program may delete files of `caches`, so a process killed in between leaves a state that the store
/// knows: files that are missing.
extension Evictor {
    /// Runs `step`, and again after each time that it fails because the disk is full, as long as there are files to delete.
    ///
    /// - Parameter step: a transaction, or work that may be begun again. Its argument tells whether the disk was full: then its
    ///   transactions should be small.
    /// - Throws: the errors of `step`; `diskFull` if no file is left in `caches`.
    package func makingRoom<Result>(_ step: (_ isFull: Bool) throws -> Result) throws -> Result {
        var deleted: [Int64] = []
        var room = DiskRoom.first
        while true {
            do {
                let result = try step(!deleted.isEmpty)
                retire(deleted)
                return result
            } catch let error as AvatarStoreError where error.code == .diskFull {
                let made = try DiskRoom.make(room, in: places.stored.caches, index)
                deleted += made.files
                guard made.helps else {
                    retire(deleted)
                    throw error
                }
                room *= 2
            }
        }
    }

    /// Evicts the files that were deleted and that the work itself has not evicted.
    private func retire(_ deleted: [Int64]) {
        guard !deleted.isEmpty else { return }
        do {
            try finish(try pending.write { try evict(deleted, in: $0) })
        } catch {
            // The next read or sync finds that they are missing.
        }
    }
}

/// Room on a full disk.
package enum DiskRoom {
    /// The bytes that are freed first: enough for a small transaction and the files beside the index.
    package static let first = 256 << 10

    /// The files that are deleted before the disk of the index must have gained room.
    private static let trial = 16

    /// Deletes the files of `caches` that would be evicted first, until at least `bytes` bytes are free. Their rows stay.
    ///
    /// Nothing is deleted if the index is on another disk. A few files are, if deleting them frees nothing: they have other hard
    /// links, as in a backup on the same disk, or the limit is that of a quota.
    ///
    /// - Returns: the row ids of the deleted files, and whether the disk of the index has more room now.
    package static func make(
        _ bytes: Int,
        in caches: StoredFiles,
        _ index: AvatarIndex
    ) throws -> (files: [Int64], helps: Bool) {
        let folder = index.path.lastIndex(of: "/").map { String(index.path[..<$0]) } ?? "."
        let disk = try withStoreErrors { () throws(SystemCallError) in
            try Directory(opening: folder.isEmpty ? "/" : folder, on: caches.root.fileSystem)
        }
        guard try caches.root.isInFileSystem(of: disk) else { return ([], false) }
        var (deleted, freed, helps) = ([Int64](), 0, false)
        let before = try disk.freeBytes()
        try index.forEachEvictionFile { file in
            if FilePath.isPublishedName(file.path), try caches.remove(file.path) {
                deleted.append(file.id)
                freed += file.sizeBytes
            }
            guard freed >= bytes || deleted.count % trial == trial - 1 else { return true }
            helps = try disk.freeBytes() > before
            return helps && freed < bytes
        }
        if !deleted.isEmpty, !helps { helps = try disk.freeBytes() > before }
        return (deleted, helps)
    }
}
