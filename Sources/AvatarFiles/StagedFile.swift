package import AvatarCore
package import AvatarImages
import Crypto

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A file in the making, in the staging folder: bytes go to it as they arrive, and into its digest.
///
/// Used by one task at a time. If it goes away without `finish`, so does the file, unless it was kept.
package final class StagedFile {
    /// The number of bytes written so far.
    package private(set) var byteCount = 0

    package let storageClass: StorageClass
    /// Whether the file stays if it is not finished, to be continued another time.
    package private(set) var isKept = false
    private var name: String
    private var folder: Directory
    private let fileSystem: any FileSystem
    private let descriptor: Int32
    private var digest = SHA256()
    private var isFinished = false

    init(
        name: String,
        in folder: Directory,
        storageClass: StorageClass,
        mode: UInt32,
        fileSystem: any FileSystem
    ) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            descriptor = try fileSystem.open(
                name,
                in: folder.descriptor,
                flags: O_RDWR | O_CREAT | O_EXCL,
                mode: mode
            )
        } catch {
            throw error.storeError
        }
        self.name = name
        self.folder = folder
        self.storageClass = storageClass
        self.fileSystem = fileSystem
    }

    /// Goes on with a file that was kept.
    ///
    /// - Throws: `SystemCallError` if it cannot be read; `ENOENT` if it is not there.
    init(
        continuing name: String,
        in folder: Directory,
        storageClass: StorageClass,
        fileSystem: any FileSystem
    ) throws(SystemCallError) {
        self.name = name
        self.folder = folder
        self.storageClass = storageClass
        self.fileSystem = fileSystem
        isKept = true
        descriptor = try fileSystem.open(name, in: folder.descriptor, flags: O_RDWR | O_NOFOLLOW, mode: 0)
        try readWhatIsThere()
    }

    /// The digest is that of the whole, so it begins with what came before.
    private func readWhatIsThere() throws(SystemCallError) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count >= 0 else { throw SystemCallError("read", folder.path + "/" + name) }
            if count == 0 { return }
            digest.update(data: buffer[..<count])
            byteCount += count
        }
    }

    deinit {
        close(descriptor)
        // The folder goes away with its holder, so a file that cannot be removed now is removed then.
        if !isFinished && !isKept { unlinkat(folder.descriptor, name, 0) }
    }

    /// Adds `bytes` at the end.
    package func write(_ bytes: [UInt8]) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            try bytes.withUnsafeBufferPointer { (elements) throws(SystemCallError) in
                let buffer = UnsafeRawBufferPointer(elements)
                try fileSystem.write(buffer, to: descriptor, at: byteCount, named: folder.path + "/" + name)
                digest.update(bufferPointer: buffer)
            }
        } catch {
            throw error.storeError
        }
        byteCount += bytes.count
    }

    /// Lets what has come so far, and what comes from here on, outlive this value, as `name` in `directory`.
    func keep(as name: String, in directory: Directory) throws(SystemCallError) {
        try fileSystem.rename(self.name, in: folder.descriptor, to: name, in: directory.descriptor)
        self.name = name
        folder = directory
        isKept = true
    }

    /// Throws away what has come. It is no longer kept.
    package func discard() {
        unlinkat(folder.descriptor, name, 0)
        isFinished = true
    }

    /// Ends the file, which now belongs to the value that is returned.
    package func finish(as image: ImageDescription) -> StagedImage {
        isFinished = true
        return StagedImage(
            name: isKept ? FileStore.partialPrefix + name : name,
            storageClass: storageClass,
            sizeBytes: byteCount,
            sha256: Array(digest.finalize()),
            image: image
        )
    }
}

extension StagedFile: ByteSource {
    package func bytes(at offset: Int, count: Int) throws -> [UInt8] {
        try FileSource(descriptor, byteCount: byteCount, path: folder.path + "/" + name).bytes(at: offset, count: count)
    }
}

/// A complete image in the staging folder, not yet published.
package struct StagedImage: Hashable, Sendable {
    /// As seen from the staging folder of its holder.
    package let name: String
    package let storageClass: StorageClass
    package let sizeBytes: Int
    package let sha256: [UInt8]
    package let image: ImageDescription
}

/// Downloads that were interrupted: their files lie in the folder `partial` beside those of the holders, so that they
/// outlive whoever began them. Which ones are kept, and for how long, is in the index.
extension FileStore {
    private static let partialFolder = "partial"
    /// The prefix of the names of staged images that lie there.
    static let partialPrefix = "../" + partialFolder + "/"

    /// The folder of the kept files, which must not be a symbolic link.
    func partials() throws(SystemCallError) -> Directory {
        try Directory(opening: staging.path + "/" + Self.partialFolder)
    }

    /// Lets `file` stay under `name` if it is not finished.
    package func keep(_ file: StagedFile, as name: String) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            _ = try fileSystem.makeDirectory(Self.partialFolder, in: staging.descriptor, mode: 0o700)
            try file.keep(as: name, in: partials())
        } catch {
            throw error.storeError
        }
    }

    /// Goes on with the file that was kept as `name`; `nil` if it is not there.
    package func resume(_ name: String) throws(AvatarStoreError) -> StagedFile? {
        // A name in an index may come from elsewhere.
        guard FilePath.isPlain(name) else { return nil }
        return try stage(continuing: name, in: partials)
    }

    /// Removes the file that was kept as `name`; one that is gone is fine, and so is a name that leads elsewhere.
    package func removePartial(_ name: String) throws(AvatarStoreError) {
        guard FilePath.isPlain(name) else { return }
        do throws(SystemCallError) {
            try partials().withFolder(of: name) { (folder, name) throws(SystemCallError) in
                try fileSystem.unlink(name, in: folder)
            }
        } catch {
            if !error.isNotHeld { throw error.storeError }
        }
    }
}
