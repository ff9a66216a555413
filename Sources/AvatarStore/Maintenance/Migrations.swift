public import AvatarCore
import AvatarFiles
import AvatarIndex

extension AvatarStore {
    /// How far the schema of an index has come.
    public struct MigrationStatus: Hashable, Sendable {
        /// The number of the last migration.
        public var schemaVersion: Int
        /// The names of the migrations that the index has behind it.
        public var applied: [String]
        /// The names of those that opening the store for writing applies.
        public var pending: [String]
    }

    /// Brings the index to this program's schema, as opening the store for writing does, and makes the store if it is not
    /// there.
    ///
    /// Each migration happens as a whole or not at all, and is durable on return. Until the last one is in, a copy of
    /// the index as it was lies beside it (`index.sqlite.version-N`); it takes as much room as the index at most. What a
    /// killed process, a full disk or a cancelled task broke off goes on from the last whole migration. A process that
    /// has the store open meanwhile stops writing with `indexWasUpgraded`.
    ///
    /// - Parameter configuration: how the store is opened; for writing in any case.
    /// - Parameter progress: is told how much is copied, and before each step.
    /// - Throws: as `open(_:)`; `diskFull` with nothing changed if there is no room for the copy; `CancellationError`.
    public static func migrate(
        _ configuration: Configuration,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> MigrationStatus {
        var configuration = configuration
        configuration.access = .readWrite
        try await open(configuration, fileSystem: LocalFileSystem(), migrating: progress).close()
        return try migrationStatus(configuration.layout)
    }

    /// How far the schema of the index at `layout` has come. Changes nothing; opening the store for writing migrates it.
    ///
    /// - Throws: `noStore`, `foreignIndex`, `newerIndex`, `damagedIndex`.
    public static func migrationStatus(_ layout: StoreLayout) throws -> MigrationStatus {
        try layout.requireIndex()
        let status = try ReadOnlyIndex.read(layout) {
            try AvatarIndex.migrationStatus(path: layout.indexPath, isImmutable: $0)
        }
        return MigrationStatus(schemaVersion: status.version, applied: status.applied, pending: status.pending)
    }
}
