package import AvatarCore
package import AvatarFileSystem
import AvatarFoundation

/// The mark that ties a root to its store: a small file with the store's id, in the staging folder beside the root and
/// named after it.
///
/// It is not in the root itself, because every file there has a row in the index and counts toward the budget.
package struct RootMark {
    /// The path of the root that the mark belongs to.
    private let rootPath: String
    /// The staging folder that holds the mark.
    private let staging: Directory

    /// The mark of `root` in the staging folder `staging`.
    package init(of root: Directory, in staging: Directory) {
        self.init(ofRoot: root.path, in: staging)
    }

    /// The mark of the root at `path`, which need not exist, in the staging folder `staging`.
    private init(ofRoot path: String, in staging: Directory) {
        rootPath = path
        self.staging = staging
    }

    /// Whether the staging folder at `staging` has a mark for the root at `root`.
    package static func exists(ofRoot root: String, in staging: String, on fileSystem: any FileSystem) -> Bool {
        var information = stat()
        return fileSystem.fstatat(AT_FDCWD, path(ofRoot: root, in: staging), &information, 0) == 0
    }

    /// The path of the mark of the root at `root` in the staging folder `staging`.
    package static func path(ofRoot root: String, in staging: String) -> String {
        staging + "/" + name(ofRoot: root)
    }

    /// The id of the store that the root at `root` belongs to; `nil` if the staging folder at `staging` has no valid mark.
    ///
    /// - Throws: as `owner()`; nothing for a missing root.
    package static func owner(
        ofRoot root: String,
        in staging: String,
        on fileSystem: any FileSystem
    ) throws(AvatarStoreError) -> String? {
        guard exists(ofRoot: root, in: staging, on: fileSystem) else { return nil }
        let folder = try withStoreErrors { () throws(SystemCallError) in
            try Directory(opening: staging, on: fileSystem)
        }
        return try RootMark(ofRoot: root, in: folder).owner()
    }

    /// The id of the store that the root belongs to; `nil` if it has no valid mark.
    ///
    /// - Throws: `unusableRoot` if the mark is not a regular file; `readOnly` or `storage` if it cannot be read.
    package func owner() throws(AvatarStoreError) -> String? {
        try refusePipe()
        do throws(SystemCallError) {
            let owner = try readMark()
            return Self.isID(owner) ? owner : nil
        } catch {
            if error.isMissing { return nil }
            throw error.storeError
        }
    }

    /// Claims the root for the store `id`. A new mark is durable on return.
    ///
    /// - Parameter id: 32 hex digits.
    /// - Returns: true if the root was unclaimed before; false if it belongs to this store already.
    /// - Throws: `unusableRoot` if the root belongs to another store, or the mark is not a regular file; `diskFull`,
    ///   `readOnly` or `storage` if the mark cannot be written.
    @discardableResult
    package func claim(_ id: String) throws(AvatarStoreError) -> Bool {
        try refusePipe()
        do throws(SystemCallError) {
            if try makeMark(id) { return true }
            let owner = try readMark()
            // Its writer was stopped before the mark was durable, and a power loss left arbitrary bytes.
            guard Self.isID(owner) else {
                try overwriteMark(id)
                return true
            }
            guard owner == id else {
                throw SystemCallError("claim", rootPath, number: EEXIST)
            }
            return false
        } catch {
            guard error.call == "claim" else { throw error.storeError }
            throw AvatarStoreError(
                .unusableRoot,
                "The root \"\(rootPath)\" belongs to another store. Give each store its own roots, or restore its index."
            )
        }
    }

    /// Removes the mark, so that another store can claim the root.
    package func remove() {
        // If this fails, the mark names a store that no longer exists and must be removed by hand.
        staging.fileSystem.unlinkat(staging.descriptor, name, 0)
    }

    /// Whether `text` is a complete id: 32 hex digits.
    private static func isID(_ text: String) -> Bool {
        text.utf8.count == 32 && text.utf8.allSatisfy { Hexadecimal.value(of: $0) != nil }
    }

    /// The file name of the mark in `staging`.
    private var name: String { Self.name(ofRoot: rootPath) }

    /// The last component of `path` with the extension `.store-id`. Two roots that share a staging folder have
    /// different marks.
    private static func name(ofRoot path: String) -> String {
        let last = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? "root"
        return last + ".store-id"
    }

    /// Refuses a mark that is not a regular file. Opening a pipe would wait for a writer; `O_NONBLOCK` in the calls covers
    /// one that appears after this check.
    private func refusePipe() throws(AvatarStoreError) {
        var information = stat()
        guard staging.fileSystem.fstatat(staging.descriptor, name, &information, AT_SYMLINK_NOFOLLOW) == 0,
            ![S_IFREG, S_IFLNK].contains(information.st_mode & S_IFMT)
        else { return }
        throw AvatarStoreError(
            .unusableRoot,
            "The mark \"\(staging.path)/\(name)\" must be a regular file, not a pipe, device or folder. "
                + "Move it out of the way."
        )
    }

    /// - Returns: false if the mark exists already.
    private func makeMark(_ id: String) throws(SystemCallError) -> Bool {
        let file = staging.fileSystem.openat(staging.descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        if file < 0 && errno == EEXIST { return false }
        guard file >= 0 else { throw SystemCallError("open", staging.path + "/" + name) }
        defer { staging.fileSystem.close(file) }
        try write(id, to: file)
        try staging.fileSystem.synchronize(staging.descriptor, named: staging.path)
        return true
    }

    /// Writes `id` into a mark that holds no valid id, and makes its bytes durable.
    ///
    /// - Throws: `SystemCallError` if the mark cannot be opened or written.
    private func overwriteMark(_ id: String) throws(SystemCallError) {
        let file = staging.fileSystem.openat(staging.descriptor, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0)
        guard file >= 0 else { throw SystemCallError("open", staging.path + "/" + name) }
        defer { staging.fileSystem.close(file) }
        guard staging.fileSystem.ftruncate(file, 0) == 0 else {
            throw SystemCallError("ftruncate", staging.path + "/" + name)
        }
        try write(id, to: file)
    }

    /// Writes the id and makes it durable. Without a valid mark the documents of the root cannot be read.
    private func write(_ id: String, to file: Int32) throws(SystemCallError) {
        var text = id
        let failure = text.withUTF8 { bytes -> SystemCallError? in
            do throws(SystemCallError) {
                try staging.fileSystem.write(UnsafeRawBufferPointer(bytes), to: file, at: 0, named: name)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
        try staging.fileSystem.synchronize(file, named: staging.path + "/" + name)
    }

    /// The text of the mark: its first 256 bytes, of which a valid one has 32.
    ///
    /// - Throws: `SystemCallError` if the mark cannot be opened; with `isMissing`, the root has no mark.
    private func readMark() throws(SystemCallError) -> String {
        let file = staging.fileSystem.openat(staging.descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
        guard file >= 0 else { throw SystemCallError("open", staging.path + "/" + name) }
        defer { staging.fileSystem.close(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 256) { buffer, count in
            count = max(0, staging.fileSystem.pread(file, buffer.baseAddress, 256, 0))
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension StoreLayout {
    /// The quoted paths to move away so that another store can use the root of `storageClass`: the root and its mark, or
    /// the folder of both if it holds nothing else.
    package func movablePaths(of storageClass: StorageClass, on fileSystem: any FileSystem) -> String {
        let (root, staging) = (root(of: storageClass), staging(of: storageClass))
        let folder = Self.parent(of: root)
        if !root.isEmpty, folder != indexDirectory, isAlone(root, staging, in: folder, on: fileSystem) {
            return "\"\(folder)\""
        }
        let paths = [root, RootMark.path(ofRoot: root, in: staging)].filter { fileSystem.exists($0) }
        return (paths.isEmpty ? [root] : paths).map { "\"\($0)\"" }.joined(separator: " and ")
    }

    /// All folders of the store, to be moved away together: that of the index, and those of roots outside it.
    package func movablePaths(on fileSystem: any FileSystem) -> String {
        let others = StorageClass.allCases.filter { !root(of: $0).hasPrefix(indexDirectory + "/") }
        return (["\"\(indexDirectory)\""] + others.map { movablePaths(of: $0, on: fileSystem) }).joined(
            separator: " and "
        )
    }

    /// Whether `folder` holds nothing but `root` and `staging`.
    private func isAlone(
        _ root: String,
        _ staging: String,
        in folder: String,
        on fileSystem: any FileSystem
    ) -> Bool {
        do throws(SystemCallError) {
            return try Directory(opening: folder, on: fileSystem).names()
                .allSatisfy { [root, staging].contains(folder + "/" + $0) }
        } catch {
            return false
        }
    }
}
