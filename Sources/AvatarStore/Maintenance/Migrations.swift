public import AvatarCore
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

    /// How far the schema of the index at `layout` has come. Changes nothing; opening the store for writing migrates it.
    ///
    /// - Throws: `noStore`, `foreignIndex`, `newerIndex`, `damagedIndex`.
    public static func migrationStatus(_ layout: StoreLayout) throws -> MigrationStatus {
        guard FileManager.default.fileExists(atPath: layout.indexPath) else {
            throw AvatarStoreError(.noStore, "There is no store at \(layout.indexPath).")
        }
        let status = try AvatarIndex.migrationStatus(path: layout.indexPath)
        return MigrationStatus(schemaVersion: status.version, applied: status.applied, pending: status.pending)
    }
}
