import AvatarCore
import AvatarFileSystem
import AvatarFoundation

/// The destination of a backup or restore: checks that it is free, and clears it if the work is not finished.
struct CopyPlace {
    /// The paths of the new store.
    let layout: StoreLayout
    /// The file system of those paths.
    let fileSystem: any FileSystem
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
    var isLeftOver: Bool { fileSystem.exists(markPath) && fileSystem.exists(indexPath) }

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
        guard !fileSystem.exists(layout.indexPath) else {
            throw AvatarStoreError(.notEmpty, "\"\(layout.indexPath)\" exists already. Choose an empty destination.")
        }
        let logs = ["-wal", "-shm", "-journal"].map { layout.indexPath + $0 }.filter { fileSystem.exists($0) }
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
        guard let owner = try RootMark.owner(ofRoot: root, in: staging, on: fileSystem) else { return false }
        guard owner == storeID else {
            throw AvatarStoreError(
                .unusableRoot,
                "\"\(root)\" belongs to another store than this backup. Move \(layout.movablePaths(of: storageClass, on: fileSystem)) away, "
                    + "then run the command again."
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
                + "Choose an empty destination, or move \(layout.movablePaths(of: storageClass, on: fileSystem)) away."
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
            return try Directory(opening: path, on: fileSystem).names()
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
        for storageClass in marked where fileSystem.exists(layout.root(of: storageClass)) {
            let root = try Directory(opening: layout.root(of: storageClass), on: fileSystem)
            for name in try root.names() { try root.removeFolder(name) }
            let staging = layout.staging(of: storageClass)
            guard fileSystem.exists(staging) else { continue }
            RootMark(of: root, in: try Directory(opening: staging, on: fileSystem)).remove()
        }
        for path in [journalPath, indexPath] {
            guard fileSystem.unlinkat(AT_FDCWD, path, 0) == 0 || errno == ENOENT else {
                throw SystemCallError("unlink", path)
            }
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
    /// The file system of the mark.
    private let fileSystem: any FileSystem

    /// Creates and locks the mark at `path`, or takes over that of a dead process.
    ///
    /// - Throws: `busy` if another process holds it; `notEmpty` if a dead process left it for other roots.
    static func take(
        _ path: String,
        on fileSystem: any FileSystem,
        roots: String
    ) throws(AvatarStoreError) -> UnfinishedMark {
        while true {
            if let mark = try takeOnce(path, fileSystem, roots) { return mark }
        }
    }

    /// A mark that is open and locked.
    private init(path: String, lock: Int32, on fileSystem: any FileSystem, wasThere: Bool) {
        (self.path, self.fileSystem, self.lock, self.wasThere) = (path, fileSystem, lock, wasThere)
    }

    deinit {
        fileSystem.close(lock)
    }

    /// Removes the mark, once the store is finished or cleared.
    func remove() {
        // If this fails, the mark stays beside a finished index, where it is ignored, or the next attempt clears it.
        fileSystem.unlinkat(AT_FDCWD, path, 0)
    }

    /// - Returns: `nil` if another process removed the mark between opening and locking it.
    private static func takeOnce(
        _ path: String,
        _ fileSystem: any FileSystem,
        _ roots: String
    ) throws(AvatarStoreError) -> UnfinishedMark? {
        let file = fileSystem.openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw SystemCallError("open", path).storeError }
        do throws(AvatarStoreError) {
            guard fileSystem.lock(file, LOCK_EX | LOCK_NB) == 0 else {
                throw AvatarStoreError(
                    .busy,
                    "Another process is making a backup or a restore at \"\(path)\". Wait for it to finish."
                )
            }
            if try isNamed(file, path, fileSystem) {
                let wasThere = try claim(file, path: path, on: fileSystem, roots: roots)
                return UnfinishedMark(path: path, lock: file, on: fileSystem, wasThere: wasThere)
            }
        } catch {
            fileSystem.close(file)
            throw error
        }
        fileSystem.close(file)
        return nil
    }

    /// Whether the open `file` is still the one at `path`. Its former owner may have removed it before the lock was
    /// taken.
    private static func isNamed(
        _ file: Int32,
        _ path: String,
        _ fileSystem: any FileSystem
    ) throws(AvatarStoreError) -> Bool {
        var opened = stat()
        var named = stat()
        guard fileSystem.fstat(file, &opened) == 0 else { throw SystemCallError("stat", path).storeError }
        return fileSystem.fstatat(AT_FDCWD, path, &named, AT_SYMLINK_NOFOLLOW) == 0
            && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }

    /// Writes the roots into the mark.
    ///
    /// - Returns: true if the mark held the same roots already.
    private static func claim(
        _ file: Int32,
        path: String,
        on fileSystem: any FileSystem,
        roots: String
    ) throws(AvatarStoreError) -> Bool {
        let bytes = [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, count in
            count = max(0, fileSystem.pread(file, buffer.baseAddress, buffer.count, 0))
        }
        let wanted = Array(roots.utf8)
        if bytes == wanted { return true }
        // A mark that is cut short is of a process that was stopped while writing it, before it made anything else. After a loss
        // of power it may have zeros.
        let written = bytes.prefix { $0 != 0 }
        guard wanted.starts(with: written), bytes.dropFirst(written.count).allSatisfy({ $0 == 0 }) else {
            throw AvatarStoreError(
                .notEmpty,
                "\"\(path)\" was left by an interrupted backup or restore with other roots. Run it again with the same "
                    + "roots, or delete its files."
            )
        }
        do throws(SystemCallError) {
            guard fileSystem.ftruncate(file, 0) == 0 else { throw SystemCallError("truncate", path) }
            try wanted.withUnsafeBufferPointer { (bytes) throws(SystemCallError) in
                try fileSystem.write(UnsafeRawBufferPointer(bytes), to: file, at: 0, named: path)
            }
            try fileSystem.synchronize(file, named: path)
        } catch {
            // Nothing else was made yet, here or by the process that left the mark.
            fileSystem.unlinkat(AT_FDCWD, path, 0)
            throw error.storeError
        }
        return false
    }
}
