package import AvatarCore
import AvatarDigest
import AvatarFileSystem
import AvatarFoundation

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
    /// The files that are being written.
    package let staging: StagingFolder
    /// The permissions of published files.
    private let fileMode: UInt32
    /// The permissions of the two-digit folders.
    private let directoryMode: UInt32
    /// The two-digit folders whose own names are durable.
    private let durableFolders = Locked<Set<String>>([])

    /// Opens the files of a storage class, and creates the holder's folder in `staging`.
    ///
    /// - Parameters:
    ///   - storageClass: `caches` or `documents`.
    ///   - root: The directory of the published files.
    ///   - staging: The staging folder, on the same file system as `root`.
    ///   - holder: Names the folder for staged files.
    ///   - fileMode: The permissions of new files, such as `0o600`.
    /// - Throws: `readOnly`, `diskFull` or `storage` if the folder cannot be created.
    package init(
        _ storageClass: StorageClass,
        root: Directory,
        staging: Directory,
        holder: Holder,
        fileMode: UInt32
    ) throws(AvatarStoreError) {
        (self.storageClass, self.root, self.fileMode) = (storageClass, root, fileMode)
        directoryMode = Self.directoryMode(for: fileMode)
        self.staging = try StagingFolder(storageClass, in: staging, holder: holder, fileMode: fileMode)
    }

    /// The file calls.
    var fileSystem: any FileSystem { root.fileSystem }

    /// The permissions of a directory for files with `fileMode`: users that may read the files may also enter it.
    package static func directoryMode(for fileMode: UInt32) -> UInt32 {
        fileMode | ((fileMode & 0o444) >> 2)
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
        try withStoreErrors { () throws(SystemCallError) in
            try directory.withFolder(of: path) { (folder, name) throws(SystemCallError) in
                let file = try fileSystem.open(name, in: folder, flags: O_RDONLY | O_NOFOLLOW, mode: 0)
                defer { fileSystem.close(file) }
                label.write(to: file, on: fileSystem)
            }
        }
    }

    /// Writes the bytes of a published file over themselves, and makes them durable. A missing file is no error.
    ///
    /// - Parameter sha256: the digest of its bytes.
    /// - Returns: whether they have it still: the system may have dropped what it could not write.
    package func rewrite(_ path: String, sha256: [UInt8]) throws(AvatarStoreError) -> Bool {
        do throws(SystemCallError) {
            return try root.withFolder(of: path) { (folder, name) throws(SystemCallError) -> Bool in
                do throws(SystemCallError) {
                    return try rewrite(name, in: folder, sha256)
                } catch {
                    // The first synchronization of a file reports what the system has lost of it before.
                    guard error.number == EIO else { throw error }
                    return try rewrite(name, in: folder, sha256)
                }
            }
        } catch {
            guard error.isNotHeld else { throw error.storeError }
            return true
        }
    }

    /// As `FileSystem.rewrite`. Whether the bytes have the digest `sha256`.
    private func rewrite(_ name: String, in folder: Int32, _ sha256: [UInt8]) throws(SystemCallError) -> Bool {
        var digest = SHA256()
        try fileSystem.rewrite(name, in: folder) { digest.update($0) }
        return digest.finalize() == sha256
    }

    /// Makes the folders of the files at `paths` durable, each once. A missing folder is no error.
    package func synchronizeFolders(of paths: [String]) throws(AvatarStoreError) {
        for folder in Set(paths.map(FilePath.folder)) {
            do throws(AvatarStoreError) {
                try synchronize(folder, in: root, sha256: nil)
            } catch {
                guard let call = error.underlying as? SystemCallError, call.isNotHeld else { throw error }
            }
        }
    }

    /// Makes a published file and its name durable. A missing file is no error.
    ///
    /// - Parameters:
    ///   - sha256: the digest of its bytes.
    ///   - rewrites: whether its bytes are written again, because an earlier synchronization may have failed: the system takes them
    ///     for written then.
    package func synchronize(published path: String, sha256: [UInt8], rewriting rewrites: Bool)
        throws(AvatarStoreError)
    {
        do throws(AvatarStoreError) {
            if rewrites {
                guard try rewrite(path, sha256: sha256) else {
                    throw SystemCallError("fsync", root.path + "/" + path, number: EIO).storeError
                }
            } else {
                try synchronize(path, in: root, sha256: sha256)
            }
            try synchronizeFolder(of: path)
        } catch {
            guard let call = error.underlying as? SystemCallError, call.isNotHeld else { throw error }
        }
    }

    /// An image that is to get its published name.
    package struct NewFile {
        let image: StagedImage
        /// A name of `FilePath.make`.
        let path: String
        /// The label to write into the file, if the file system supports extended attributes.
        let label: FileLabel?
        /// Whether the file's bytes, label and name are durable once it is published.
        let isDurable: Bool

        package init(_ image: StagedImage, as path: String, label: FileLabel? = nil, isDurable: Bool) {
            (self.image, self.path, self.label, self.isDurable) = (image, path, label, isDurable)
        }
    }

    /// Gives images their published names, by renames of their staged files. An image in memory is staged first if it must be
    /// durable, because its bytes are durable before they have the name. Otherwise it is written under its name at once.
    ///
    /// First all bytes become durable, and last all names: so a batch waits for a few commits of the file system's journal, and not
    /// for two per image.
    ///
    /// The index must name the files as pending before this call, and as published only after it: a process killed
    /// meanwhile may leave a part of a file, and readers find files by the index.
    ///
    /// - Throws: `unusableRoot` if the folder of a path is a symbolic link or a file; `diskFull`, `readOnly` or
    ///   `storage`, also after `StagingFolder.end()`. Some of the files have their names then. Other staged files stay where they
    ///   are, and those of images in memory are deleted.
    package func publish(_ files: [NewFile]) throws(AvatarStoreError) {
        try staging.requireOpen()
        // Those that have no published name yet.
        var staged: ArraySlice<(new: NewFile, name: String)> = []
        do throws(AvatarStoreError) {
            for new in files {
                if case .memory(let bytes) = new.image.content, !new.isDurable {
                    try inFolder(of: new.path) { (folder, name) throws(SystemCallError) in
                        try fileSystem.create(name, of: bytes, in: folder, mode: fileMode, named: name) { file in
                            new.label?.write(to: file, on: fileSystem)
                        }
                    }
                } else {
                    staged.append((new, try staging.file(of: new.image)))
                }
            }
            for (new, name) in staged {
                if let label = new.label { try write(label, toStaged: name) }
            }
            let durable = staged.filter(\.new.isDurable)
            if durable.count > 1 { for (_, name) in durable { startWriting(name) } }
            for (new, name) in durable { try synchronize(staged: name, sha256: new.image.sha256) }
            while let (new, name) = staged.first {
                try move(name, to: new.path)
                staged.removeFirst()
            }
        } catch {
            for (new, name) in staged where new.image.isInMemory { staging.delete(name) }
            throw error
        }
        var folders: Set<String> = []
        for new in files where new.isDurable && folders.insert(FilePath.folder(of: new.path)).inserted {
            try synchronizeFolder(of: new.path)
        }
    }

    /// Renames the staged file to `path`.
    private func move(_ file: String, to path: String) throws(AvatarStoreError) {
        try inFolder(of: path) { (folder, name) throws(SystemCallError) in
            let (directory, stagedName) = try staging.place(of: file)
            try directory.withFolder(of: stagedName) { (source, stagedName) throws(SystemCallError) in
                try fileSystem.rename(stagedName, in: source, to: name, in: folder)
            }
        }
    }

    private func write(_ label: FileLabel, toStaged file: String) throws(AvatarStoreError) {
        let (directory, name) = try place(ofStaged: file)
        try write(label, to: name, in: directory)
    }

    /// Makes the bytes and the label of a staged file durable.
    private func synchronize(staged file: String, sha256: [UInt8]) throws(AvatarStoreError) {
        let (directory, name) = try place(ofStaged: file)
        try synchronize(name, in: directory, sha256: sha256)
    }

    /// Lets the system begin to write a staged file, so that those of a batch are written together.
    private func startWriting(_ file: String) {
        do throws(SystemCallError) {
            let (directory, name) = try staging.place(of: file)
            try directory.withFolder(of: name) { (folder, name) throws(SystemCallError) in
                let file = try fileSystem.open(name, in: folder, flags: O_RDONLY | O_NOFOLLOW)
                fileSystem.startWriting(file)
                fileSystem.close(file)
            }
        } catch {
            // Its synchronization, which follows, reports the error.
        }
    }

    private func place(ofStaged file: String) throws(AvatarStoreError) -> (directory: Directory, name: String) {
        try withStoreErrors { () throws(SystemCallError) in try staging.place(of: file) }
    }

    /// Calls `body` with the two-digit folder of `path`, which is made if it is missing.
    private func inFolder(
        of path: String,
        _ body: (_ folder: Int32, _ name: String) throws(SystemCallError) -> Void
    ) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            do throws(SystemCallError) {
                try root.withFolder(of: path, body)
            } catch {
                guard error.isMissing else { throw error }
                // The two-digit folder is created on demand, and again after the root was emptied.
                try root.restoreIfRemoved(mode: directoryMode)
                let folder = FilePath.folder(of: path)
                if try fileSystem.makeDirectory(folder, in: root.descriptor, mode: directoryMode) {
                    durableFolders.withLock { _ = $0.remove(folder) }
                }
                try root.withFolder(of: path, body)
            }
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
        try withStoreErrors { () throws(SystemCallError) in try root.restoreIfRemoved(mode: directoryMode) }
    }

    /// Makes the name of a published file durable, and once for each folder also the folder's own name: the process
    /// that created the folder may not have synchronized it.
    private func synchronizeFolder(of path: String) throws(AvatarStoreError) {
        let folder = FilePath.folder(of: path)
        try synchronize(folder, in: root, sha256: nil)
        guard !durableFolders.withLock({ $0.contains(folder) }) else { return }
        try withStoreErrors { () throws(SystemCallError) in
            try fileSystem.synchronize(root.descriptor, named: root.path)
        }
        durableFolders.withLock { _ = $0.insert(folder) }
    }

    /// Makes the bytes of the file at `path` durable, or the names in the folder there.
    ///
    /// - Parameter sha256: the digest of the bytes; `nil` for a folder.
    private func synchronize(
        _ path: String,
        in directory: Directory,
        sha256: [UInt8]?
    ) throws(AvatarStoreError) {
        try withStoreErrors { () throws(SystemCallError) in
            try directory.withFolder(of: path) { (folder, name) throws(SystemCallError) in
                let file = try fileSystem.open(name, in: folder, flags: O_RDONLY | O_NOFOLLOW, mode: 0)
                defer { fileSystem.close(file) }
                do throws(SystemCallError) {
                    try fileSystem.synchronize(file, named: directory.path + "/" + path)
                } catch {
                    guard error.number == EIO, let sha256 else { throw error }
                    // Another attempt would succeed, and the bytes would not be on the disk.
                    guard try rewrite(name, in: folder, sha256) else { throw error }
                }
            }
        }
    }
}
