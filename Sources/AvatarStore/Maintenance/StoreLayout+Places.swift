import AvatarCore
import AvatarFiles
import Foundation

/// What is asked of places beside a store's own: where a backup or an export goes, where a restored store is to be.
extension StoreLayout {
    /// `path` without slashes at its end.
    ///
    /// - Throws: `invalidConfiguration` for one that is not absolute, and for the root of all.
    static func absoluteDirectory(_ path: String) throws(AvatarStoreError) -> String {
        guard path.hasPrefix("/") else {
            throw AvatarStoreError(.invalidConfiguration, "The path \(path) is not absolute; give it from / on.")
        }
        var directory = path[...]
        while directory.hasSuffix("/") { directory.removeLast() }
        guard !directory.isEmpty else {
            throw AvatarStoreError(.invalidConfiguration, "A directory of its own is needed, not \(path).")
        }
        return String(directory)
    }

    /// - Throws: `invalidConfiguration` if `path` lies in one of the directories that the store is in.
    func requireOutside(_ path: String) throws(AvatarStoreError) {
        let inner = RealPath(path)
        let directories = [indexDirectory] + StorageClass.allCases.flatMap { [root(of: $0), staging(of: $0)] }
        for directory in directories where inner.isInside(RealPath(directory)) {
            throw AvatarStoreError(
                .invalidConfiguration,
                "\(path) lies in \(directory), which is a store's; choose a place outside."
            )
        }
    }

    /// Whether there are files of a store, and no index or an empty file in its place.
    var isIndexLost: Bool {
        DiskUsage(file: indexPath).bytes == 0
            && StorageClass.allCases.contains { RootMark.exists(ofRoot: root(of: $0), in: staging(of: $0)) }
    }

    /// Before an index is made: an empty one in the place of one that got lost would know none of the files, and nobody
    /// could list them again.
    ///
    /// - Throws: `damagedIndex` if there are files of a store and no index; `busy` if a store is being restored there.
    func requireNoLostIndex() throws(AvatarStoreError) {
        guard !UnfinishedStore.isBegun(at: self) else {
            throw AvatarStoreError(
                .busy,
                "A store is being restored at \(indexDirectory), or was when that was killed: wait for it, or try again to "
                    + "restore it."
            )
        }
        guard !isIndexLost else {
            throw AvatarStoreError(
                .damagedIndex,
                "The index \(indexPath) is lost, and files of its store are there; nothing was changed."
            )
        }
    }

    /// - Throws: `noStore` if there is no index; an error of the disk if that cannot be seen.
    func requireIndex() throws(AvatarStoreError) {
        var information = stat()
        guard stat(indexPath, &information) != 0 else { return }
        let error = SystemCallError("stat", indexPath)
        guard error.isMissing || error.number == ENOTDIR else { throw error.storeError }
        throw AvatarStoreError(.noStore, "There is no store at \(indexPath).")
    }
}
