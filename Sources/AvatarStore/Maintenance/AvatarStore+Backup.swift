public import AvatarCore
package import AvatarFiles
import AvatarIndex
import Foundation

/// What a backup or a restore copied.
public struct BackupReport: Hashable, Sendable {
    /// Entries, with and without a file.
    public var entries = 0
    /// Files.
    public var files = 0
    /// The bytes of those files.
    public var bytes = 0
    /// Entries whose file was not where the index says: purged, or lost. A restore counts entries whose file is damaged
    /// too. The copy has them without a file, as it has those that were evicted.
    public var missing = 0
    /// The documents among the missing entries of a restore: what the backup has lost for good, unless their URL still
    /// serves the image. Empty for a backup.
    public var lostDocuments: [AvatarKey] = []
}

extension AvatarStore {
    /// Copies the index and all files to `directory`, an absolute path, while others use the store.
    ///
    /// The copy is a store itself: `directory` can be opened, listed and verified. On the same file system its files are
    /// hard links, which cost no space; elsewhere they are copied. It is on stable storage when this returns.
    ///
    /// What the copy has of each entry is what the store had at one moment of the backup. An image that was there all
    /// the time, replaced or moved meanwhile or not, is there in the copy.
    ///
    /// The lengths of the files are compared with the index, and their bytes are not read: a damaged file is linked as it
    /// is, and `restore(from:to:)` leaves it out. `verify(repair:quick:)` finds it.
    ///
    /// Changes nothing in the store, and is possible in one that is open for reading only.
    /// - Parameter directory: is made if it is not there, and must be empty. What a backup to it left that was killed is
    ///   cleared.
    /// - Parameter progress: is told how far it has come.
    /// - Throws: `notEmpty`; `invalidConfiguration` for a path that is not absolute, or inside the store; `busy` if
    ///   another backup to it is running; `diskFull` and other errors of the index and the disk; `CancellationError`.
    ///   Nothing is left behind.
    public func backup(
        to directory: String,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> BackupReport {
        try await backup(to: directory, fileSystem: LocalFileSystem(), progress)
    }

    package func backup(
        to directory: String,
        fileSystem: any FileSystem,
        _ progress: @escaping ProgressHandler = { _ in }
    ) async throws -> BackupReport {
        let directory = try StoreLayout.absoluteDirectory(directory)
        try configuration.layout.requireOutside(directory)
        let target = CopyTarget(
            layout: StoreLayout(directory: directory),
            directory: directory,
            fileMode: configuration.fileMode,
            fileSystem: fileSystem
        )
        return try await StoreCopier(progress).backup(index, roots, to: target)
    }

    /// Makes a store of the backup in `directory`, an absolute path, at a place where there is none yet.
    ///
    /// Each file is compared with the length and the SHA-256 that the index has of it. A file that is missing or damaged is
    /// left out: its entry stays without a file and is fetched again; the report counts it. On the same file system the
    /// store's files are hard links to those of the backup, which stays as it is. All of it is on stable storage when
    /// this returns.
    ///
    /// - Parameter directory: where the backup is.
    /// - Parameter configuration: where the store is to be; its roots may lie apart. They must be empty or not be there,
    ///   and there must be no index. What a restore to it left that was killed is cleared.
    /// - Parameter progress: is told how far it has come.
    /// - Throws: `noStore` if there is no backup, or one that was not finished; `foreignIndex`, `newerIndex`,
    ///   `damagedIndex`; `notEmpty`; `unusableRoot`, also for a directory with files that are no part of a store; `busy`;
    ///   errors of the disk; `CancellationError`. Nothing is left behind.
    public static func restore(
        from directory: String,
        to configuration: Configuration,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> BackupReport {
        try await restore(from: directory, to: configuration, fileSystem: LocalFileSystem(), progress)
    }

    package static func restore(
        from directory: String,
        to configuration: Configuration,
        fileSystem: any FileSystem,
        _ progress: @escaping ProgressHandler = { _ in }
    ) async throws -> BackupReport {
        try configuration.validate()
        let source = StoreLayout(directory: try StoreLayout.absoluteDirectory(directory))
        guard FileManager.default.fileExists(atPath: source.indexPath) else {
            throw AvatarStoreError(
                .noStore,
                "There is no backup in \(directory), or one that was not finished: it has no index.sqlite."
            )
        }
        for path in [configuration.layout.indexPath] + StorageClass.allCases.map(configuration.layout.root) {
            try source.requireOutside(path)
        }
        try configuration.layout.requireOwnDirectory()
        let target = CopyTarget(
            layout: configuration.layout,
            directory: nil,
            fileMode: configuration.fileMode,
            fileSystem: fileSystem
        )
        return try await StoreCopier(progress).restore(source, to: target)
    }
}
