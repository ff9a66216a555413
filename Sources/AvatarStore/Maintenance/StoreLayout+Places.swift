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

    /// Whether there are files in a root, and no index that could list them.
    var hasUnlistedFiles: Bool {
        DiskUsage(file: indexPath).bytes == 0
            && StorageClass.allCases.contains { DiskUsage(folder: root(of: $0)).bytes > 0 }
    }

    /// Before a store is made: it is never mixed into other people's files.
    ///
    /// A place for caches alone may be shared with others; the directory of the index is the store's own.
    /// - Throws: `unusableRoot` if there is no index, and its directory holds what is no part of a store.
    func requireOwnDirectory() throws(AvatarStoreError) {
        guard DiskUsage(file: indexPath).bytes == 0, Directory.exists(indexDirectory) else { return }
        let names: [String]
        do throws(SystemCallError) {
            names = try Directory(opening: indexDirectory).names()
        } catch {
            // A file in the place of a directory is reported by what makes the directory.
            if error.number == ENOTDIR { return }
            throw error.storeError
        }
        guard let foreign = names.sorted().first(where: { !isPart(indexDirectory + "/" + $0) }) else { return }
        throw AvatarStoreError(
            .unusableRoot,
            "\"\(indexDirectory)\" is neither empty nor a store: it holds \"\(foreign)\"."
        )
    }

    /// Whether `path` can belong to a store at this place, or to an empty disk.
    private func isPart(_ path: String) -> Bool {
        if path == indexPath || path.hasPrefix(indexPath + "-") || path.hasPrefix(indexPath + ".") { return true }
        for storageClass in StorageClass.allCases {
            let parent = Self.parent(of: root(of: storageClass))
            // `lost+found` is what a new file system holds, `.DS_Store` is Finder's.
            let others = ["set-aside", "lost+found", ".DS_Store"].map { parent + "/" + $0 }
            if ([root(of: storageClass), staging(of: storageClass)] + others).contains(path) { return true }
        }
        return false
    }

    /// Before an index is made: an empty one in the place of one that got lost would know none of the files, and nobody
    /// could list them again.
    ///
    /// - Throws: `damagedIndex` if there are files of a store and no index; `busy` if a store is being restored there.
    func requireNoLostIndex() throws(AvatarStoreError) {
        try requireNoRestore()
        guard !isIndexLost else {
            throw AvatarStoreError(
                .damagedIndex,
                "The index \(indexPath) is lost, and files of its store are there; nothing was changed."
            )
        }
    }

    /// - Throws: `busy` if a store is being restored there.
    func requireNoRestore() throws(AvatarStoreError) {
        guard !UnfinishedStore.isBegun(at: self) else {
            throw AvatarStoreError(
                .busy,
                "A store is being restored at \(indexDirectory), or was when that was killed: wait for it, or try again to "
                    + "restore it."
            )
        }
    }

    /// - Throws: `noStore` if there is no index; an error of the disk if that cannot be seen.
    func requireIndex() throws(AvatarStoreError) {
        var information = stat()
        guard stat(indexPath, &information) != 0 else { return }
        let error = SystemCallError("stat", indexPath)
        guard error.isMissing || error.number == ENOTDIR else { throw error.storeError }
        throw noStore
    }

    /// - Throws: as `requireIndex`; `noStore` also for an empty file in the index's place, which a killed process may have
    ///   left before it made the store.
    func requireStore() throws(AvatarStoreError) {
        try requireIndex()
        guard DiskUsage(file: indexPath).bytes > 0 else { throw noStore }
    }

    private var noStore: AvatarStoreError {
        AvatarStoreError(.noStore, "There is no store at \(indexPath).")
    }
}
