package import AvatarCore
import AvatarDigest
import AvatarFileSystem
import AvatarFoundation
package import AvatarImages

/// A file that is being written in the staging folder. Its digest is computed along the way.
///
/// Used by one task at a time. If the last reference goes before `finish`, the file is deleted, unless it was kept.
package final class StagedFile {
    /// The number of bytes written so far.
    package private(set) var byteCount = 0

    /// The class that the image is fetched for, which decides the root that it will be published in.
    package let storageClass: StorageClass
    /// Whether an unfinished file stays, so that the download can be resumed later.
    package private(set) var isKept = false
    /// The staging folder, which ends before the files of the store are made durable.
    private let staging: StagingFolder
    /// The file's name in `folder`. Both change when it is kept.
    private var name: String
    /// The folder of the file: the holder's staging folder, or the folder of kept downloads.
    private var folder: Directory
    /// The open file.
    private let descriptor: Int32
    /// The digest of the bytes so far.
    private var digest = SHA256()
    /// Whether the file was finished or discarded, so that `deinit` must not delete it.
    private var isFinished = false

    /// Creates the file `name` in `folder`, with the permissions `mode`.
    ///
    /// - Throws: `diskFull`, `readOnly` or `storage` if it exists already or cannot be created.
    init(
        name: String,
        in folder: Directory,
        of staging: StagingFolder,
        storageClass: StorageClass,
        mode: UInt32
    ) throws(AvatarStoreError) {
        self.staging = staging
        descriptor = try withStoreErrors { () throws(SystemCallError) in
            try folder.fileSystem.open(name, in: folder.descriptor, flags: O_RDWR | O_CREAT | O_EXCL, mode: mode)
        }
        (self.name, self.folder, self.storageClass) = (name, folder, storageClass)
    }

    /// Continues a file that was kept.
    ///
    /// - Throws: `SystemCallError` if it cannot be read, with `ENOENT` if it is missing.
    init(
        continuing name: String,
        in folder: Directory,
        of staging: StagingFolder,
        storageClass: StorageClass
    ) throws(SystemCallError) {
        (self.name, self.folder, self.staging, self.storageClass) = (name, folder, staging, storageClass)
        isKept = true
        descriptor = try folder.fileSystem.open(name, in: folder.descriptor, flags: O_RDWR | O_NOFOLLOW, mode: 0)
        try readWhatIsThere()
    }

    /// The file calls.
    private var fileSystem: any FileSystem { folder.fileSystem }

    /// Reads the bytes of the earlier attempt, which are part of the digest.
    private func readWhatIsThere() throws(SystemCallError) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fileSystem.pread(descriptor, &buffer, buffer.count, byteCount)
            guard count >= 0 else { throw SystemCallError("read", folder.path + "/" + name) }
            if count == 0 { return }
            digest.update(buffer[..<count])
            byteCount += count
        }
    }

    deinit {
        fileSystem.close(descriptor)
        // If this fails, the file is removed together with the holder's folder.
        if !isFinished && !isKept { fileSystem.unlinkat(folder.descriptor, name, 0) }
    }

    /// Appends `bytes`.
    ///
    /// - Throws: `diskFull`, `readOnly` or `storage`, for a kept file also after `StagingFolder.end()`; `byteCount` then stays as it was.
    package func write(_ bytes: [UInt8]) throws(AvatarStoreError) {
        // The index counts the bytes of a kept file as durable once the store is closed.
        guard isKept else { return try append(bytes) }
        try staging.whileOpen { () throws(AvatarStoreError) in try append(bytes) }
    }

    private func append(_ bytes: [UInt8]) throws(AvatarStoreError) {
        try withStoreErrors { () throws(SystemCallError) in
            try bytes.withUnsafeBufferPointer { (elements) throws(SystemCallError) in
                let buffer = UnsafeRawBufferPointer(elements)
                try fileSystem.write(buffer, to: descriptor, at: byteCount, named: folder.path + "/" + name)
                digest.update(buffer)
            }
        }
        byteCount += bytes.count
    }

    /// Moves the file to `name` in `directory`, where it stays if this value goes before `finish`.
    func keep(as name: String, in directory: Directory) throws(SystemCallError) {
        try fileSystem.rename(self.name, in: folder.descriptor, to: name, in: directory.descriptor)
        self.name = name
        folder = directory
        isKept = true
    }

    /// Deletes the file, even if it was kept.
    ///
    /// A failure is ignored: the file is then removed with the folder of its holder, or with the record of the kept
    /// download.
    package func discard() {
        fileSystem.unlinkat(folder.descriptor, name, 0)
        isFinished = true
    }

    /// Ends writing. The caller now publishes or discards the returned image.
    ///
    /// The bytes are complete but not durable. `FileStore.publish` makes them so if asked.
    package func finish(as image: ImageDescription) -> StagedImage {
        isFinished = true
        return StagedImage(
            content: .file(isKept ? StagingFolder.partialPrefix + name : name),
            storageClass: storageClass,
            sizeBytes: byteCount,
            sha256: digest.finalize(),
            image: image
        )
    }
}

extension StagedFile: ByteSource {
    /// Reads bytes that were written already.
    ///
    /// - Throws: an error of the disk.
    package func bytes(at offset: Int, count: Int) throws -> [UInt8] {
        try FileSource(descriptor, byteCount: byteCount, path: folder.path + "/" + name, on: fileSystem)
            .bytes(at: offset, count: count)
    }
}

/// A complete image that is not published yet: in the staging folder, or still in memory.
package struct StagedImage: Hashable, Sendable {
    /// The place of the bytes.
    package enum Content: Hashable, Sendable {
        /// A file, by its path relative to the holder's staging folder.
        case file(String)
        /// The bytes themselves. `FileStore.publish` writes them to a file.
        case memory([UInt8])
    }

    package let content: Content
    package let storageClass: StorageClass
    /// The length in bytes.
    package let sizeBytes: Int
    /// The digest of the bytes.
    package let sha256: [UInt8]
    /// The format and dimensions.
    package let image: ImageDescription
}

// An extension, so that the struct keeps its memberwise initializer.
extension StagedImage {
    /// An image in memory. Computes the digest of `bytes`.
    ///
    /// - Parameter image: the format and dimensions that an inspector found in `bytes`.
    package init(_ bytes: [UInt8], as image: ImageDescription, in storageClass: StorageClass) {
        self.init(
            content: .memory(bytes),
            storageClass: storageClass,
            sizeBytes: bytes.count,
            sha256: ContentDigest.sha256(bytes),
            image: image
        )
    }

    /// Whether the bytes are in memory rather than in a file.
    package var isInMemory: Bool {
        if case .memory = content { true } else { false }
    }
}

extension FileRecord {
    /// The file of an image at `path`, before it has a row.
    package init(unlisted path: String, in storageClass: StorageClass, _ sizeBytes: Int, _ image: ImageDescription) {
        self.init(
            id: 0,
            storageClass: storageClass,
            path: path,
            sizeBytes: sizeBytes,
            mediaType: image.format.mediaType,
            width: image.width,
            height: image.height
        )
    }
}
