package import AvatarCore
package import AvatarFileSystem
import AvatarFoundation

/// Files that a repair removes from the store but does not delete. They are kept in the folder `set-aside` beside the
/// staging folder, for inspection by hand.
extension FileStore {
    /// The path of the folder `set-aside`.
    private var setAsidePlace: String { staging.path + "/../set-aside" }

    /// The absolute paths of the files of `storageClass` in `set-aside`, sorted.
    ///
    /// - Parameters:
    ///   - storageClass: The class that the files were in.
    ///   - staging: The path of the staging folder.
    ///   - fileSystem: The file system of that path.
    package static func setAsidePaths(
        of storageClass: StorageClass,
        beside staging: String,
        on fileSystem: any FileSystem
    ) throws(AvatarStoreError) -> [String] {
        let place = StoreLayout.parent(of: staging) + "/set-aside"
        do throws(SystemCallError) {
            let names = try Directory(opening: place, on: fileSystem).names()
                .filter { $0.hasPrefix(storageClass.rawValue + "-") }
            return names.sorted().map { place + "/" + $0 }
        } catch {
            if error.isMissing { return [] }
            throw error.storeError
        }
    }

    /// Links the file at `path` into `set-aside`, which the store never cleans up. The new name is durable on return.
    ///
    /// - Returns: its absolute path there; `nil` if `path` does not exist.
    package func setAside(_ path: String) throws(AvatarStoreError) -> String? {
        let place = setAsidePlace
        return try withStoreErrors { () throws(SystemCallError) -> String? in
            _ = try fileSystem.makeDirectory(place, in: AT_FDCWD, mode: 0o700)
            let name = path.map { $0 == "/" ? "-" : String($0) }.joined()
            let copy = storageClass.rawValue + "-" + name
            let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
            let target = try fileSystem.open(place, in: AT_FDCWD, flags: flags, mode: 0)
            defer { fileSystem.close(target) }
            guard try link(path, as: copy, in: target) else { return nil }
            try fileSystem.synchronize(target, named: place)
            // Another process may have made the folder, and been killed before it could do this.
            try Directory.synchronizeParent(of: place, on: fileSystem)
            return place + "/" + copy
        }
    }

    /// - Returns: false if `path` does not exist.
    private func link(_ path: String, as copy: String, in target: Int32) throws(SystemCallError) -> Bool {
        do throws(SystemCallError) {
            try root.withFolder(of: path) { (folder, name) throws(SystemCallError) in
                guard fileSystem.linkat(folder, name, target, copy) == 0 || errno == EEXIST else {
                    throw SystemCallError("link", copy)
                }
            }
            return true
        } catch {
            if error.isNotHeld { return false }
            throw error
        }
    }

    /// Deletes files from `set-aside`: those with one of `digests`, and those labelled with one of `keys`.
    ///
    /// - Returns: the absolute paths of files that could not be deleted.
    package func removeSetAside(digests: [[UInt8]], keys: Set<AvatarKey>) throws(AvatarStoreError) -> [String] {
        let place = setAsidePlace
        guard fileSystem.exists(place) else { return [] }
        do {
            let copies = StoredFiles(root: try Directory.openRoot(place, on: fileSystem))
            let prefix = storageClass.rawValue + "-"
            return try copies.root.names().filter { name in
                let path = name.dropFirst(prefix.count)
                let made = "\(path.prefix(2))/\(path.dropFirst(3))"
                let isOurs = name.hasPrefix(prefix) && digests.contains { FilePath.matches(made, sha256: $0) }
                let label = try copies.label(of: name)?.keys.map(AvatarKey.init(stored:)) ?? []
                guard isOurs || !keys.isDisjoint(with: label) else { return false }
                return fileSystem.unlinkat(copies.root.descriptor, name, 0) != 0 && errno != ENOENT
            }.map { place + "/" + $0 }
        } catch {
            throw (error as? SystemCallError)?.storeError ?? (error as? AvatarStoreError)
                ?? AvatarStoreError(.storage, "Cannot read the folder \"\(place)\": \(error)", underlying: error)
        }
    }
}
