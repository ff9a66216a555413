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

    /// Goes on with the file at `path`, as seen from the holder's folder; `nil` if it is not there.
    func stage(continuing path: String) throws(AvatarStoreError) -> StagedFile? {
        try hasEnded.withLock { hasEnded throws(AvatarStoreError) in
            try restoreFolder(unless: hasEnded)
            do throws(SystemCallError) {
                return try StagedFile(
                    continuing: path,
                    in: folder,
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
        // The folder goes away with its holder, so a file that cannot be removed now is removed then.
        unlinkat(folder.descriptor, image.name, 0)
    }

    /// The bytes of a staged image.
    package func read(_ image: StagedImage) throws(AvatarStoreError) -> [UInt8] {
        let record = FileRecord(
            id: 0,
            storageClass: storageClass,
            path: image.name,
            sizeBytes: image.sizeBytes,
            mediaType: image.image.format.mediaType,
            width: image.image.width,
            height: image.image.height
        )
        guard let bytes = try StoredFiles(root: folder).read(record) else {
            throw AvatarStoreError(.storage, "A staged image of \(image.sizeBytes) bytes vanished.", failure: .storage)
        }
        return bytes
    }

    /// Lets a staged image say of itself what it is stored for, where the file system can keep that.
    package func label(_ image: StagedImage, _ label: FileLabel) throws(AvatarStoreError) {
        try write(label, to: image.name, in: folder)
    }

    /// Lets a published file say of itself what it is stored for. One that is gone is a miss, and no fault.
    package func label(published path: String, _ label: FileLabel) throws(AvatarStoreError) {
        do throws(AvatarStoreError) {
            try write(label, to: path, in: root)
        } catch {
            guard let call = error.underlying as? SystemCallError, call.isMissing else { throw error }
        }
    }

    private func write(_ label: FileLabel, to path: String, in directory: Directory) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            let file = try fileSystem.open(path, in: directory.descriptor, flags: O_RDONLY, mode: 0)
            defer { close(file) }
            label.write(to: file)
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
                guard let call = error.underlying as? SystemCallError, call.isMissing else { throw error }
            }
        }
    }

    /// Makes the bytes of a staged image durable, before it is published.
    package func synchronize(_ image: StagedImage) throws(AvatarStoreError) {
        try synchronize(image.name, in: folder)
    }

    /// Makes a published file durable, with the folder that names it. One that is gone is a miss, and no fault.
    package func synchronize(published path: String) throws(AvatarStoreError) {
        do throws(AvatarStoreError) {
            try synchronize(path, in: root)
            try synchronizeFolder(of: path)
        } catch {
            guard let call = error.underlying as? SystemCallError, call.isMissing else { throw error }
        }
    }

    /// Moves a staged image to `path`, where it stays for good.
    ///
    /// - Parameter isDurable: the folder of `path` is durable on return too. The bytes must have been before.
    package func publish(_ image: StagedImage, as path: String, isDurable: Bool) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            try rename(image.name, to: path)
        } catch {
            throw error.storeError
        }
        if isDurable { try synchronizeFolder(of: path) }
    }

    /// Unlinks the file at `path`; one that is gone already is fine.
    package func unlink(_ path: String) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            try fileSystem.unlink(path, in: root.descriptor)
        } catch {
            if !error.isMissing { throw error.storeError }
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
        try synchronize(".", in: root)
        durableFolders.withLock { _ = $0.insert(folder) }
    }

    private func rename(_ name: String, to path: String) throws(SystemCallError) {
        do throws(SystemCallError) {
            try fileSystem.rename(name, in: folder.descriptor, to: path, in: root.descriptor)
        } catch {
            guard error.isMissing else { throw error }
            // The two-digit folder is made when it is first needed, and again if somebody emptied the root.
            try root.restoreIfRemoved(mode: directoryMode)
            let parent = FilePath.folder(of: path)
            if try fileSystem.makeDirectory(parent, in: root.descriptor, mode: directoryMode) {
                durableFolders.withLock { _ = $0.remove(parent) }
            }
            try fileSystem.rename(name, in: folder.descriptor, to: path, in: root.descriptor)
        }
    }

    private func synchronize(_ path: String, in directory: Directory) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            let file = try fileSystem.open(path, in: directory.descriptor, flags: O_RDONLY, mode: 0)
            defer { close(file) }
            try fileSystem.synchronize(file, named: directory.path + "/" + path)
        } catch {
            throw error.storeError
        }
    }
}
