package import AvatarCore
import CAvatarSystem
import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The files of one storage class: the root with the published files, and the staging folder in which files are
/// written.
///
/// A published name is never reused and its content never changes, so a reader of a path gets the whole old image or no
/// file. The caller (`StoreWriter`) decides the order of the steps and records them in the index.
package final class FileStore: Sendable {
    /// The class of all files in this store of files.
    package let storageClass: StorageClass
    /// The directory of the published files.
    package let root: Directory
    /// The staging folder, which all holders share.
    let staging: Directory
    /// This holder's folder in `staging`.
    let folder: Directory
    /// The file calls that publish and delete.
    let fileSystem: any FileSystem
    /// The permissions of staged and published files.
    private let fileMode: UInt32
    /// The permissions of the two-digit folders.
    private let directoryMode: UInt32
    /// Numbers the staged files.
    private let counter = Atomic<UInt64>(0)
    /// Locked while a file is begun, because a file begun after `end()` would be in a folder without a holder.
    private let hasEnded = Mutex(false)
    /// The two-digit folders whose own names are durable.
    private let durableFolders = Mutex<Set<String>>([])

    /// Opens the files of a storage class, and creates the holder's folder in `staging`.
    ///
    /// - Parameters:
    ///   - storageClass: `caches` or `documents`.
    ///   - root: The directory of the published files.
    ///   - staging: The staging folder, on the same file system as `root`.
    ///   - holder: Names the folder for staged files.
    ///   - fileMode: The permissions of new files, such as `0o600`.
    ///   - fileSystem: Makes the file calls.
    package init(
        _ storageClass: StorageClass,
        root: Directory,
        staging: Directory,
        holder: Holder,
        fileMode: UInt32,
        fileSystem: any FileSystem
    ) throws(AvatarStoreError) {
        self.storageClass = storageClass
        self.root = root
        self.staging = staging
        self.fileSystem = fileSystem
        self.fileMode = fileMode
        directoryMode = Self.directoryMode(for: fileMode)
        do throws(SystemCallError) {
            _ = try fileSystem.makeDirectory(holder.name, in: staging.descriptor, mode: 0o700)
            folder = try Directory(opening: staging.path + "/" + holder.name)
        } catch {
            throw error.storeError
        }
    }

    /// The permissions of a directory for files with `fileMode`: users that may read the files may also enter it.
    package static func directoryMode(for fileMode: UInt32) -> UInt32 {
        fileMode | ((fileMode & 0o444) >> 2)
    }

    /// Begins a new file in the holder's folder.
    ///
    /// - Throws: `storage` after `end()`; `diskFull`, `readOnly` or `storage` if the file cannot be created.
    package func stage() throws(AvatarStoreError) -> StagedFile {
        let name = nextName()
        return try hasEnded.withLock { hasEnded throws(AvatarStoreError) in
            try restoreFolder(unless: hasEnded)
            return try StagedFile(
                name: name,
                in: folder,
                storageClass: storageClass,
                mode: fileMode,
                fileSystem: fileSystem
            )
        }
    }

    /// Writes an image that is in memory to the holder's folder. An image in a file is returned as it is.
    ///
    /// - Throws: as `stage()`. No new file is left then.
    package func stage(_ image: StagedImage) throws(AvatarStoreError) -> StagedImage {
        StagedImage(
            content: .file(try stagedFile(of: image)),
            storageClass: image.storageClass,
            sizeBytes: image.sizeBytes,
            sha256: image.sha256,
            image: image.image
        )
    }

    /// The file of a staged image, which is written now if the image is in memory.
    ///
    /// - Throws: as `stage()`. No new file is left then.
    private func stagedFile(of image: StagedImage) throws(AvatarStoreError) -> String {
        let bytes: [UInt8]
        switch image.content {
        case .file(let file): return file
        case .memory(let held): bytes = held
        }
        let name = nextName()
        try hasEnded.withLock { hasEnded throws(AvatarStoreError) in
            try restoreFolder(unless: hasEnded)
            do throws(SystemCallError) {
                try write(bytes, toNew: name)
            } catch {
                throw error.storeError
            }
        }
        return name
    }

    /// Creates the file `name` with `bytes` in the holder's folder. Deletes it again if it cannot be written.
    private func write(_ bytes: [UInt8], toNew name: String) throws(SystemCallError) {
        let file = try fileSystem.open(
            name,
            in: folder.descriptor,
            flags: O_WRONLY | O_CREAT | O_EXCL,
            mode: fileMode
        )
        defer { close(file) }
        do throws(SystemCallError) {
            try bytes.withUnsafeBufferPointer { (elements) throws(SystemCallError) in
                let buffer = UnsafeRawBufferPointer(elements)
                try fileSystem.write(buffer, to: file, at: 0, named: folder.path + "/" + name)
            }
        } catch {
            unlinkat(folder.descriptor, name, 0)
            throw error
        }
    }

    /// A name in the holder's folder that no other file of this process has.
    private func nextName() -> String {
        "\(storageClass.rawValue)-\(counter.add(1, ordering: .relaxed).newValue)"
    }

    /// Continues the file `name` in the folder that `open` returns; `nil` if it is missing.
    func stage(
        continuing name: String,
        in open: () throws(SystemCallError) -> Directory
    ) throws(AvatarStoreError) -> StagedFile? {
        try hasEnded.withLock { hasEnded throws(AvatarStoreError) in
            try restoreFolder(unless: hasEnded)
            do throws(SystemCallError) {
                return try StagedFile(
                    continuing: name,
                    in: open(),
                    storageClass: storageClass,
                    fileSystem: fileSystem
                )
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

    /// Makes the staging folder again if it was removed.
    ///
    /// - Throws: `storage` if staging has ended; an error of the disk.
    private func restoreFolder(unless hasEnded: Bool) throws(AvatarStoreError) {
        guard !hasEnded else { throw AvatarStoreError(.storage, "The store was closed.", failure: .storage) }
        do throws(SystemCallError) {
            try staging.restoreIfRemoved(mode: 0o700)
            try folder.restoreIfRemoved(mode: 0o700)
        } catch {
            throw error.storeError
        }
    }

    /// Deletes a staged image that will not be published. One in memory has no file.
    package func discard(_ image: StagedImage) {
        if case .file(let file) = image.content { deleteStaged(file) }
    }

    private func deleteStaged(_ file: String) {
        do throws(SystemCallError) {
            let (directory, name) = try place(of: file)
            try directory.withFolder(of: name) { (folder, name) throws(SystemCallError) in
                guard unlinkat(folder, name, 0) == 0 else { throw SystemCallError("unlink", name) }
            }
        } catch {
            // The rest of the holder's folder is removed with the holder.
        }
    }

    /// The directory of the staged file `file`, and its name there.
    private func place(of file: String) throws(SystemCallError) -> (directory: Directory, name: String) {
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
        let directory: Directory
        let name: String
        do throws(SystemCallError) {
            (directory, name) = try place(of: file)
        } catch {
            throw error.storeError
        }
        guard let bytes = try StoredFiles(root: directory).read(size, at: name) else {
            throw AvatarStoreError(
                .storage,
                "The staged image \"\(file)\" of \(size) bytes has vanished.",
                failure: .storage
            )
        }
        return bytes
    }

    /// Writes the label of a published file, if the file system supports extended attributes. A missing file is no
    /// error.
    package func label(published path: String, _ label: FileLabel) throws(AvatarStoreError) {
        do throws(AvatarStoreError) {
            try write(label, to: path, in: root)
        } catch {
            guard let call = error.underlying as? SystemCallError, call.isNotHeld else { throw error }
        }
    }

    /// Writes `label` to the file at `path`.
    private func write(_ label: FileLabel, to path: String, in directory: Directory) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            try directory.withFolder(of: path) { (folder, name) throws(SystemCallError) in
                let file = try fileSystem.open(name, in: folder, flags: O_RDONLY | O_NOFOLLOW, mode: 0)
                defer { close(file) }
                label.write(to: file)
            }
        } catch {
            throw error.storeError
        }
    }

    /// Makes all files on the file system of the root durable (`syncfs`).
    package func synchronizeFileSystem() throws(AvatarStoreError) {
        guard avatar_sync_file_system(root.descriptor) == 0 else {
            throw SystemCallError("syncfs", root.path).storeError
        }
    }

    /// Makes the folders of the files at `paths` durable, each once. A missing folder is no error.
    package func synchronizeFolders(of paths: [String]) throws(AvatarStoreError) {
        for folder in Set(paths.map(FilePath.folder)) {
            do throws(AvatarStoreError) {
                try synchronize(folder, in: root)
            } catch {
                guard let call = error.underlying as? SystemCallError, call.isNotHeld else { throw error }
            }
        }
    }

    /// Makes a published file and its name durable. A missing file is no error.
    package func synchronize(published path: String) throws(AvatarStoreError) {
        do throws(AvatarStoreError) {
            try synchronize(path, in: root)
            try synchronizeFolder(of: path)
        } catch {
            guard let call = error.underlying as? SystemCallError, call.isNotHeld else { throw error }
        }
    }

    /// Moves a staged image to `path` by a rename, so that readers see all of it or nothing. An image in memory is
    /// written to the staging folder first.
    ///
    /// - Parameters:
    ///   - path: A name of `FilePath.make`.
    ///   - label: The label to write into the file, if the file system supports extended attributes.
    ///   - isDurable: Whether the file's bytes, label and name are durable on return.
    /// - Throws: `unusableRoot` if the folder of `path` is a symbolic link or a file; `diskFull`, `readOnly` or
    ///   `storage`. A staged file stays where it is, unless this call wrote it.
    package func publish(
        _ image: StagedImage,
        as path: String,
        label: FileLabel? = nil,
        isDurable: Bool
    ) throws(AvatarStoreError) {
        let file = try stagedFile(of: image)
        do throws(AvatarStoreError) {
            try complete(file, label: label, isDurable: isDurable)
            try move(file, to: path)
        } catch {
            if image.isInMemory { deleteStaged(file) }
            throw error
        }
        if isDurable { try synchronizeFolder(of: path) }
    }

    /// Gives the staged file its label, and makes it durable.
    private func complete(_ file: String, label: FileLabel?, isDurable: Bool) throws(AvatarStoreError) {
        guard label != nil || isDurable else { return }
        let directory: Directory
        let name: String
        do throws(SystemCallError) {
            (directory, name) = try place(of: file)
        } catch {
            throw error.storeError
        }
        if let label { try write(label, to: name, in: directory) }
        if isDurable { try synchronize(name, in: directory) }
    }

    /// Renames the staged file to `path`.
    private func move(_ file: String, to path: String) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            try rename(file, to: path)
        } catch {
            guard error.number == ELOOP || error.number == ENOTDIR else { throw error.storeError }
            throw AvatarStoreError(
                .unusableRoot,
                "\"\(root.path)/\(FilePath.folder(of: path))\" must be a folder, but it is a symbolic link or a file. Remove "
                    + "it, or run `avatars verify --repair`.",
                failure: .storage,
                underlying: error
            )
        }
    }

    /// Deletes the file at `path`. A missing file is no error, and neither is a folder that is a symbolic link, because
    /// its files are not in the root.
    package func unlink(_ path: String) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            try root.withFolder(of: path) { (folder, name) throws(SystemCallError) in
                try fileSystem.unlink(name, in: folder)
            }
        } catch {
            if !error.isNotHeld { throw error.storeError }
        }
    }

    /// Deletes the files at `paths`, as `unlink(_:)`, all of them even if some fail. In the order of the paths each folder
    /// is opened once.
    ///
    /// - Parameter failed: receives each path whose file could not be deleted, and the error.
    package func unlink(_ paths: [String], failed: (_ path: String, _ error: AvatarStoreError) -> Void) {
        var rest = paths[...]
        while let first = rest.first {
            let folder = FilePath.folder(of: first)
            let neighbours = rest.prefix { FilePath.folder(of: $0) == folder }
            rest = rest.dropFirst(neighbours.count)
            do throws(SystemCallError) {
                try root.withFolder(of: first) { (descriptor, _) throws(SystemCallError) in
                    for path in neighbours {
                        do throws(SystemCallError) {
                            try fileSystem.unlink(FilePath.name(of: path), in: descriptor)
                        } catch {
                            guard !error.isNotHeld else { continue }
                            let whole = SystemCallError(error.call, root.path + "/" + path, number: error.number)
                            failed(path, whole.storeError)
                        }
                    }
                }
            } catch {
                guard !error.isNotHeld else { continue }
                for path in neighbours { failed(path, error.storeError) }
            }
        }
    }

    /// Creates the root again if it was removed, or opens the one that another process has created since.
    package func restoreRoot() throws(AvatarStoreError) {
        do throws(SystemCallError) {
            try root.restoreIfRemoved(mode: directoryMode)
        } catch {
            throw error.storeError
        }
    }

    /// Makes the name of a published file durable, and once for each folder also the folder's own name: the process
    /// that created the folder may not have synchronized it.
    private func synchronizeFolder(of path: String) throws(AvatarStoreError) {
        let folder = FilePath.folder(of: path)
        try synchronize(folder, in: root)
        guard !durableFolders.withLock({ $0.contains(folder) }) else { return }
        do throws(SystemCallError) {
            try fileSystem.synchronize(root.descriptor, named: root.path)
        } catch {
            throw error.storeError
        }
        durableFolders.withLock { _ = $0.insert(folder) }
    }

    /// Renames the staged file `file` to `path`. Makes the two-digit folder if it is missing.
    private func rename(_ file: String, to path: String) throws(SystemCallError) {
        let (directory, stagedName) = try place(of: file)
        func rename() throws(SystemCallError) {
            try root.withFolder(of: path) { (target, newName) throws(SystemCallError) in
                try directory.withFolder(of: stagedName) { (source, name) throws(SystemCallError) in
                    try fileSystem.rename(name, in: source, to: newName, in: target)
                }
            }
        }
        do throws(SystemCallError) {
            try rename()
        } catch {
            guard error.isMissing else { throw error }
            // The two-digit folder is created on demand, and again after the root was emptied.
            try root.restoreIfRemoved(mode: directoryMode)
            let parent = FilePath.folder(of: path)
            if try fileSystem.makeDirectory(parent, in: root.descriptor, mode: directoryMode) {
                durableFolders.withLock { _ = $0.remove(parent) }
            }
            try rename()
        }
    }

    /// Makes the bytes of the file at `path` durable.
    private func synchronize(_ path: String, in directory: Directory) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            try directory.withFolder(of: path) { (folder, name) throws(SystemCallError) in
                let file = try fileSystem.open(name, in: folder, flags: O_RDONLY | O_NOFOLLOW, mode: 0)
                defer { close(file) }
                try fileSystem.synchronize(file, named: directory.path + "/" + path)
            }
        } catch {
            throw error.storeError
        }
    }
}
