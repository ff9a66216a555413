package import AvatarCore
import Crypto

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What a verification asks of the files.
extension StoredFiles {
    /// What lies at a path.
    package enum Finding: Hashable, Sendable {
        case nothing
        /// A plain file of so many bytes.
        case file(bytes: Int)
        /// Something else: a folder, a symbolic link, or a path that leads out of the root.
        case somethingElse
    }

    /// What lies at `path`. No symbolic link is followed.
    package func look(at path: String) throws(AvatarStoreError) -> Finding {
        guard FilePath.staysInside(path) else { return .somethingElse }
        let parts = path.utf8.split(separator: UInt8(ascii: "/"))
        var parent = parts[0].startIndex
        for part in parts.dropLast() {
            parent = part.endIndex
            guard let folder = try status(of: String(path[..<parent])) else { return .nothing }
            guard folder.st_mode & S_IFMT == S_IFDIR else { return .somethingElse }
        }
        guard let information = try status(of: path) else { return .nothing }
        return information.st_mode & S_IFMT == S_IFREG ? .file(bytes: Int(information.st_size)) : .somethingElse
    }

    private func status(of path: String) throws(AvatarStoreError) -> stat? {
        var information = stat()
        guard fstatat(root.descriptor, path, &information, AT_SYMLINK_NOFOLLOW) != 0 else { return information }
        let error = SystemCallError("stat", root.path + "/" + path)
        if error.isMissing { return nil }
        throw error.storeError
    }

    /// The SHA-256 of the file at `path`; `nil` if there is none.
    ///
    /// - Parameter isCancellable: whether a cancelled task gives up a file that may be huge. A commit does not: a sync that
    ///   is stopped stores all that arrived.
    /// - Throws: an error of the disk; `CancellationError`.
    package func digest(of path: String, isCancellable: Bool = false) throws -> [UInt8]? {
        try withSource(at: path) { source in
            var digest = SHA256()
            var offset = 0
            while true {
                if isCancellable { try Task.checkCancellation() }
                let bytes = try source.bytes(at: offset, count: 1 << 17)
                if bytes.isEmpty { return Array(digest.finalize()) }
                digest.update(data: bytes)
                offset += bytes.count
            }
        }
    }

    /// What the file at `path` says of itself; `nil` if it says nothing, or is not there.
    package func label(of path: String) throws -> FileLabel? {
        try withSource(at: path) { FileLabel(of: $0.descriptor) } ?? nil
    }

    /// Lends the bytes of the file at `path`; `nil` if there is none.
    package func withSource<Result>(at path: String, _ body: (FileSource) throws -> Result) throws -> Result? {
        guard FilePath.staysInside(path), let descriptor = try descriptor(at: path) else { return nil }
        defer { close(descriptor) }
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return nil }
        let source = FileSource(descriptor, byteCount: Int(information.st_size), path: root.path + "/" + path)
        return try body(source)
    }

    /// The names in the folder `name` of the root, which is one level deep; none if it is not there, `nil` if something
    /// else is, such as a symbolic link.
    package func names(inFolder name: String) throws(AvatarStoreError) -> [String]? {
        do throws(SystemCallError) {
            return try Directory(opening: root.path + "/" + name).names()
        } catch {
            if error.number == ENOENT { return [] }
            if error.number == ENOTDIR || error.number == ELOOP { return nil }
            throw error.storeError
        }
    }

    /// The paths of everything that is neither in one of the 256 folders nor one of them.
    package func pathsOutsideFolders() throws(AvatarStoreError) -> [String] {
        do throws(SystemCallError) {
            var paths: [String] = []
            var rest = try root.names().filter { FilePath.digestByte(ofFolder: $0) == nil }
            while let path = rest.popLast() {
                var information = stat()
                guard fstatat(root.descriptor, path, &information, AT_SYMLINK_NOFOLLOW) == 0 else { continue }
                if information.st_mode & S_IFMT == S_IFDIR {
                    rest += try Directory(opening: root.path + "/" + path).names().map { path + "/" + $0 }
                } else {
                    paths.append(path)
                }
            }
            return paths.sorted()
        } catch {
            throw error.storeError
        }
    }

    /// A path in the root that `FilePath.make` cannot have given; `nil` if there is none.
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

    /// Unlinks every file whose name `FilePath.make` can have given.
    ///
    /// - Returns: how many there were.
    package func removePublishedFiles() throws(AvatarStoreError) -> Int {
        var count = 0
        for byte in UInt8.min...UInt8.max {
            let folder = FilePath.folder(forDigestByte: byte)
            for name in try names(inFolder: folder) ?? [] where FilePath.isPublishedName(folder + "/" + name) {
                do throws(SystemCallError) {
                    try root.withFolder(of: folder + "/" + name) { (folder, name) throws(SystemCallError) in
                        guard unlinkat(folder, name, 0) == 0 else { throw SystemCallError("unlink", name) }
                    }
                } catch {
                    if !error.isMissing { throw error.storeError }
                }
                count += 1
            }
        }
        return count
    }
}
