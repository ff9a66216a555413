public import AvatarReports
public import AvatarStore
public import AvatarCore
package import AvatarFileSystem
import AvatarFiles
import AvatarIndex
import AvatarFoundation

/// The result of a backup or a restore.
public struct BackupReport: Hashable, Sendable {
    /// The number of entries, with and without a file.
    public var entries = 0
    /// The number of files.
    public var files = 0
    /// The bytes of those files.
    public var bytes = 0
    /// The number of entries whose file was missing: purged, or lost. A restore also counts entries whose file is
    /// damaged. The copy has these entries without a file, like entries that were evicted.
    public var missing = 0
    /// The documents among the missing entries of a restore. The backup has lost them for good, unless their URL still
    /// serves the image. Empty for a backup.
    public var lostDocuments: [AvatarKey] = []
}

extension BackupReport: CustomStringConvertible {
    /// The counts that are not 0, on one line. For logs: the text may change between versions.
    public var description: String {
        ReportText.counts([
            (entries, "entries"), (files, "files"), (bytes, "bytes"), (missing, "files missing"),
            (lostDocuments.count, "of them documents"),
        ])
    }
}

extension AvatarStore {
    /// Copies the index and all files to `directory` while other processes use the store.
    ///
    /// The copy is a store itself: it can be opened, listed and verified. On the same file system its files are hard
    /// links and take no space; elsewhere they are copied, and so they are after a failed synchronization of the disk. It is on stable
    /// storage when this returns.
    ///
    /// Each entry of the copy is as the store had it at one moment of the backup. An image that existed all the time is
    /// in the copy, even if it was replaced or moved meanwhile.
    ///
    /// The lengths of the files are compared with the index, but their bytes are not read. A damaged file is linked as
    /// it is, and `restore(from:to:progress:)` leaves it out; `verify(repair:quick:progress:)` finds it.
    ///
    /// Changes nothing in the store; possible in a store that is open for reading only.
    /// - Parameter directory: an absolute path. It is created if it is missing, and must be empty. The remains of a
    ///   killed backup are removed first.
    /// - Parameter progress: called as the backup advances.
    /// - Throws: `notEmpty` if `directory` holds files; `invalidConfiguration` for a path that is not absolute or lies
    ///   inside the store; `unusableRoot` if it is a symbolic link or a file, or belongs to another user than this process's
    ///   and root, or if all users may write to it; `busy` if another backup to it is running, or if an image is replaced faster than it can be copied; `diskFull`; another error of the index or
    ///   the disk; `CancellationError` if the task is cancelled. Nothing is left behind then.
    public func backup(
        to directory: String,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> BackupReport {
        try await backup(to: directory, fileSystem: LocalFileSystem(), progress)
    }

    /// As `backup(to:progress:)`, with a file system of the caller's choice.
    package func backup(
        to directory: String,
        fileSystem: any FileSystem,
        _ progress: @escaping ProgressHandler = { _ in }
    ) async throws -> BackupReport {
        let directory = try StoreLayout.absoluteDirectory(directory)
        try configuration.layout.requireOutside(directory, on: fileSystem)
        try TargetAccess(ofDirectory: directory, on: fileSystem)?.requireOwn(directory)
        let target = CopyTarget(
            layout: StoreLayout(directory: directory),
            directory: directory,
            fileMode: configuration.fileMode,
            fileSystem: fileSystem
        )
        // On the same file system, bytes of the store may be lost with those of the backup.
        return try await StoreCopier(progress).backup(index, roots, to: target, noteLostBytes)
    }

    /// Lets the index know that bytes may be lost: of files that are not on stable storage, or are staged.
    private func noteLostBytes() async {
        do {
            if let writer = parts.writable?.writer {
                try await writer.noteLostBytes()
            } else {
                var configuration = configuration
                configuration.access = .readWriteExisting
                configuration.budget = nil
                try await Self.withStore(configuration, fileSystem: parts.fileSystem) { store in
                    try await store.requireWritable().writer.noteLostBytes()
                }
            }
        } catch {
            configuration.logger.error("a failed synchronization was not recorded", metadata: ["error": "\(error)"])
        }
    }

    /// Creates a store from the backup in `directory`, where no store exists yet.
    ///
    /// The length and the SHA-256 of each file are compared with the index. A missing or damaged file is left out: its
    /// entry stays without a file and is fetched again, and the report counts it. On the same file system the store's
    /// files are hard links to those of the backup, which is not changed. All of it is on stable storage when this
    /// returns.
    ///
    /// - Parameter directory: the backup, an absolute path.
    /// - Parameter configuration: the paths of the new store; its roots may lie apart. They must be empty or missing,
    ///   and there must be no index. If the store of the backup lost its index and documents, its caches may be there:
    ///   they are replaced by those of the backup. The remains of a killed restore are removed first.
    /// - Parameter progress: called as the restore advances.
    /// - Throws: `noStore` if there is no backup, or an unfinished one; `foreignIndex`, `newerIndex` or `damagedIndex`
    ///   for the backup's index; `notEmpty` if there is a store or a file in the way; `unusableRoot` for a symbolic
    ///   link, a file, or a directory with foreign files; `invalidConfiguration` for a path that is not absolute or
    ///   lies inside the backup; `busy` if another restore to it is running; `diskFull`; another error of the disk;
    ///   `CancellationError` if the task is cancelled. Nothing is left behind then.
    public static func restore(
        from directory: String,
        to configuration: Configuration,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> BackupReport {
        try await restore(from: directory, to: configuration, fileSystem: LocalFileSystem(), progress)
    }

    /// As `restore(from:to:progress:)`, with a file system of the caller's choice.
    package static func restore(
        from directory: String,
        to configuration: Configuration,
        fileSystem: any FileSystem,
        _ progress: @escaping ProgressHandler = { _ in }
    ) async throws -> BackupReport {
        try configuration.validate()
        let source = StoreLayout(directory: try StoreLayout.absoluteDirectory(directory))
        guard fileSystem.faccessat(AT_FDCWD, source.indexPath, F_OK) == 0 else {
            throw AvatarStoreError(
                .noStore,
                "There is no backup in \"\(directory)\", or an unfinished one: index.sqlite is missing."
            )
        }
        for path in [configuration.layout.indexPath] + StorageClass.allCases.map(configuration.layout.root) {
            try source.requireOutside(path, on: fileSystem)
        }
        try configuration.layout.requireOwnDirectory(on: fileSystem)
        let target = CopyTarget(
            layout: configuration.layout,
            directory: nil,
            fileMode: configuration.fileMode,
            fileSystem: fileSystem
        )
        return try await StoreCopier(progress).restore(source, to: target)
    }
}
