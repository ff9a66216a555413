import AvatarCore
package import AvatarFileSystem
import AvatarFoundation

/// Puts a new index in the place of one that is damaged or lost.
extension AvatarIndex {
    /// Renames the index at `path`, with its log, to `index.sqlite.damaged-TIME`. Files that do not exist are skipped.
    package static func setAside(at path: String, on fileSystem: any FileSystem) throws {
        // Such as 20250309T140507Z.
        let time = systemTime().iso8601.filter { $0 != "-" && $0 != ":" }.prefix { $0 != "." }
        let target = path + ".damaged-\(time)Z"
        for suffix in ["", "-wal", "-shm"] {
            let (from, to) = (path + suffix, target + suffix)
            guard fileSystem.renameat(AT_FDCWD, from, AT_FDCWD, to) == 0 || errno == ENOENT else {
                throw AvatarStoreError(
                    .storage,
                    "The damaged index \(from) could not be renamed (\(String(cString: strerror(errno)))).",
                    failure: .storage
                )
            }
        }
        IndexFile.synchronizeFolder(of: path, on: fileSystem)
    }

    /// The number of contacts and of settings in the index at `path`, as far as a damaged one can be read.
    ///
    /// - Returns: `nil` for a number that cannot be read.
    package static func countUnrecoverable(
        at path: String,
        on fileSystem: any FileSystem
    ) -> (contacts: Int?, settings: Int?) {
        func count(_ sql: String) -> Int? {
            do {
                guard try IndexFile.hasContent(path, on: fileSystem) else { return nil }
                let connection = try ReadConnection(
                    path: path,
                    on: fileSystem,
                    isImmutable: false,
                    busyTimeoutSeconds: IndexFile.busyTimeoutSeconds
                )
                return try connection.integer(sql).map { Int($0) }
            } catch {
                // That it cannot be read is why it is replaced; the number is not known.
                return nil
            }
        }
        let settings = "FROM setting WHERE name NOT LIKE '\(positionPrefix)%' AND name <> '\(SharedSQL.reachName)'"
        return (
            count("SELECT count(DISTINCT contact) FROM owner"),
            count("SELECT (SELECT count(*) \(settings)) + (SELECT count(*) FROM text_setting)")
                ?? count("SELECT count(*) \(settings)")
        )
    }

    /// Removes the indexes that were set aside, and automatic copies.
    ///
    /// - Returns: the paths of those that could not be removed; the folder itself if it cannot be listed.
    package func removeSetAside() -> [String] {
        let folder = path.parentPath
        let prefix = path.lastPathPart + ".damaged-"
        guard let names = fileSystem.names(ofFolder: folder) else { return [folder] }
        let paths = names.filter { $0.hasPrefix(prefix) }.map { folder + "/" + $0 }
        var left = paths.filter { fileSystem.unlinkat(AT_FDCWD, $0, 0) != 0 && errno != ENOENT }
        left += UpgradeCopy(path: path, fileSystem: fileSystem, fileMode: 0o600).removeAll()
        IndexFile.synchronizeFolder(of: path, on: fileSystem)
        return left
    }

    /// Puts an empty index of the store `storeID` at `path`, durably.
    ///
    /// It is made under another name first: a process that opens the store meanwhile finds no index, or a whole one.
    ///
    /// - Throws: `busy` if there is one already.
    package static func putInPlace(
        at path: String,
        on fileSystem: any FileSystem,
        fileMode: UInt32,
        storeID: String
    ) throws {
        // Those of rebuilds that were killed. One that runs at this moment fails, and can be tried again.
        for left in IndexFile.temporaryNames(of: path, on: fileSystem) { fileSystem.unlinkat(AT_FDCWD, left, 0) }
        let temporary = IndexFile.temporaryName(of: path)
        defer { for suffix in ["", "-wal", "-shm"] { fileSystem.unlinkat(AT_FDCWD, temporary + suffix, 0) } }
        let index = try AvatarIndex.open(path: temporary, on: fileSystem, fileMode: fileMode)
        try index.write(.power) { transaction in
            _ = try transaction.storeID(orNew: storeID)
            try transaction.restartFeed(at: systemTime())
        }
        try index.truncateWAL()
        try index.close()
        guard fileSystem.linkat(AT_FDCWD, temporary, AT_FDCWD, path) == 0 else {
            if errno == EEXIST {
                throw AvatarStoreError(.busy, "Another process made \"\(path)\" meanwhile. Try again.")
            }
            throw AvatarStoreError(
                .storage,
                "A new index could not be put at \(path) (\(String(cString: strerror(errno)))).",
                failure: .storage
            )
        }
        IndexFile.synchronizeFolder(of: path, on: fileSystem)
    }
}
