package import AvatarCore
import CAvatarSystem
import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The files of one storage class: the root they are published in and the staging folder they are made in.
///
/// A published name is never used again and its content never changes, so whoever opens a path reads the whole old
/// image or finds none. The order of the steps, and what is recorded in between, is the caller's (`StoreWriter`).
package final class FileStore: Sendable {
    package let storageClass: StorageClass
    package let root: Directory
    let staging: Directory
    /// This holder's folder in `staging`.
    let folder: Directory
    let fileSystem: any FileSystem
    private let fileMode: UInt32
    private let directoryMode: UInt32
    private let counter = Atomic<UInt64>(0)
    /// Held while a file is begun: what comes after the end would lie in a folder that nobody owns.
    private let hasEnded = Mutex(false)
    /// Two-digit folders whose own names are known to be durable.
    private let durableFolders = Mutex<Set<String>>([])

    /// The files of `storageClass` in `root`, staged in a folder of `holder`'s in `staging`.
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

    /// Who may read a file may also look into its folder.
    package static func directoryMode(for fileMode: UInt32) -> UInt32 {
        fileMode | ((fileMode & 0o444) >> 2)
    }

    /// Begins a file.
    package func stage() throws(AvatarStoreError) -> StagedFile {
        let number = counter.add(1, ordering: .relaxed).newValue
        return try hasEnded.withLock { hasEnded throws(AvatarStoreError) in
            try restoreFolder(unless: hasEnded)
            return try StagedFile(
                name: "\(storageClass.rawValue)-\(number)",
                in: folder,
                storageClass: storageClass,
                mode: fileMode,
                fileSystem: fileSystem
            )
        }
    }

    /// Goes on with the file `name` in the folder that `open` gives; `nil` if it is not there.
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

    /// No file is begun from here on, so that the holder's folder can be removed for good.
    package func end() {
        hasEnded.withLock { $0 = true }
    }

    private func restoreFolder(unless hasEnded: Bool) throws(AvatarStoreError) {
        guard !hasEnded else { throw AvatarStoreError(.storage, "The store was closed.", failure: .storage) }
        do throws(SystemCallError) {
            try staging.restoreIfRemoved(mode: 0o700)
            try folder.restoreIfRemoved(mode: 0o700)
        } catch {
            throw error.storeError
        }
    }

    /// Removes a staged image that will not be published.
    package func discard(_ image: StagedImage) {
        do throws(SystemCallError) {
            let (directory, name) = try place(of: image)
            try directory.withFolder(of: name) { (folder, name) throws(SystemCallError) in
                guard unlinkat(folder, name, 0) == 0 else { throw SystemCallError("unlink", name) }
            }
        } catch {
            // The folder goes away with its holder, so a file that cannot be removed now is removed then.
        }
    }

    /// The directory in which a staged image lies, and its name there.
    private func place(of image: StagedImage) throws(SystemCallError) -> (directory: Directory, name: String) {
        guard image.name.hasPrefix(Self.partialPrefix) else { return (folder, image.name) }
        return (try partials(), String(image.name.dropFirst(Self.partialPrefix.count)))
    }

    private func stagingPlace(
        of image: StagedImage
    ) throws(AvatarStoreError) -> (directory: Directory, name: String) {
        do throws(SystemCallError) {
            return try place(of: image)
        } catch {
            throw error.storeError
        }
    }

    /// The bytes of a staged image.
    package func read(_ image: StagedImage) throws(AvatarStoreError) -> [UInt8] {
        let (directory, name) = try stagingPlace(of: image)
        guard let bytes = try StoredFiles(root: directory).read(image.sizeBytes, at: name) else {
            throw AvatarStoreError(.storage, "A staged image of \(image.sizeBytes) bytes vanished.", failure: .storage)
        }
        return bytes
    }

    /// Lets a staged image say of itself what it is stored for, where the file system can keep that.
    package func label(_ image: StagedImage, _ label: FileLabel) throws(AvatarStoreError) {
        let (directory, name) = try stagingPlace(of: image)
        try write(label, to: name, in: directory)
    }

    /// Lets a published file say of itself what it is stored for. One that is gone is a miss, and no fault.
    package func label(published path: String, _ label: FileLabel) throws(AvatarStoreError) {
        do throws(AvatarStoreError) {
            try write(label, to: path, in: root)
        } catch {
            guard let call = error.underlying as? SystemCallError, call.isNotHeld else { throw error }
        }
    }

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

    /// Makes everything on the file system of the root durable.
    package func synchronizeFileSystem() throws(AvatarStoreError) {
        guard avatar_sync_file_system(root.descriptor) == 0 else {
            throw SystemCallError("syncfs", root.path).storeError
        }
    }

    /// Makes the folders that name the files at `paths` durable, once each; one that is gone needs nothing.
    package func synchronizeFolders(of paths: [String]) throws(AvatarStoreError) {
        for folder in Set(paths.map(FilePath.folder)) {
            do throws(AvatarStoreError) {
                try synchronize(folder, in: root)
            } catch {
                guard let call = error.underlying as? SystemCallError, call.isNotHeld else { throw error }
            }
        }
    }

    /// Makes the bytes of a staged image durable, before it is published.
    package func synchronize(_ image: StagedImage) throws(AvatarStoreError) {
        let (directory, name) = try stagingPlace(of: image)
        try synchronize(name, in: directory)
    }

    /// Makes a published file durable, with the folder that names it. One that is gone is a miss, and no fault.
    package func synchronize(published path: String) throws(AvatarStoreError) {
        do throws(AvatarStoreError) {
            try synchronize(path, in: root)
            try synchronizeFolder(of: path)
        } catch {
            guard let call = error.underlying as? SystemCallError, call.isNotHeld else { throw error }
        }
    }

    /// Moves a staged image to `path`, where it stays for good.
    ///
    /// - Parameter isDurable: the folder of `path` is durable on return too. The bytes must have been before.
    /// - Throws: `unusableRoot` if the folder of `path` is a symbolic link or a file.
    package func publish(_ image: StagedImage, as path: String, isDurable: Bool) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            try rename(image, to: path)
        } catch {
            guard error.number == ELOOP || error.number == ENOTDIR else { throw error.storeError }
            throw AvatarStoreError(
                .unusableRoot,
                "\(root.path)/\(FilePath.folder(of: path)) must be a folder and is a symbolic link or a file. Remove it, or "
                    + "run `avatars verify --repair`.",
                failure: .storage,
                underlying: error
            )
        }
        if isDurable { try synchronizeFolder(of: path) }
    }

    /// Unlinks the file at `path`; one that is gone already is fine. So is one whose folder is a symbolic link: the
    /// root does not hold it.
    package func unlink(_ path: String) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            try root.withFolder(of: path) { (folder, name) throws(SystemCallError) in
                try fileSystem.unlink(name, in: folder)
            }
        } catch {
            if !error.isNotHeld { throw error.storeError }
        }
    }

    /// Makes the root again if somebody removed it, or finds the one that another process made since.
    package func restoreRoot() throws(AvatarStoreError) {
        do throws(SystemCallError) {
            try root.restoreIfRemoved(mode: directoryMode)
        } catch {
            throw error.storeError
        }
    }

    /// Makes the name of a published file durable, and once for each folder the folder's name too: whoever made the
    /// folder may not have needed that.
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

    private func rename(_ image: StagedImage, to path: String) throws(SystemCallError) {
        let (directory, stagedName) = try place(of: image)
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
            // The two-digit folder is made when it is first needed, and again if somebody emptied the root.
            try root.restoreIfRemoved(mode: directoryMode)
            let parent = FilePath.folder(of: path)
            if try fileSystem.makeDirectory(parent, in: root.descriptor, mode: directoryMode) {
                durableFolders.withLock { _ = $0.remove(parent) }
            }
            try rename()
        }
    }

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
