package import AvatarCore
package import AvatarFileSystem
import AvatarFoundation

/// Reads the published files of one root. Needs no holder, so that a read-only store can use it.
package struct StoredFiles: Sendable {
    /// The directory of the published files.
    package let root: Directory

    /// Reads the files in `root`.
    package init(root: Directory) {
        self.root = root
    }

    /// The bytes of `file`; `nil` if it is missing or its length differs from the index.
    ///
    /// - Throws: `storage` or `readOnly` if the disk or its permissions prevent reading.
    package func read(_ file: FileRecord) throws(AvatarStoreError) -> [UInt8]? {
        guard FilePath.isPublishedName(file.path) else { return nil }
        return try read(file.sizeBytes, at: file.path)
    }

    /// The bytes of the file at `path`; `nil` if it is missing or its length is not `sizeBytes`.
    func read(_ sizeBytes: Int, at path: String) throws(AvatarStoreError) -> [UInt8]? {
        guard let descriptor = try descriptor(at: path) else { return nil }
        defer { root.fileSystem.close(descriptor) }
        var failure: SystemCallError?
        // Room for one byte more than expected, so that the read itself detects a longer file.
        let bytes = [UInt8](unsafeUninitializedCapacity: sizeBytes + 1) { buffer, initialized in
            while initialized < sizeBytes {
                let rest = UnsafeMutableBufferPointer(rebasing: buffer[initialized...])
                let count = root.fileSystem.pread(descriptor, rest.baseAddress, rest.count, initialized)
                if count < 0 && errno == EINTR { continue }
                // A folder or a pipe, which has no offsets.
                if count < 0 && errno != EISDIR && errno != ESPIPE { failure = SystemCallError("read", path) }
                if count <= 0 { return }
                initialized += count
            }
        }
        if let failure { throw failure.storeError }
        return bytes.count == sizeBytes ? bytes : nil
    }

    /// Calls `body` with an open descriptor of `file`; returns `nil` if it is missing or its length differs from the
    /// index. The descriptor is closed afterwards.
    package func withDescriptor<Result>(
        of file: FileRecord,
        _ body: (Int32) throws -> Result
    ) throws -> Result? {
        guard let descriptor = try open(file) else { return nil }
        defer { root.fileSystem.close(descriptor) }
        return try body(descriptor)
    }

    /// Opens `file`; `nil` if it is missing or its length differs from the index.
    ///
    /// - Throws: an error of the disk.
    package func openFile(_ file: FileRecord) throws -> OpenFile? {
        try open(file).map {
            OpenFile(FileSource($0, byteCount: file.sizeBytes, path: file.path, on: root.fileSystem))
        }
    }

    /// Opens `path`; `nil` if it is missing, is or leads through a symbolic link, or leads out of the root.
    func descriptor(at path: String) throws(AvatarStoreError) -> Int32? {
        do throws(SystemCallError) {
            // O_NONBLOCK: opening a pipe must not wait for a writer.
            return try root.openBeneath(path, O_RDONLY | O_NONBLOCK)
        } catch {
            if error.isNotHeld { return nil }
            throw error.storeError
        }
    }

    /// Opens `file`; `nil` if it is missing, is not a regular file or has another length than the index says.
    private func open(_ file: FileRecord) throws(AvatarStoreError) -> Int32? {
        guard FilePath.isPublishedName(file.path), let descriptor = try descriptor(at: file.path) else { return nil }
        do throws(SystemCallError) {
            let status = try root.fileSystem.status(of: descriptor, named: path(of: file))
            if status.isFile, Int(status.st_size) == file.sizeBytes { return descriptor }
            root.fileSystem.close(descriptor)
            return nil
        } catch {
            root.fileSystem.close(descriptor)
            throw error.storeError
        }
    }

    /// Whether `file` exists as a regular file of the length in the index.
    ///
    /// - Throws: `storage` or `readOnly` if the disk or its permissions prevent an answer. The file may be there then, so its
    ///   row must stay.
    package func contains(_ file: FileRecord) throws(AvatarStoreError) -> Bool {
        // Opens no descriptor: a process at its descriptor limit must not take files for missing.
        guard FilePath.isPublishedName(file.path),
            let byte = FilePath.digestByte(ofFolder: FilePath.folder(of: file.path))
        else { return false }
        guard try root.hasFolder(forDigestByte: byte), let status = try status(of: file.path) else { return false }
        return status.isFile && Int(status.st_size) == file.sizeBytes
    }

    /// The status of `path` itself, without following a link at its end; `nil` if it does not exist.
    ///
    /// - Throws: `storage` or `readOnly` if the disk or its permissions prevent it.
    func status(of path: String) throws(AvatarStoreError) -> stat? {
        do throws(SystemCallError) {
            return try root.fileSystem.status(of: path, in: root.descriptor)
        } catch {
            throw SystemCallError(error.call, root.path + "/" + path, number: error.number).storeError
        }
    }

    /// The absolute path of `file`. Use it only for messages and for a file that `contains` has found.
    package func path(of file: FileRecord) -> String {
        var (folder, name) = (root.path, file.path)
        return folder.withUTF8 { folder in
            name.withUTF8 { name in
                String(unsafeUninitializedCapacity: folder.count + 1 + name.count) { text in
                    _ = text.initialize(fromContentsOf: folder)
                    text.initializeElement(at: folder.count, to: UInt8(ascii: "/"))
                    return text[(folder.count + 1)...].initialize(fromContentsOf: name)
                }
            }
        }
    }
}

/// An open file. It stays readable after it is unlinked, and is closed with the last reference to it.
package final class OpenFile: ByteSource, Sendable {
    private let source: FileSource

    /// Takes over the descriptor of `source`.
    init(_ source: FileSource) {
        self.source = source
    }

    deinit { source.fileSystem.close(source.descriptor) }

    /// The length in bytes.
    package var byteCount: Int { source.byteCount }

    /// The descriptor, which is valid as long as this value.
    package var descriptor: Int32 { source.descriptor }

    /// Reads at most `count` bytes at `offset`; fewer at the end of the file.
    ///
    /// - Throws: an error of the disk.
    package func bytes(at offset: Int, count: Int) throws -> [UInt8] {
        try source.bytes(at: offset, count: count)
    }
}

/// The bytes of an open file, read at any offset without moving its position.
package struct FileSource: ByteSource, Sendable {
    /// The open file. Its owner closes it.
    let descriptor: Int32
    /// The expected length in bytes.
    package let byteCount: Int
    /// The path for error messages.
    private let path: String
    /// The file system of the file.
    fileprivate let fileSystem: any FileSystem

    /// The first `byteCount` bytes of an open file.
    ///
    /// - Parameter path: the path for error messages.
    /// - Parameter fileSystem: the file system of the file.
    package init(_ descriptor: Int32, byteCount: Int, path: String, on fileSystem: any FileSystem) {
        (self.descriptor, self.byteCount) = (descriptor, byteCount)
        (self.path, self.fileSystem) = (path, fileSystem)
    }

    /// Reads at most `count` bytes at `offset`; fewer at the end of the file.
    ///
    /// - Throws: an error of the disk.
    package func bytes(at offset: Int, count: Int) throws -> [UInt8] {
        var failure: SystemCallError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var read = 0
            repeat {
                read = fileSystem.pread(descriptor, buffer.baseAddress, count, offset)
            } while read < 0 && errno == EINTR
            if read < 0 { failure = SystemCallError("read", path) }
            initialized = max(0, read)
        }
        if let failure { throw failure.storeError }
        return bytes
    }
}
