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
        do throws(SystemCallError) {
            try staging.restoreIfRemoved(mode: 0o700)
            try folder.restoreIfRemoved(mode: 0o700)
        } catch {
            throw error.storeError
        }
        return try StagedFile(
            name: "\(storageClass.rawValue)-\(number)",
            in: folder,
            storageClass: storageClass,
            mode: fileMode,
            fileSystem: fileSystem
        )
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

    /// Gives the file at `path` a second name among the things that were set aside, where nobody unlinks it.
    ///
    /// - Returns: its path there; `nil` if there is no file at `path`.
    package func setAside(_ path: String) throws(AvatarStoreError) -> String? {
        let place = staging.path + "/../set-aside"
        do throws(SystemCallError) {
            guard mkdir(place, 0o700) == 0 || errno == EEXIST else { throw SystemCallError("mkdir", place) }
            let name = path.map { $0 == "/" ? "-" : String($0) }.joined()
            let copy = place + "/" + storageClass.rawValue + "-" + name
            guard linkat(root.descriptor, path, AT_FDCWD, copy, 0) == 0 || errno == EEXIST else {
                let error = SystemCallError("link", copy)
                if error.isMissing { return nil }
                throw error
            }
            let folder = try fileSystem.open(place, in: AT_FDCWD, flags: O_RDONLY | O_DIRECTORY, mode: 0)
            defer { close(folder) }
            try fileSystem.synchronize(folder, named: place)
            return copy
        } catch {
            throw error.storeError
        }
    }

    /// Removes from what was set aside the copies of files with one of `digests`, and of images with one of `keys`.
    ///
    /// - Returns: the paths of those that could not be removed.
    package func removeSetAside(digests: [[UInt8]], keys: Set<AvatarKey>) throws(AvatarStoreError) -> [String] {
        let place = staging.path + "/../set-aside"
        guard Directory.exists(place) else { return [] }
        do {
            let copies = StoredFiles(root: try Directory.openRoot(place))
            let prefix = storageClass.rawValue + "-"
            return try copies.root.names().filter { name in
                let path = name.dropFirst(prefix.count)
                let made = "\(path.prefix(2))/\(path.dropFirst(3))"
                let isOurs = name.hasPrefix(prefix) && digests.contains { FilePath.matches(made, sha256: $0) }
                let label = try copies.label(of: name)?.keys.map(AvatarKey.init(stored:)) ?? []
                guard isOurs || !keys.isDisjoint(with: label) else { return false }
                return unlinkat(copies.root.descriptor, name, 0) != 0 && errno != ENOENT
            }.map { place + "/" + $0 }
        } catch {
            throw (error as? SystemCallError)?.storeError ?? (error as? AvatarStoreError)
                ?? AvatarStoreError(.storage, "\(place) could not be read: \(error)", underlying: error)
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
