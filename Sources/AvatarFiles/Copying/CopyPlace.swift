import AvatarCore

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The destination of a backup or restore: checks that it is free, and clears it if the work is not finished.
struct CopyPlace {
    /// The paths of the new store.
    let layout: StoreLayout
    /// A directory that must hold nothing else; `nil` for none.
    let directory: String?
    /// The id of the store to restore: its own caches may be there already. `nil` for another copy, or if it is unknown.
    var storeID: String?

    /// The mark of unfinished work.
    var markPath: String { layout.indexPath + ".unfinished" }
    /// The index until it is complete.
    var indexPath: String { layout.indexPath + ".new" }
    /// SQLite's journal of that index. SQLite would play back a journal that a killed process left.
    private var journalPath: String { indexPath + "-journal" }
    /// The content of the mark: the roots of the new store.
    var roots: String { "caches: \(layout.cachesRoot)\ndocuments: \(layout.documentsRoot)\n" }

    /// The folders that a killed process may have created here.
    var folders: [String] {
        [layout.indexDirectory] + StorageClass.allCases.flatMap { [layout.staging(of: $0), layout.root(of: $0)] }
    }

    /// Whether a killed process left unfinished work here, provided that no process holds the mark.
    ///
    /// A mark without an unfinished index means that the process had just begun, or was done.
    var isLeftOver: Bool { Directory.exists(markPath) && Directory.exists(indexPath) }

    /// Checks that the destination is free.
    ///
    /// - Parameter isLeftOver: Whether a killed process left unfinished work here; its files are then allowed.
    /// - Throws: `notEmpty` if there is an index or a foreign file; `unusableRoot` if a folder is a file or a link, or
    ///   belongs to another store than the one to restore.
    func requireFree(isLeftOver: Bool) throws(AvatarStoreError) {
        try requireNoIndex()
        for storageClass in StorageClass.allCases {
            let root = layout.root(of: storageClass)
            let isOwn = try isOwnRoot(of: storageClass)
            try require(try names(in: root), of: storageClass) {
                (isLeftOver || isOwn) && FilePath.digestByte(ofFolder: $0) != nil
            }
        }
        guard let directory else { return }
        let own = Set([markPath] + (isLeftOver ? [indexPath, journalPath] + folders : []))
        try require(try names(in: directory), in: directory) { own.contains(directory + "/" + $0) }
    }

    /// - Throws: `notEmpty` if an index, or a journal or log of one, is there.
    func requireNoIndex() throws(AvatarStoreError) {
        // SQLite would apply the leftover log of another index to the new one.
        guard !Directory.exists(layout.indexPath) else {
            throw AvatarStoreError(.notEmpty, "\"\(layout.indexPath)\" exists already. Choose an empty destination.")
        }
        let logs = ["-wal", "-shm", "-journal"].map { layout.indexPath + $0 }.filter(Directory.exists)
        guard logs.isEmpty else {
            let paths = logs.map { "\"\($0)\"" }.joined(separator: " and ")
            throw AvatarStoreError(
                .notEmpty,
                "The log of a lost index is left and would change the copy. Move \(paths) away, then run the command again."
            )
        }
    }

    /// Whether the root of `storageClass` is the caches folder that the store to restore left behind.
    ///
    /// - Throws: `unusableRoot` if it belongs to another store than the one to restore.
    func isOwnRoot(of storageClass: StorageClass) throws(AvatarStoreError) -> Bool {
        guard let storeID else { return false }
        let (root, staging) = (layout.root(of: storageClass), layout.staging(of: storageClass))
        guard let owner = try RootMark.owner(ofRoot: root, in: staging) else { return false }
        guard owner == storeID else {
            throw AvatarStoreError(
                .unusableRoot,
                "\"\(root)\" belongs to another store than this backup. Move \(layout.movablePaths(of: storageClass)) away, then "
                    + "run the command again."
            )
        }
        return storageClass == .caches
    }

    /// Checks that `isOurs` accepts all of `names`, the content of a root.
    ///
    /// - Throws: `notEmpty`, with the first name that it does not accept, and what to move away.
    private func require(
        _ names: [String],
        of storageClass: StorageClass,
        _ isOurs: (String) -> Bool
    ) throws(AvatarStoreError) {
        guard let name = names.sorted().first(where: { !isOurs($0) }) else { return }
        throw AvatarStoreError(
            .notEmpty,
            "\"\(layout.root(of: storageClass))\" is not empty: it holds \"\(name)\"\(names.count > 1 ? " and more" : ""). "
                + "Choose an empty destination, or move \(layout.movablePaths(of: storageClass)) away."
        )
    }

    /// Checks that `isOurs` accepts all of `names`, the content of `directory`.
    ///
    /// - Throws: `notEmpty`, with the first name that it does not accept.
    private func require(
        _ names: [String],
        in directory: String,
        _ isOurs: (String) -> Bool
    ) throws(AvatarStoreError) {
        guard let name = names.sorted().first(where: { !isOurs($0) }) else { return }
        throw AvatarStoreError(
            .notEmpty,
            "\"\(directory)\" is not empty: it holds \"\(name)\"\(names.count > 1 ? " and more" : ""). "
                + "Choose an empty destination."
        )
    }

    /// The names in the folder `path`; empty if it is missing.
    ///
    /// - Throws: `unusableRoot` if it is a file or a symbolic link; `storage` or `readOnly` if it cannot be read.
    private func names(in path: String) throws(AvatarStoreError) -> [String] {
        do throws(SystemCallError) {
            return try Directory(opening: path).names()
        } catch {
            if error.number == ENOENT { return [] }
            guard error.number != ENOTDIR && error.number != ELOOP else {
                throw AvatarStoreError(
                    .unusableRoot,
                    "\"\(path)\" must be a folder, but it or one of its parents is a symbolic link or a file."
                )
            }
            throw error.storeError
        }
    }

    /// Deletes the files of an unfinished store, then its index.
    ///
    /// - Parameter marked: The storage classes whose roots the unfinished store has claimed. Other roots are not touched.
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

/// The mark of an unfinished backup or restore: a file beside the future index, locked by the process at work.
///
/// It names the roots, so that the cleanup after a killed process touches only the roots of that process.
final class UnfinishedMark {
    /// Whether the mark existed already, and its process is dead.
    let wasThere: Bool
    /// The path of the mark, beside the future index.
    private let path: String
    /// The descriptor of the mark. Closing it releases the lock, also when the process is killed.
    private let lock: Int32

    /// Creates and locks the mark at `path`, or takes over that of a dead process.
    ///
    /// - Throws: `busy` if another process holds it; `notEmpty` if a dead process left it for other roots.
    static func take(_ path: String, roots: String) throws(AvatarStoreError) -> UnfinishedMark {
        while true {
            if let mark = try takeOnce(path, roots) { return mark }
        }
    }

    /// A mark that is open and locked.
    private init(path: String, lock: Int32, wasThere: Bool) {
        self.path = path
        self.lock = lock
        self.wasThere = wasThere
    }

    deinit {
        close(lock)
    }

    /// Removes the mark, once the store is finished or cleared.
    func remove() {
        // If this fails, the mark stays beside a finished index, where it is ignored, or the next attempt clears it.
        unlink(path)
    }

    /// - Returns: `nil` if another process removed the mark between opening and locking it.
    private static func takeOnce(_ path: String, _ roots: String) throws(AvatarStoreError) -> UnfinishedMark? {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw SystemCallError("open", path).storeError }
        do throws(AvatarStoreError) {
            guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
                throw AvatarStoreError(
                    .busy,
                    "Another process is making a backup or a restore at \"\(path)\". Wait for it to finish."
                )
            }
            if try isNamed(file, path) {
                return UnfinishedMark(path: path, lock: file, wasThere: try claim(file, path: path, roots: roots))
            }
        } catch {
            close(file)
            throw error
        }
        close(file)
        return nil
    }

    /// Whether the open `file` is still the one at `path`. Its former owner may have removed it before the lock was
    /// taken.
    private static func isNamed(_ file: Int32, _ path: String) throws(AvatarStoreError) -> Bool {
        var opened = stat()
        var named = stat()
        guard fstat(file, &opened) == 0 else { throw SystemCallError("stat", path).storeError }
        return lstat(path, &named) == 0 && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }

    /// Writes the roots into the mark.
    ///
    /// - Returns: true if the mark held the same roots already.
    private static func claim(_ file: Int32, path: String, roots: String) throws(AvatarStoreError) -> Bool {
        let bytes = [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, count in
            count = max(0, pread(file, buffer.baseAddress, buffer.count, 0))
        }
        let wanted = Array(roots.utf8)
        if bytes == wanted { return true }
        // A truncated mark is from a process that was killed while writing it, before it made anything else.
        guard wanted.starts(with: bytes) else {
            throw AvatarStoreError(
                .notEmpty,
                "\"\(path)\" was left by an interrupted backup or restore with other roots. Run it again with the same "
                    + "roots, or delete its files."
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
