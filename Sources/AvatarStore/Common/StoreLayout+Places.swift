import AvatarCore
package import AvatarFileSystem
import AvatarFiles
import AvatarFoundation

/// Checks of places: for a backup, an export, or a new store.
extension StoreLayout {
    /// `path` without trailing slashes.
    ///
    /// - Throws: `invalidConfiguration` for a path that is not absolute, and for `/`.
    package static func absoluteDirectory(_ path: String) throws(AvatarStoreError) -> String {
        guard path.hasPrefix("/") else {
            throw AvatarStoreError(.invalidConfiguration, "The path \"\(path)\" must be absolute.")
        }
        var directory = path[...]
        while directory.hasSuffix("/") { directory.removeLast() }
        guard !directory.isEmpty else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "The path \"\(path)\" cannot be used: it must name a directory below /."
            )
        }
        return String(directory)
    }

    /// - Throws: `invalidConfiguration` if `path` lies in one of the store's directories.
    package func requireOutside(_ path: String, on fileSystem: any FileSystem) throws(AvatarStoreError) {
        let inner = RealPath(path, on: fileSystem)
        let directories = [indexDirectory] + StorageClass.allCases.flatMap { [root(of: $0), staging(of: $0)] }
        for directory in directories where inner.isInside(RealPath(directory, on: fileSystem)) {
            throw AvatarStoreError(
                .invalidConfiguration,
                "\"\(path)\" must not lie in \"\(directory)\", a directory of the store. Choose a place outside."
            )
        }
    }

    /// Whether the index is missing or empty.
    ///
    /// - Throws: `storage` or `readOnly` if the disk or its permissions prevent an answer: an index that cannot be looked at
    ///   is not lost.
    private func hasNoIndex(on fileSystem: any FileSystem) throws(AvatarStoreError) -> Bool {
        try withStoreErrors { () throws(SystemCallError) in
            try fileSystem.status(of: indexPath).map { $0.st_size == 0 } ?? true
        }
    }

    /// Whether the roots are a store's, but the index is missing or empty.
    ///
    /// - Throws: `storage` or `readOnly` if the disk or its permissions prevent an answer.
    package func isIndexLost(on fileSystem: any FileSystem) throws(AvatarStoreError) -> Bool {
        try hasNoIndex(on: fileSystem)
            && StorageClass.allCases.contains {
                RootMark.exists(ofRoot: root(of: $0), in: staging(of: $0), on: fileSystem)
            }
    }

    /// The error to throw if only the caches of a store are left: without documents and their mark, no index can be
    /// rebuilt that has the id of the caches.
    package func lostStoreError(
        _ code: AvatarStoreError.Code,
        on fileSystem: any FileSystem
    ) throws(AvatarStoreError) -> AvatarStoreError? {
        guard try isIndexLost(on: fileSystem),
            !RootMark.exists(ofRoot: documentsRoot, in: staging(of: .documents), on: fileSystem),
            DiskUsage(folder: documentsRoot, on: fileSystem).bytes == 0
        else { return nil }
        return AvatarStoreError(
            code,
            "The index \"\(indexPath)\" and the documents are lost; only \"\(cachesRoot)\" is left. Nothing was changed. "
                + "Restore a backup with `avatars restore BACKUP`. Without one, move "
                + "\(movablePaths(of: .caches, on: fileSystem)) away; then `avatars sync` makes a new store."
        )
    }

    /// The error for a root that belongs to another store than `id`; `nil` if no root does.
    ///
    /// - Parameter fileSystem: the file system of the store.
    /// - Parameter classes: the storage classes to look at. Default: all.
    func foreignRootError(
        _ id: String,
        on fileSystem: any FileSystem,
        among classes: [StorageClass] = StorageClass.allCases
    ) throws(AvatarStoreError) -> AvatarStoreError? {
        for storageClass in classes {
            let root = root(of: storageClass)
            guard let owner = try RootMark.owner(ofRoot: root, in: staging(of: storageClass), on: fileSystem),
                owner != id
            else { continue }
            return AvatarStoreError(
                .unusableRoot,
                "\"\(root)\" belongs to another store than the index \"\(indexPath)\". To keep this index, move "
                    + "\(movablePaths(of: storageClass, on: fileSystem)) away. To keep those images, move the index away, then run "
                    + "`avatars restore BACKUP` with a backup of their store."
            )
        }
        return nil
    }

    /// Whether a root holds files, but the index is missing or empty.
    ///
    /// - Throws: `storage` or `readOnly` if the disk or its permissions prevent an answer.
    package func hasUnlistedFiles(on fileSystem: any FileSystem) throws(AvatarStoreError) -> Bool {
        try hasNoIndex(on: fileSystem)
            && StorageClass.allCases.contains { DiskUsage(folder: root(of: $0), on: fileSystem).bytes > 0 }
    }

    /// Checks, before a store is created, that it will not mix with foreign files.
    ///
    /// A root for `caches` alone may be shared with others; the directory of the index is the store's own.
    /// - Throws: `unusableRoot` if there is no index, and its directory holds files that are not a store's.
    package func requireOwnDirectory(on fileSystem: any FileSystem) throws(AvatarStoreError) {
        guard try hasNoIndex(on: fileSystem), fileSystem.exists(indexDirectory) else { return }
        let names: [String]
        do throws(SystemCallError) {
            names = try Directory(opening: indexDirectory, on: fileSystem).names()
        } catch {
            // The code that creates the directory reports a file in its place.
            if error.number == ENOTDIR { return }
            throw error.storeError
        }
        guard let foreign = names.sorted().first(where: { !isPart(indexDirectory + "/" + $0) }) else { return }
        throw AvatarStoreError(
            .unusableRoot,
            "\"\(indexDirectory)\" cannot be used for a store: it must be empty, but holds \"\(foreign)\"."
        )
    }

    /// Whether `path` can belong to a store at this place, or to an empty disk.
    private func isPart(_ path: String) -> Bool {
        if path == indexPath || path.hasPrefix(indexPath + "-") || path.hasPrefix(indexPath + ".") { return true }
        for storageClass in StorageClass.allCases {
            let parent = Self.parent(of: root(of: storageClass))
            // A new file system has `lost+found`; Finder creates `.DS_Store`.
            let others = ["set-aside", "lost+found", ".DS_Store"].map { parent + "/" + $0 }
            if ([root(of: storageClass), staging(of: storageClass)] + others).contains(path) { return true }
        }
        return false
    }

    /// Checks, before an index is created, that none was lost: an empty index in its place would list none of the
    /// files.
    ///
    /// - Throws: `damagedIndex` if the files of a store exist without an index; `busy` if a store is being restored
    ///   there.
    func requireNoLostIndex(on fileSystem: any FileSystem) throws(AvatarStoreError) {
        try requireNoRestore(on: fileSystem)
        if let error = try lostStoreError(.damagedIndex, on: fileSystem) { throw error }
        guard try !isIndexLost(on: fileSystem) else {
            throw AvatarStoreError(
                .damagedIndex,
                "The index \"\(indexPath)\" is lost, but its files exist. Nothing was changed. "
                    + damageRemedy(on: fileSystem)
            )
        }
    }

    /// The remedies for an index that is lost or damaged.
    package func damageRemedy(on fileSystem: any FileSystem) -> String {
        "With a backup, move \(movablePaths(on: fileSystem)) away, then run `avatars restore BACKUP`. Without one, "
            + "`avatars verify --repair` rebuilds the index from the documents, if these are left."
    }

    /// - Throws: `busy` if a store is being restored there.
    package func requireNoRestore(on fileSystem: any FileSystem) throws(AvatarStoreError) {
        guard !UnfinishedStore.isBegun(at: self, on: fileSystem) else {
            throw AvatarStoreError(
                .busy,
                "A restore into \"\(indexDirectory)\" is running or was interrupted. Wait for it to finish, or try again to "
                    + "restore it."
            )
        }
    }

    /// - Throws: `noStore` if there is no index; an error of the disk if that cannot be determined.
    package func requireIndex(on fileSystem: any FileSystem) throws(AvatarStoreError) {
        var information = stat()
        guard fileSystem.fstatat(AT_FDCWD, indexPath, &information, 0) != 0 else { return }
        let error = SystemCallError("stat", indexPath)
        guard error.isMissing || error.number == ENOTDIR else { throw error.storeError }
        throw noStore
    }

    /// - Throws: as `requireIndex()`; `noStore` also for an empty file in the index's place, which a process killed
    ///   while creating the store may leave.
    func requireStore(on fileSystem: any FileSystem) throws(AvatarStoreError) {
        try requireIndex(on: fileSystem)
        if try hasNoIndex(on: fileSystem) { throw noStore }
    }

    private var noStore: AvatarStoreError {
        AvatarStoreError(.noStore, "There is no store at \(indexPath).")
    }
}
