package import AvatarCore
package import AvatarFileSystem
import AvatarFoundation

/// A backup or a restored store that is being made.
///
/// ```
/// 1  take the mark      index.sqlite.unfinished, locked while the process is at work
/// 2  write the content  the index as index.sqlite.new, folders, the roots' marks, files
/// 3  synchronize        everything
/// 4  rename             index.sqlite.new → index.sqlite: from here on it is a store
/// 5  remove the mark
/// ```
///
/// If the process is stopped before step 4, no process takes the result for a store. The same backup or restore, run
/// again, clears it and starts over.
package final class UnfinishedStore {
    /// The path under which the caller writes the index.
    package var indexPath: String { place.indexPath }
    /// The paths of the new store.
    private let place: CopyPlace
    /// The locked mark, until the store is finished or abandoned.
    private let mark: UnfinishedMark
    /// Whether the leftovers of a killed process were cleared first.
    private let isLeftOver: Bool
    /// The permissions of new folders.
    private let mode: UInt32
    /// The folders to remove again if the work is abandoned.
    private var folders: MadeFolders
    /// The directories on whose file systems the store is.
    private var opened: [Directory]
    /// The storage classes whose roots this store has claimed, and which were unclaimed before.
    private var marked: Set<StorageClass> = []
    /// Whether the index has its final name.
    private var isStore = false

    /// The file calls.
    private var fileSystem: any FileSystem { place.fileSystem }

    /// Claims the destination, and clears the leftovers of a killed process.
    ///
    /// - Parameters:
    ///   - layout: The paths of the new store.
    ///   - fileSystem: The file system of those paths.
    ///   - directory: A directory that must hold nothing else. Default: none.
    ///   - storeID: The id of a store to restore, whose own caches may be there without an index. Default: none may be.
    ///   - fileMode: The permissions of new files, which decide those of new folders.
    /// - Throws: `notEmpty` if there is an index, or a file in one of the roots; `busy` if another process is at work
    ///   there; nothing is changed then. `unusableRoot`, `readOnly`, `diskFull` or `storage` for other failures.
    package init(
        _ layout: StoreLayout,
        on fileSystem: any FileSystem,
        aloneIn directory: String? = nil,
        restoring storeID: String? = nil,
        fileMode: UInt32
    ) throws {
        let place = CopyPlace(layout: layout, fileSystem: fileSystem, directory: directory, storeID: storeID)
        try place.requireFree(isLeftOver: place.isLeftOver)
        var folders = MadeFolders(on: fileSystem)
        mode = FileStore.directoryMode(for: fileMode)
        do {
            opened = [try folders.open(layout.indexDirectory, mode: mode)]
            (mark, isLeftOver) = try Self.takeMark(place)
        } catch {
            folders.remove()
            throw error
        }
        if isLeftOver { folders.adopt(place.folders) }
        self.place = place
        self.folders = folders
    }

    /// Whether a backup or restore to `layout` is running or was interrupted.
    ///
    /// The next backup or restore to the same place clears the leftovers and starts over.
    package static func isBegun(at layout: StoreLayout, on fileSystem: any FileSystem) -> Bool {
        let place = CopyPlace(layout: layout, fileSystem: fileSystem, directory: nil)
        return place.isLeftOver && !fileSystem.exists(layout.indexPath)
    }

    /// Takes the mark, and clears the files of a killed process. `isLeftOver` says whether there were any.
    ///
    /// - Throws: `busy` if another process is at work there; `notEmpty` if the place is in use.
    private static func takeMark(_ place: CopyPlace) throws -> (UnfinishedMark, isLeftOver: Bool) {
        let mark = try UnfinishedMark.take(place.markPath, on: place.fileSystem, roots: place.roots)
        let isLeftOver = mark.wasThere && place.isLeftOver
        do {
            // Before anything else is made: its remains could not be told from files of the user else.
            try synchronize(place.layout.indexDirectory, on: place.fileSystem)
            // Checked again, now that the lock keeps other processes out.
            try place.requireFree(isLeftOver: isLeftOver)
            if isLeftOver { try place.clear(marked: Set(StorageClass.allCases)) }
            return (mark, isLeftOver)
        } catch {
            if !isLeftOver { mark.remove() }
            throw (error as? SystemCallError)?.storeError ?? error
        }
    }

    /// Creates the roots and claims them for the store `id`, so that no other store can use them.
    ///
    /// - Throws: `unusableRoot` if a root belongs to another store; `readOnly`, `diskFull` or `storage`.
    package func makeRoots(for id: String) throws(AvatarStoreError) -> (caches: Directory, documents: Directory) {
        (try makeRoot(of: .caches, for: id), try makeRoot(of: .documents, for: id))
    }

    /// Creates the root and the staging folder of one class, and puts the mark of the store `id` beside the root. The
    /// mark is durable on return. Caches that the store left behind are emptied: the index to come does not count them.
    private func makeRoot(of storageClass: StorageClass, for id: String) throws(AvatarStoreError) -> Directory {
        let root = try folders.open(place.layout.root(of: storageClass), mode: mode)
        let staging = try folders.open(place.layout.staging(of: storageClass), mode: mode)
        opened += [root, staging]
        if !RootMark.exists(ofRoot: root.path, in: staging.path, on: fileSystem) { marked.insert(storageClass) }
        let wasUnclaimed = try RootMark(of: root, in: staging).claim(id)
        if !wasUnclaimed, storageClass == .caches { _ = try StoredFiles(root: root).removePublishedFiles() }
        return root
    }

    /// Makes everything durable and gives the index its final name. On return the store is complete and durable.
    ///
    /// - Throws: `notEmpty` if an index has appeared meanwhile; `diskFull`, `readOnly` or `storage`.
    package func finish() throws {
        do {
            try Directory.synchronizeFileSystems(of: opened)
            try Self.synchronize(indexPath, on: fileSystem)
            // An index made meanwhile by another program would be unusable: the roots are claimed by this store.
            try place.requireNoIndex()
            try fileSystem.rename(indexPath, in: AT_FDCWD, to: place.layout.indexPath, in: AT_FDCWD)
            isStore = true
            // The mark stays until then, for the same reason as at the begin.
            try Self.synchronize(place.layout.indexDirectory, on: fileSystem)
            mark.remove()
        } catch let error as SystemCallError {
            throw error.storeError
        }
    }

    /// Makes the file or folder at `path` durable.
    private static func synchronize(_ path: String, on fileSystem: any FileSystem) throws(SystemCallError) {
        let file = try fileSystem.open(path, in: AT_FDCWD, flags: O_RDONLY, mode: 0)
        defer { fileSystem.close(file) }
        try fileSystem.synchronize(file, named: path)
    }

    /// Deletes everything that was made, unless the store is finished. If this fails, the mark stays, and the next attempt
    /// clears the rest.
    package func abandon() {
        guard !isStore else { return }
        do throws(SystemCallError) {
            try place.clear(marked: isLeftOver ? Set(StorageClass.allCases) : marked)
        } catch {
            return
        }
        mark.remove()
        folders.remove()
    }
}

/// The folders that were created, so that they can be removed again.
struct MadeFolders {
    /// Parents come before their subfolders, because `remove` goes backwards.
    private var paths: [String] = []
    /// The file calls.
    private let fileSystem: any FileSystem

    /// Has created no folder of `fileSystem` yet.
    init(on fileSystem: any FileSystem) {
        self.fileSystem = fileSystem
    }

    /// Opens the folder `path`; creates it and its parents if they are missing, and remembers which ones it created.
    mutating func open(_ path: String, mode: UInt32) throws(AvatarStoreError) -> Directory {
        var missing: [String] = []
        var parent = path
        while parent.utf8.count > 1, !fileSystem.exists(parent) {
            missing.append(parent)
            parent = parent.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(parent[..<$0]) } ?? ""
        }
        paths += missing.reversed()
        return try Directory.makeRoot(path, on: fileSystem, mode: mode, allowsNetwork: true)
    }

    /// Adds folders that a killed process may have created.
    mutating func adopt(_ others: [String]) {
        paths += others.filter { !paths.contains($0) }
    }

    /// Removes the folders that are empty.
    func remove() {
        for path in paths.reversed() { fileSystem.unlinkat(AT_FDCWD, path, AT_REMOVEDIR) }
    }
}
