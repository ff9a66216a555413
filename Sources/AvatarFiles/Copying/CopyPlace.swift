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

/// Says of a place that a store is being put together there: a file beside its future index, locked by whoever is at it.
///
/// It names the roots, so that whoever clears up after a process that was killed clears only what that process made.
final class UnfinishedMark {
    /// Whether it was there already, and its maker is dead.
    let wasThere: Bool
    private let path: String
    private let lock: Int32

    /// Takes the mark at `path`.
    ///
    /// - Throws: `busy` if somebody is at work there; `notEmpty` if somebody who is dead was, with other roots.
    static func take(_ path: String, roots: String) throws(AvatarStoreError) -> UnfinishedMark {
        while true {
            if let mark = try takeOnce(path, roots) { return mark }
        }
    }

    private init(path: String, lock: Int32, wasThere: Bool) {
        self.path = path
        self.lock = lock
        self.wasThere = wasThere
    }

    deinit {
        close(lock)
    }

    /// Says that the place is finished, or cleared.
    func remove() {
        // Should this fail, it stays beside an index, where it says nothing, or in a place that is cleared next time.
        unlink(path)
    }

    /// `nil` if its owner removed it in this moment.
    private static func takeOnce(_ path: String, _ roots: String) throws(AvatarStoreError) -> UnfinishedMark? {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw SystemCallError("open", path).storeError }
        do throws(AvatarStoreError) {
            guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
                throw AvatarStoreError(.busy, "Another process is at work on a backup or a restore at \(path).")
            }
            if try isNamed(file, path) {
                return UnfinishedMark(path: path, lock: file, wasThere: try claim(file, path, roots))
            }
        } catch {
            close(file)
            throw error
        }
        close(file)
        return nil
    }

    private static func isNamed(_ file: Int32, _ path: String) throws(AvatarStoreError) -> Bool {
        var opened = stat()
        var named = stat()
        guard fstat(file, &opened) == 0 else { throw SystemCallError("stat", path).storeError }
        return lstat(path, &named) == 0 && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }

    /// Writes what the mark says, unless it says so already, which is then true.
    private static func claim(_ file: Int32, _ path: String, _ roots: String) throws(AvatarStoreError) -> Bool {
        let bytes = [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, count in
            count = max(0, pread(file, buffer.baseAddress, buffer.count, 0))
        }
        let wanted = Array(roots.utf8)
        if bytes == wanted { return true }
        // A mark that is cut short is of somebody who was killed while writing it, and had made nothing else.
        guard wanted.starts(with: bytes) else {
            throw AvatarStoreError(
                .notEmpty,
                "\(path) was left by a process that was killed while it made a store with other roots. Use the same "
                    + "roots again, or remove what it made."
            )
        }
        do throws(SystemCallError) {
            guard ftruncate(file, 0) == 0 else { throw SystemCallError("truncate", path) }
            try wanted.withUnsafeBufferPointer { (bytes) throws(SystemCallError) in
                try LocalFileSystem().write(UnsafeRawBufferPointer(bytes), to: file, at: 0, named: path)
            }
        } catch {
            throw error.storeError
        }
        return false
    }
}
