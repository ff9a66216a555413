public import AvatarReports
public import AvatarStore
public import AvatarCore
import AvatarFileSystem
import AvatarIndex

extension AvatarStore {
    /// The schema version of an index, and the migrations that lead to this program's.
    public struct MigrationStatus: Hashable, Sendable {
        /// The number of the last migration applied.
        public var schemaVersion: Int
        /// The names of the migrations applied, in order.
        public var applied: [String]
        /// The names of the migrations that opening the store for writing would apply, in order.
        public var pending: [String]
    }

    /// Migrates the index to this program's schema, as opening the store for writing does. Creates the store if it does
    /// not exist.
    ///
    /// Each migration is applied as a whole or not at all, and is durable on return. Until the last one is applied, a
    /// copy of the old index lies beside it (`index.sqlite.version-N`) and takes at most as much room as the index.
    /// After a kill, a full disk or a cancelled task, the next call goes on from the last whole migration. A process
    /// that has the store open meanwhile stops writing with `indexWasUpgraded`.
    ///
    /// - Parameter configuration: how the store is opened; always for writing.
    /// - Parameter progress: called while the index is copied, and before each migration.
    /// - Returns: the status after the migration.
    /// - Throws: as `open(_:)` with the access `readWrite`; `diskFull` with nothing changed if there is no room for the
    ///   copy; `CancellationError` if the task is cancelled.
    public static func migrate(
        _ configuration: Configuration,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> MigrationStatus {
        var configuration = configuration
        configuration.access = .readWrite
        try await open(configuration, fileSystem: LocalFileSystem(), migrating: progress).close()
        return try migrationStatus(configuration.layout)
    }

    /// The schema version of the index at `layout`. Changes nothing; opening the store for writing migrates it.
    ///
    /// - Throws: `noStore` if there is no index; `foreignIndex` if the database belongs to another program;
    ///   `newerIndex` if a newer program wrote it; `damagedIndex` if it is damaged; `readOnly` if it cannot be read
    ///   without changing it; another error of the index or the disk.
    public static func migrationStatus(_ layout: StoreLayout) throws -> MigrationStatus {
        let fileSystem = LocalFileSystem()
        try layout.requireIndex(on: fileSystem)
        let status = try ReadOnlyIndex.read(layout, on: fileSystem) {
            try AvatarIndex.migrationStatus(path: layout.indexPath, on: fileSystem, isImmutable: $0)
        }
        return MigrationStatus(schemaVersion: status.version, applied: status.applied, pending: status.pending)
    }
}
