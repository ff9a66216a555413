package import AvatarCore
import AvatarDigest
import AvatarFileSystem
import AvatarFoundation

/// Checks of the files on disk, for a verification and for repairs.
extension StoredFiles {
    /// The kind of file at a path.
    package enum Finding: Hashable, Sendable {
        /// The path does not exist.
        case nothing
        /// A regular file with its length.
        case file(bytes: Int)
        /// Something else: a folder, a symbolic link, or a path that leads out of the root.
        case somethingElse
    }

    /// Checks `path` without following symbolic links.
    ///
    /// - Throws: `storage` or `readOnly` if the disk or its permissions prevent it.
    package func look(at path: String) throws(AvatarStoreError) -> Finding {
        guard FilePath.staysInside(path) else { return .somethingElse }
        let parts = path.utf8.split(separator: UInt8(ascii: "/"))
        var parent = parts[0].startIndex
        for part in parts.dropLast() {
            parent = part.endIndex
            guard let folder = try status(of: String(path[..<parent])) else { return .nothing }
            guard folder.isFolder else { return .somethingElse }
        }
        guard let information = try status(of: path) else { return .nothing }
        return information.isFile ? .file(bytes: Int(information.st_size)) : .somethingElse
    }

    /// The SHA-256 of the file at `path`; `nil` if it is missing or not a regular file.
    ///
    /// - Parameters:
    ///   - path: Relative to the root.
    ///   - isCancellable: Whether a cancelled task stops reading, as the file may be huge. A commit passes false, so that a
    ///     cancelled sync still stores all images that have arrived. Default: false.
    /// - Throws: `AvatarStoreError` for an error of the disk; `CancellationError`.
    package func digest(of path: String, isCancellable: Bool = false) throws -> [UInt8]? {
        try withSource(at: path) { source in
            var digest = SHA256()
            var offset = 0
            while true {
                if isCancellable { try Task.checkCancellation() }
                let bytes = try source.bytes(at: offset, count: 1 << 17)
                if bytes.isEmpty { return digest.finalize() }
                digest.update(bytes)
                offset += bytes.count
            }
        }
    }

    /// The label of the file at `path`; `nil` if it is missing or has none.
    package func label(of path: String) throws -> FileLabel? {
        try withSource(at: path) { FileLabel(of: $0.descriptor, on: root.fileSystem) } ?? nil
    }

    /// Calls `body` with the bytes of the file at `path`; returns `nil` if it is missing or not a regular file.
    package func withSource<Result>(at path: String, _ body: (FileSource) throws -> Result) throws -> Result? {
        guard FilePath.staysInside(path), let descriptor = try descriptor(at: path) else { return nil }
        defer { root.fileSystem.close(descriptor) }
        let status = try withStoreErrors { () throws(SystemCallError) in
            try root.fileSystem.status(of: descriptor, named: root.path + "/" + path)
        }
        guard status.isFile else { return nil }
        let size = Int(status.st_size)
        return try body(FileSource(descriptor, byteCount: size, path: root.path + "/" + path, on: root.fileSystem))
    }

    /// The names of the files and folders directly in the root.
    package func namesInRoot() throws(AvatarStoreError) -> [String] {
        try withStoreErrors(root.names)
    }

    /// The names in the folder `name`, which is directly in the root. Empty if the folder is missing; `nil` if `name` is not
    /// a folder, but for instance a symbolic link.
    package func names(inFolder name: String) throws(AvatarStoreError) -> [String]? {
        do throws(SystemCallError) {
            return try Directory(opening: root.path + "/" + name, on: root.fileSystem).names()
        } catch {
            if error.number == ENOENT { return [] }
            if error.number == ENOTDIR || error.number == ELOOP { return nil }
            throw error.storeError
        }
    }

    /// The paths of all files that are not in one of the 256 two-digit folders, sorted.
    package func pathsOutsideFolders() throws(AvatarStoreError) -> [String] {
        try withStoreErrors { () throws(SystemCallError) -> [String] in
            var paths: [String] = []
            var rest = try root.names().filter { FilePath.digestByte(ofFolder: $0) == nil }
            while let path = rest.popLast() {
                guard let status = try root.fileSystem.status(of: path, in: root.descriptor) else { continue }
                if status.isFolder {
                    rest += try Directory(opening: root.path + "/" + path, on: root.fileSystem).names()
                        .map { path + "/" + $0 }
                } else {
                    paths.append(path)
                }
            }
            return paths.sorted()
        }
    }

    /// A path in the root that does not have the form of `FilePath.make`'s names; `nil` if all have it.
    ///
    /// A new store calls it before it claims a root: a folder with the user's own files must not become one.
    package func firstForeignPath() throws(AvatarStoreError) -> String? {
        if let path = try pathsOutsideFolders().first { return path }
        for byte in UInt8.min...UInt8.max {
            let folder = FilePath.folder(forDigestByte: byte)
            guard let names = try names(inFolder: folder) else { return folder }
            for name in names where !FilePath.isPublishedName(folder + "/" + name) {
                return folder + "/" + name
            }
        }
        return nil
    }

    /// Deletes every file whose name has the form of `FilePath.make`'s names.
    ///
    /// A rebuild of the index calls it for `caches`, whose files no row names any more. Not durable on return.
    ///
    /// - Returns: how many there were.
    /// - Throws: `storage` or `readOnly` for an error of the disk. Some of the files are gone by then.
    package func removePublishedFiles() throws(AvatarStoreError) -> Int {
        var count = 0
        for byte in UInt8.min...UInt8.max {
            let folder = FilePath.folder(forDigestByte: byte)
            for name in try names(inFolder: folder) ?? [] where FilePath.isPublishedName(folder + "/" + name) {
                _ = try remove(folder + "/" + name)
                count += 1
            }
        }
        return count
    }

    /// Deletes the file at `path`.
    ///
    /// - Returns: whether there was one.
    package func remove(_ path: String) throws(AvatarStoreError) -> Bool {
        do throws(SystemCallError) {
            try root.withFolder(of: path) { (folder, name) throws(SystemCallError) in
                try root.fileSystem.unlink(name, in: folder)
            }
            return true
        } catch {
            guard error.isNotHeld else { throw error.storeError }
            return false
        }
    }
}
