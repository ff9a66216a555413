public import AvatarCore
import AvatarFiles
import AvatarIndex
import Foundation

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
    /// - Parameter progress: is told before each step. A step happens as a whole or not at all; a cancelled task ends the
    ///   work between two of them, and another call goes on from there.
    /// - Throws: as `open(_:)`; `CancellationError`.
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
        guard FileManager.default.fileExists(atPath: layout.indexPath) else {
            throw AvatarStoreError(.noStore, "There is no store at \(layout.indexPath).")
        }
        let status = try ReadOnlyIndex.read(layout) {
            try AvatarIndex.migrationStatus(path: layout.indexPath, isImmutable: $0)
        }
        return MigrationStatus(schemaVersion: status.version, applied: status.applied, pending: status.pending)
    }
}
