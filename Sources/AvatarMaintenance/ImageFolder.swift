package import AvatarCore
import AvatarFileSystem
package import AvatarFiles
import AvatarFoundation

/// A user's folder of images: an export writes one, an import reads one.
///
/// Only files directly in the folder are read and written. No name leads out of it, and no symbolic link in it is
/// followed. The folder is opened once, so a link that takes its place later is not followed either.
package final class ImageFolder: Sendable {
    /// The open folder.
    package let directory: Directory

    /// The folder's path, for messages.
    package var path: String { directory.path }

    /// The file calls.
    private var system: any FileSystem { directory.fileSystem }

    /// A folder that is open already.
    private init(_ directory: Directory) {
        self.directory = directory
    }

    /// Opens the folder at `path` for reading. The path itself may lead through symbolic links.
    ///
    /// - Throws: `storage` or `readOnly` if it cannot be opened.
    package convenience init(reading path: String) throws(AvatarStoreError) {
        let directory = try withStoreErrors { () throws(SystemCallError) in
            try Directory(opening: RealPath(path).text, on: LocalFileSystem())
        }
        self.init(directory)
    }

    /// Opens the folder at `path` for writing, as `Directory.openTarget` does.
    ///
    /// - Parameters:
    ///   - path: An absolute path.
    ///   - fileMode: The permissions of the files to write, which decide those of a new folder; `nil` to create none. `nil` is
    ///     returned then for a missing folder.
    /// - Throws: as `Directory.openTarget`.
    package convenience init?(writing path: String, fileMode: UInt32?) throws(AvatarStoreError) {
        let mode = fileMode.map(FileStore.directoryMode)
        guard let directory = try Directory.openTarget(path, on: LocalFileSystem(), mode: mode) else { return nil }
        self.init(directory)
    }

    /// Locks the folder against other exports while this value lives. Does nothing on a file system without such locks.
    ///
    /// - Throws: `busy` if another export holds the lock.
    package func lock() throws(AvatarStoreError) {
        guard system.lock(directory.descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
        let error = SystemCallError("flock", path)
        guard error.number == EWOULDBLOCK else { return }
        throw AvatarStoreError(
            .busy,
            "Another export is writing to \"\(path)\". Nothing was changed; try again when it is done."
        )
    }

    /// The names in the folder, sorted by their UTF-8 bytes.
    package func names() throws(AvatarStoreError) -> [String] {
        try withStoreErrors(directory.names).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Whether `name` exists in the folder. The file system compares, which may ignore case.
    ///
    /// An export calls it before it writes, and takes the distinct name if the plain one is in use.
    package func has(_ name: String) -> Bool {
        var information = stat()
        return system.fstatat(directory.descriptor, name, &information, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// Whether `name` is a folder in the folder, and not a link to one.
    package func isFolder(_ name: String) -> Bool {
        var information = stat()
        return system.fstatat(directory.descriptor, name, &information, AT_SYMLINK_NOFOLLOW) == 0
            && information.st_mode & S_IFMT == S_IFDIR
    }

    // MARK: Reading

    /// The result of reading a name.
    package enum Found {
        /// The bytes of a regular file.
        case file([UInt8])
        /// A file larger than the limit. It was not read.
        case tooLarge
        /// A folder, a symbolic link, a device or the like.
        case somethingElse
        /// The name does not exist.
        case nothing
    }

    /// Reads the file `name`, which must be directly in the folder.
    ///
    /// - Parameters:
    ///   - name: A name without slashes; any other is `somethingElse`.
    ///   - limit: The most bytes to read.
    /// - Throws: `readOnly` if permission is denied; `storage` for other errors of the disk.
    package func read(_ name: String, limit: Int) throws(AvatarStoreError) -> Found {
        guard Self.isPlain(name) else { return .somethingElse }
        // O_NONBLOCK: opening a pipe would wait for a writer.
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
        let descriptor = system.openat(directory.descriptor, name, flags, 0)
        guard descriptor >= 0 else {
            let error = SystemCallError("open", path + "/" + name)
            if error.isMissing { return .nothing }
            if error.number == ELOOP || error.number == ENXIO { return .somethingElse }
            throw error.storeError
        }
        defer { system.close(descriptor) }
        var information = stat()
        guard system.fstat(descriptor, &information) == 0, information.isFile else { return .somethingElse }
        guard information.st_size <= limit else { return .tooLarge }
        let source = FileSource(descriptor, byteCount: Int(information.st_size), path: path + "/" + name, on: system)
        return .file(try Self.bytes(of: source))
    }

    /// Whether `name` is a single path component, so that it stays in the folder.
    package static func isPlain(_ name: String) -> Bool {
        FilePath.isPlain(name)
    }

    /// Reads `source` to its end, or to where another program has cut it meanwhile.
    ///
    /// - Throws: `storage` or `readOnly` for an error of the disk.
    private static func bytes(of source: FileSource) throws(AvatarStoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            while bytes.count < source.byteCount {
                let piece = try source.bytes(at: bytes.count, count: source.byteCount - bytes.count)
                // The file was truncated meanwhile. The caller checks the bytes as those of any other file.
                if piece.isEmpty { break }
                bytes += piece
            }
        } catch let error as AvatarStoreError {
            throw error
        } catch {
            throw AvatarStoreError(.storage, "Cannot read an image: \(error).", underlying: error)
        }
        return bytes
    }

    /// Reads `count` bytes at `offset` of the file `name`, as far as it has them.
    ///
    /// - Throws: `storage` or `readOnly`.
    package func read(_ name: String, at offset: Int, count: Int) throws(AvatarStoreError) -> [UInt8] {
        let descriptor = system.openat(directory.descriptor, name, O_RDONLY | O_NOFOLLOW, 0)
        guard descriptor >= 0 else { throw SystemCallError("open", path + "/" + name).storeError }
        defer { system.close(descriptor) }
        do {
            return try FileSource(descriptor, byteCount: offset + count, path: path + "/" + name, on: system)
                .bytes(at: offset, count: count)
        } catch let error as AvatarStoreError {
            throw error
        } catch {
            throw AvatarStoreError(.storage, "Cannot read \"\(path)/\(name)\": \(error).", underlying: error)
        }
    }

    // MARK: Subfolders

    /// Creates the folder `name`, which must not exist, and opens it.
    ///
    /// - Parameter fileMode: the permissions of the files to write, which decide those of the folder.
    /// - Throws: `storage`, `diskFull` or `readOnly`.
    package func makeFolder(_ name: String, fileMode: UInt32) throws(AvatarStoreError) -> ImageFolder {
        try withStoreErrors { () throws(SystemCallError) in
            let mode = FileStore.directoryMode(for: fileMode)
            guard system.mkdirat(directory.descriptor, name, mode) == 0 else {
                throw SystemCallError("mkdir", path + "/" + name)
            }
            return ImageFolder(try Directory(opening: name, in: directory))
        }
    }

    /// Deletes the files in the folder `name` whose names end in one of `suffixes`, then the folder if it is empty. Does
    /// nothing if there is no such folder.
    ///
    /// - Throws: `storage` or `readOnly` if the folder cannot be read.
    package func removeFolder(_ name: String, filesEndingIn suffixes: [String]) throws(AvatarStoreError) {
        guard has(name) else { return }
        try withStoreErrors { () throws(SystemCallError) in
            let folder = try Directory(opening: name, in: directory)
            for file in try folder.names() where suffixes.contains(where: file.hasSuffix) {
                system.unlinkat(folder.descriptor, file, 0)
            }
        }
        // If this fails, the folder is found when this one must be empty.
        system.unlinkat(directory.descriptor, name, AT_REMOVEDIR)
    }

    // MARK: Writing

    /// Creates the file `name` and writes `bytes`.
    ///
    /// - Throws: `storage` if `name` exists already; `diskFull` or `readOnly`.
    package func write(_ bytes: [UInt8], to name: String, mode: UInt32) throws(AvatarStoreError) {
        try put(bytes, into: name, at: 0, flags: O_EXCL, mode: mode)
    }

    /// Writes `bytes` at `offset` of the file `name`; creates it if it is missing.
    ///
    /// An export adds lines to its manifest with it, so the manifest is never in memory as a whole.
    ///
    /// - Throws: `storage`, `diskFull` or `readOnly`.
    package func append(_ bytes: [UInt8], to name: String, at offset: Int, mode: UInt32) throws(AvatarStoreError) {
        try put(bytes, into: name, at: offset, mode: mode)
    }

    /// Creates or opens `name`, writes all of `bytes` at `offset`, calls `finish` and closes the file. Nothing is synchronized.
    ///
    /// - Parameter flags: further flags of `openat`.
    /// - Throws: `storage`, also for something else than a file with one name; `diskFull` or `readOnly`.
    private func put(
        _ bytes: [UInt8],
        into name: String,
        at offset: Int,
        flags: Int32 = 0,
        mode: UInt32,
        finish: (Int32) throws(SystemCallError) -> Void = { (_) throws(SystemCallError) in }
    ) throws(AvatarStoreError) {
        try withStoreErrors { () throws(SystemCallError) in
            // O_NONBLOCK: opening a pipe would wait for a reader.
            let flags = flags | O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK
            let descriptor = try system.open(name, in: directory.descriptor, flags: flags, mode: mode)
            defer { system.close(descriptor) }
            guard isFileOfItsOwn(descriptor) else {
                throw SystemCallError("open", path + "/" + name, number: EMLINK)
            }
            try bytes.withUnsafeBufferPointer { (buffer) throws(SystemCallError) in
                try system.write(UnsafeRawBufferPointer(buffer), to: descriptor, at: offset, named: path + "/" + name)
            }
            try finish(descriptor)
        }
    }

    /// Whether `descriptor` is a regular file without another name, which may lie in another folder.
    private func isFileOfItsOwn(_ descriptor: Int32) -> Bool {
        var information = stat()
        return system.fstat(descriptor, &information) == 0 && information.isFile && information.st_nlink == 1
    }

    /// Puts a file with `bytes` under `name`, in place of a file or symbolic link of that name. Readers see the old or the new
    /// file whole. Nothing is synchronized.
    ///
    /// - Parameters:
    ///   - temporary: the name of the file until it is complete; no file may have it.
    ///   - mode: the permission bits, whatever the process's mask is.
    ///   - time: the time of the last change, in seconds since 1970.
    /// - Throws: `storage`, `diskFull` or `readOnly`.
    package func replace(
        _ name: String,
        by bytes: [UInt8],
        through temporary: String,
        mode: UInt32,
        time: Int64
    ) throws(AvatarStoreError) {
        let time = timespec(tv_sec: Int(time), tv_nsec: 0)
        try put(bytes, into: temporary, at: 0, flags: O_EXCL, mode: mode) { (file) throws(SystemCallError) in
            guard system.futimens(file, time, time) == 0 else {
                throw SystemCallError("utimensat", path + "/" + temporary)
            }
            guard system.fchmod(file, mode) == 0 else { throw SystemCallError("chmod", path + "/" + temporary) }
        }
        try rename(temporary, to: name)
    }

    /// The length and the time of the last change, in seconds since 1970, of the regular file `name`; `nil` without such a file.
    package func stamp(of name: String) -> (size: Int, time: Int64)? {
        var information = stat()
        guard system.fstatat(directory.descriptor, name, &information, AT_SYMLINK_NOFOLLOW) == 0,
            information.isFile
        else { return nil }
        #if canImport(Darwin)
        return (Int(information.st_size), Int64(information.st_mtimespec.tv_sec))
        #else
        return (Int(information.st_size), Int64(information.st_mtim.tv_sec))
        #endif
    }

    /// Whether `name` is a folder.
    package func hasFolder(_ name: String) -> Bool {
        var information = stat()
        return system.fstatat(directory.descriptor, name, &information, AT_SYMLINK_NOFOLLOW) == 0
            && information.isFolder
    }

    /// Gives the file `name` the permission bits `mode`, unless it has them. Links, and files with another name, stay as
    /// they are.
    ///
    /// - Throws: `storage` or `readOnly`.
    package func setMode(_ mode: UInt32, of name: String) throws(AvatarStoreError) {
        var information = stat()
        guard system.fstatat(directory.descriptor, name, &information, AT_SYMLINK_NOFOLLOW) == 0,
            information.st_mode & 0o7777 != mode_t(mode)
        else { return }
        try withStoreErrors { () throws(SystemCallError) in
            let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
            let descriptor = try system.open(name, in: directory.descriptor, flags: flags, mode: 0)
            defer { system.close(descriptor) }
            guard isFileOfItsOwn(descriptor) else { return }
            guard system.fchmod(descriptor, mode) == 0 else { throw SystemCallError("chmod", path + "/" + name) }
        }
    }

    /// Renames the file `name` to `other`, and replaces a file of that name.
    ///
    /// - Throws: `storage`, `diskFull` or `readOnly`.
    package func rename(_ name: String, to other: String) throws(AvatarStoreError) {
        try withStoreErrors { () throws(SystemCallError) in
            try system.rename(name, in: directory.descriptor, to: other, in: directory.descriptor)
        }
    }

    /// Deletes the file `name`. A missing file is no error; a name that leads out of the folder is ignored.
    package func remove(_ name: String) {
        guard Self.isPlain(name) else { return }
        // If this fails, the file is found when the folder must be empty.
        system.unlinkat(directory.descriptor, name, 0)
    }
}
