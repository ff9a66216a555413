import AvatarCore

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Where a store is to be put together: what may lie there before, and what is cleared if it is not finished.
struct CopyPlace {
    let layout: StoreLayout
    /// A directory that may hold nothing else.
    let directory: String?

    var markPath: String { layout.indexPath + ".unfinished" }
    /// The index until all of it is there.
    var indexPath: String { layout.indexPath + ".new" }
    /// The journal of SQLite while it makes that index. A journal that is left of a killed one would be played back.
    private var journalPath: String { indexPath + "-journal" }
    /// What the mark says.
    var roots: String { "caches: \(layout.cachesRoot)\ndocuments: \(layout.documentsRoot)\n" }

    /// The folders that whoever was killed here may have made.
    var folders: [String] {
        [layout.indexDirectory] + StorageClass.allCases.flatMap { [layout.staging(of: $0), layout.root(of: $0)] }
    }

    /// Whether somebody was killed while at work here, if the mark is nobody's.
    ///
    /// Without an index in the making nothing is: a mark alone is of somebody who had just begun, or was done.
    var isLeftOver: Bool { Directory.exists(markPath) && Directory.exists(indexPath) }

    /// - Parameter isLeftOver: somebody was killed while at work here; what that process made may be there.
    /// - Throws: `notEmpty`.
    func requireFree(isLeftOver: Bool) throws(AvatarStoreError) {
        try requireNoIndex()
        for storageClass in StorageClass.allCases {
            let root = layout.root(of: storageClass)
            try require(try names(in: root), in: root) { isLeftOver && FilePath.digestByte(ofFolder: $0) != nil }
        }
        guard let directory else { return }
        let own = Set([markPath] + (isLeftOver ? [indexPath, journalPath] + folders : []))
        try require(try names(in: directory), in: directory) { own.contains(directory + "/" + $0) }
    }

    /// - Throws: `notEmpty`.
    func requireNoIndex() throws(AvatarStoreError) {
        // A log that is left of another index would be taken for that of the new one.
        for path in ["", "-wal", "-shm", "-journal"].map({ layout.indexPath + $0 }) where Directory.exists(path) {
            throw AvatarStoreError(.notEmpty, "There is \(path) already; choose a place that is empty.")
        }
    }

    private func require(
        _ names: [String],
        in directory: String,
        _ isOurs: (String) -> Bool
    ) throws(AvatarStoreError) {
        guard let name = names.sorted().first(where: { !isOurs($0) }) else { return }
        throw AvatarStoreError(
            .notEmpty,
            "\(directory) is not empty: it holds \(name)\(names.count > 1 ? " and more" : ""). Choose a place that is."
        )
    }

    private func names(in path: String) throws(AvatarStoreError) -> [String] {
        do throws(SystemCallError) {
            return try Directory(opening: path).names()
        } catch {
            if error.number == ENOENT { return [] }
            guard error.number != ENOTDIR && error.number != ELOOP else {
                throw AvatarStoreError(.unusableRoot, "\(path) is a symbolic link or a file, or lies in one.")
            }
            throw error.storeError
        }
    }

    /// Removes the files of a store that will not be finished, then its index, without which it is nothing.
    ///
    /// - Parameter marked: the classes whose roots it marked as its own. What lies in another root is somebody else's.
    func clear(marked: Set<StorageClass>) throws(SystemCallError) {
        for storageClass in marked where Directory.exists(layout.root(of: storageClass)) {
            let root = try Directory(opening: layout.root(of: storageClass))
            for name in try root.names() { try root.removeFolder(name) }
            guard Directory.exists(layout.staging(of: storageClass)) else { continue }
            RootMark(of: root, in: try Directory(opening: layout.staging(of: storageClass))).remove()
        }
        for path in [journalPath, indexPath] {
            guard unlink(path) == 0 || errno == ENOENT else { throw SystemCallError("unlink", path) }
        }
    }
}
