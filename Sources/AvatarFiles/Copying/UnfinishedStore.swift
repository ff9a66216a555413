package import AvatarCore
import CAvatarSystem

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A store that is being put together from another one: a backup, or what is restored from it.
///
/// ```
/// 1  the mark        index.sqlite.unfinished, locked: somebody is at work here
/// 2  the rest        the index under the name index.sqlite.new, folders, the roots' marks, files
/// 3  durable         everything
/// 4  the name        index.sqlite.new → index.sqlite: from here on it is a store
/// 5  the mark goes
/// ```
///
/// Stopped anywhere before step 4 it is no store to anybody, and whoever does the same again clears it and begins anew.
package final class UnfinishedStore {
    /// Where the index is made.
    package var indexPath: String { place.indexPath }
    private let place: CopyPlace
    private let mark: UnfinishedMark
    /// Whether somebody who was killed had begun it; that is cleared.
    private let isLeftOver: Bool
    private let mode: UInt32
    private var folders: MadeFolders
    private var opened: [Directory]
    /// The classes whose roots are marked as this store's, and were nobody's before.
    private var marked: Set<StorageClass> = []
    /// Whether the index has its name.
    private var isStore = false

    /// Takes the place.
    ///
    /// - Parameter directory: one that may hold nothing else.
    /// - Throws: `notEmpty` if there is an index, or a file in one of the roots; `busy` if somebody else is at work there.
    ///   Nothing was changed.
    package init(
        _ layout: StoreLayout,
        aloneIn directory: String? = nil,
        fileMode: UInt32
    ) throws {
        let place = CopyPlace(layout: layout, directory: directory)
        try place.requireFree(isLeftOver: place.isLeftOver)
        var folders = MadeFolders()
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

    /// Whether a store is being put together at `layout`, or was when the process that did so was killed.
    package static func isBegun(at layout: StoreLayout) -> Bool {
        let place = CopyPlace(layout: layout, directory: nil)
        return place.isLeftOver && !Directory.exists(layout.indexPath)
    }

    private static func takeMark(_ place: CopyPlace) throws -> (UnfinishedMark, isLeftOver: Bool) {
        let mark = try UnfinishedMark.take(place.markPath, roots: place.roots)
        let isLeftOver = mark.wasThere && place.isLeftOver
        do {
            // Once more, now that nobody else can begin here.
            try place.requireFree(isLeftOver: isLeftOver)
            if isLeftOver { try place.clear(marked: Set(StorageClass.allCases)) }
            return (mark, isLeftOver)
        } catch {
            if !isLeftOver { mark.remove() }
            throw (error as? SystemCallError)?.storeError ?? error
        }
    }

    /// Makes the roots and ties them to the store `id`: from here on no other store takes them.
    package func makeRoots(for id: String) throws(AvatarStoreError) -> (caches: Directory, documents: Directory) {
        (try makeRoot(of: .caches, for: id), try makeRoot(of: .documents, for: id))
    }

    private func makeRoot(of storageClass: StorageClass, for id: String) throws(AvatarStoreError) -> Directory {
        let root = try folders.open(place.layout.root(of: storageClass), mode: mode)
        let staging = try folders.open(place.layout.staging(of: storageClass), mode: mode)
        opened += [root, staging]
        if !RootMark.exists(ofRoot: root.path, in: staging.path) { marked.insert(storageClass) }
        try RootMark(of: root, in: staging).claim(id)
        return root
    }

    /// Makes all of it durable, and then a store.
    package func finish(_ fileSystem: any FileSystem) throws {
        do {
            try synchronizeFileSystems()
            try synchronize(indexPath, fileSystem)
            // Nobody else has made an index meanwhile that is of any use: the roots are marked as this store's.
            try place.requireNoIndex()
            try fileSystem.rename(indexPath, in: AT_FDCWD, to: place.layout.indexPath, in: AT_FDCWD)
            isStore = true
            mark.remove()
            try synchronize(place.layout.indexDirectory, fileSystem)
        } catch let error as SystemCallError {
            throw error.storeError
        }
    }

    /// Each file system once: `syncfs` makes files, folders and names durable together.
    private func synchronizeFileSystems() throws(SystemCallError) {
        var done: Set<dev_t> = []
        for directory in opened {
            var information = stat()
            guard fstat(directory.descriptor, &information) == 0 else { throw SystemCallError("stat", directory.path) }
            guard done.insert(information.st_dev).inserted else { continue }
            guard avatar_sync_file_system(directory.descriptor) == 0 else {
                throw SystemCallError("syncfs", directory.path)
            }
        }
    }

    private func synchronize(_ path: String, _ fileSystem: any FileSystem) throws(SystemCallError) {
        let file = try fileSystem.open(path, in: AT_FDCWD, flags: O_RDONLY, mode: 0)
        defer { close(file) }
        try fileSystem.synchronize(file, named: path)
    }

    /// Removes what was made, unless it is a store already. What cannot be removed is known by its mark, and cleared by
    /// whoever tries again.
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

/// The folders that were made on the way, so that they can go again.
struct MadeFolders {
    private var paths: [String] = []

    /// Opens the folder `path`, and makes it and its parents if they are not there.
    mutating func open(_ path: String, mode: UInt32) throws(AvatarStoreError) -> Directory {
        var missing: [String] = []
        var parent = path
        while parent.utf8.count > 1, !Directory.exists(parent) {
            missing.append(parent)
            parent = parent.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(parent[..<$0]) } ?? ""
        }
        paths += missing.reversed()
        return try Directory.makeRoot(path, mode: mode, allowsNetwork: true)
    }

    /// Takes along folders that are there already, made by somebody who is dead.
    mutating func adopt(_ others: [String]) {
        paths += others.filter { !paths.contains($0) }
    }

    /// Removes the folders, as far as nothing lies in them.
    func remove() {
        for path in paths.reversed() { rmdir(path) }
    }
}
