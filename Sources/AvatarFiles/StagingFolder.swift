package import AvatarCore
import AvatarFileSystem
import AvatarFoundation
import Synchronization

/// The files of one storage class that are being written: a folder of this holder's in the staging folder that all
/// holders share, and the downloads that are kept until they are resumed.
///
/// A holder's folder is removed with it. Kept downloads are in the folder `partial`, so that they survive the holder that
/// began them; the index records which ones are kept, and for how long.
package final class StagingFolder: Sendable {
    /// The name of the folder of kept downloads.
    private static let partialFolder = "partial"
    /// The prefix of the names of staged images in that folder.
    static let partialPrefix = "../" + partialFolder + "/"

    /// The class that the files are written for.
    private let storageClass: StorageClass
    /// The staging folder, which all holders share.
    private let shared: Directory
    /// This holder's folder in `shared`.
    private let folder: Directory
    /// The permissions of the files.
    private let fileMode: UInt32
    /// Numbers the files.
    private let counter = Atomic<UInt64>(0)
    /// Locked while a file is begun, because a file begun after `end()` would be in a folder without a holder.
    private let hasEnded = Locked(false)

    /// Creates the folder of `holder` in `shared`.
    ///
    /// - Throws: `readOnly`, `diskFull` or `storage` if it cannot be created.
    init(
        _ storageClass: StorageClass,
        in shared: Directory,
        holder: Holder,
        fileMode: UInt32
    ) throws(AvatarStoreError) {
        (self.storageClass, self.shared, self.fileMode) = (storageClass, shared, fileMode)
        folder = try withStoreErrors { () throws(SystemCallError) in
            _ = try shared.fileSystem.makeDirectory(holder.name, in: shared.descriptor, mode: 0o700)
            return try Directory(opening: shared.path + "/" + holder.name, on: shared.fileSystem)
        }
    }

    /// The file calls.
    private var fileSystem: any FileSystem { shared.fileSystem }

    /// The path of the staging folder that all holders share.
    var path: String { shared.path }

    /// Begins a new file in the holder's folder.
    ///
    /// - Throws: `storage` after `end()`; `diskFull`, `readOnly` or `storage` if the file cannot be created.
    package func stage() throws(AvatarStoreError) -> StagedFile {
        let name = nextName()
        return try hasEnded.withLock { hasEnded throws(AvatarStoreError) in
            try restoreFolder(unless: hasEnded)
            return try StagedFile(name: name, in: folder, of: self, storageClass: storageClass, mode: fileMode)
        }
    }

    /// Creates a file without a name, for data that a running piece of work needs, such as a contact list.
    ///
    /// - Throws: as `stage()`.
    package func scratch() throws(AvatarStoreError) -> ScratchFile {
        let name = nextName()
        return try hasEnded.withLock { hasEnded throws(AvatarStoreError) in
            try restoreFolder(unless: hasEnded)
            let path = folder.path + "/" + name
            return try ScratchFile(name: name, in: folder.descriptor, path: path, fileSystem: fileSystem)
        }
    }

    /// Writes an image that is in memory to the holder's folder. An image in a file is returned as it is.
    ///
    /// - Throws: as `stage()`. No new file is left then.
    package func stage(_ image: StagedImage) throws(AvatarStoreError) -> StagedImage {
        StagedImage(
            content: .file(try file(of: image)),
            storageClass: image.storageClass,
            sizeBytes: image.sizeBytes,
            sha256: image.sha256,
            image: image.image
        )
    }

    /// The file of a staged image, which is written now if the image is in memory.
    ///
    /// - Throws: as `stage()`. No new file is left then.
    func file(of image: StagedImage) throws(AvatarStoreError) -> String {
        let bytes: [UInt8]
        switch image.content {
        case .file(let file): return file
        case .memory(let held): bytes = held
        }
        let name = nextName()
        try hasEnded.withLock { hasEnded throws(AvatarStoreError) in
            try restoreFolder(unless: hasEnded)
            try withStoreErrors { () throws(SystemCallError) in
                let path = folder.path + "/" + name
                try fileSystem.create(name, of: bytes, in: folder.descriptor, mode: fileMode, named: path)
            }
        }
        return name
    }

    /// A name in the holder's folder that no other file of this process has.
    private func nextName() -> String {
        "\(storageClass.rawValue)-\(counter.add(1, ordering: .relaxed).newValue)"
    }

    /// Continues the file `name` in the folder that `open` returns; `nil` if it is missing.
    private func stage(
        continuing name: String,
        in open: () throws(SystemCallError) -> Directory
    ) throws(AvatarStoreError) -> StagedFile? {
        try hasEnded.withLock { hasEnded throws(AvatarStoreError) in
            try restoreFolder(unless: hasEnded)
            do throws(SystemCallError) {
                return try StagedFile(continuing: name, in: open(), of: self, storageClass: storageClass)
            } catch {
                if error.isMissing { return nil }
                throw error.storeError
            }
        }
    }

    /// Ends staging: no file can be begun from now on, so that the holder's folder can be removed.
    package func end() {
        hasEnded.withLock { $0 = true }
    }

    /// - Throws: `storage` after `end()`.
    func requireOpen() throws(AvatarStoreError) { try whileOpen {} }

    /// Runs `body`; `end()` waits for it.
    ///
    /// - Throws: `storage` after `end()`; errors of `body`.
    func whileOpen(_ body: () throws(AvatarStoreError) -> Void) throws(AvatarStoreError) {
        try hasEnded.withLock { hasEnded throws(AvatarStoreError) in
            try Self.require(!hasEnded)
            try body()
        }
    }

    private static func require(_ isOpen: Bool) throws(AvatarStoreError) {
        guard isOpen else { throw AvatarStoreError(.storage, "The store was closed.", failure: .storage) }
    }

    /// Makes the staging folder again if it was removed.
    ///
    /// - Throws: `storage` if staging has ended; an error of the disk.
    private func restoreFolder(unless hasEnded: Bool) throws(AvatarStoreError) {
        try Self.require(!hasEnded)
        try withStoreErrors { () throws(SystemCallError) in
            try shared.restoreIfRemoved(mode: 0o700)
            try folder.restoreIfRemoved(mode: 0o700)
        }
    }

    /// Deletes a staged image that will not be published. One in memory has no file.
    package func discard(_ image: StagedImage) {
        if case .file(let file) = image.content { delete(file) }
    }

    /// Deletes a staged file.
    func delete(_ file: String) {
        do throws(SystemCallError) {
            let (directory, name) = try place(of: file)
            try directory.withFolder(of: name) { (folder, name) throws(SystemCallError) in
                try fileSystem.unlink(name, in: folder)
            }
        } catch {
            // The rest of the holder's folder is removed with the holder.
        }
    }

    /// The directory of the staged file `file`, and its name there.
    func place(of file: String) throws(SystemCallError) -> (directory: Directory, name: String) {
        guard file.hasPrefix(Self.partialPrefix) else { return (folder, file) }
        return (try partials(), String(file.dropFirst(Self.partialPrefix.count)))
    }

    /// Reads the bytes of a staged image.
    ///
    /// - Throws: `storage` if it has vanished or changed its length.
    package func read(_ image: StagedImage) throws(AvatarStoreError) -> [UInt8] {
        switch image.content {
        case .memory(let bytes): return bytes
        case .file(let file): return try read(file, of: image.sizeBytes)
        }
    }

    private func read(_ file: String, of size: Int) throws(AvatarStoreError) -> [UInt8] {
        let (directory, name) = try withStoreErrors { () throws(SystemCallError) in try place(of: file) }
        guard let bytes = try StoredFiles(root: directory).read(size, at: name) else {
            throw AvatarStoreError(
                .storage,
                "The staged image \"\(file)\" of \(size) bytes has vanished.",
                failure: .storage
            )
        }
        return bytes
    }

    /// Opens the folder of the kept files, which must not be a symbolic link.
    private func partials() throws(SystemCallError) -> Directory {
        try Directory(opening: shared.path + "/" + Self.partialFolder, on: fileSystem)
    }

    /// Keeps `file` as `name`: it stays if it is not finished.
    ///
    /// Neither its bytes nor its name are durable on return.
    ///
    /// - Throws: `diskFull`, `readOnly` or `storage`; `storage` after `end()`.
    package func keep(_ file: StagedFile, as name: String) throws(AvatarStoreError) {
        try whileOpen { () throws(AvatarStoreError) in try keepNow(file, as: name) }
    }

    private func keepNow(_ file: StagedFile, as name: String) throws(AvatarStoreError) {
        try withStoreErrors { () throws(SystemCallError) in
            _ = try fileSystem.makeDirectory(Self.partialFolder, in: shared.descriptor, mode: 0o700)
            try file.keep(as: name, in: partials())
        }
    }

    /// Continues the file that was kept as `name`; `nil` if it is missing or `name` leads elsewhere.
    package func resume(_ name: String) throws(AvatarStoreError) -> StagedFile? {
        // A name from a foreign index may be a path that leads elsewhere.
        guard FilePath.isPlain(name) else { return nil }
        return try stage(continuing: name, in: partials)
    }

    /// Deletes the file that was kept as `name`. A missing file is no error; a name that leads elsewhere is ignored.
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
