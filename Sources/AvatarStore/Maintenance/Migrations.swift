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

    /// How far an upgrade of the schema has come.
    public enum MigrationProgress: Hashable, Sendable {
        /// So many bytes of the index are copied, of so many at most.
        case copying(bytes: Int, of: Int)
        /// The migration `name` has begun, which is number `number` of those that are pending.
        case applying(name: String, number: Int, of: Int)
    }

    /// How far the schema of the index at `layout` has come. Changes nothing; opening the store for writing migrates it.
    ///
    /// - Throws: `noStore`, `foreignIndex`, `newerIndex`, `damagedIndex`.
    public static func migrationStatus(_ layout: StoreLayout) throws -> MigrationStatus {
        try requireIndex(at: layout)
        let status = try AvatarIndex.migrationStatus(path: layout.indexPath)
        return MigrationStatus(schemaVersion: status.version, applied: status.applied, pending: status.pending)
    }

    /// Brings the index at `layout` to this program's schema, as opening the store for writing does too.
    ///
    /// Each migration happens as a whole or not at all, and is durable on return. Until the last one is in, a copy of
    /// the index as it was lies beside it (`index.sqlite.version-N`); it takes as much room as the index at most. What a
    /// killed process or a full disk broke off goes on from the last whole migration. A process that has the store
    /// open meanwhile stops writing with `indexWasUpgraded`.
    ///
    /// Synchronous, and as long as the index is large: a store that others are to use is better migrated before.
    /// - Parameter progress: called on this thread.
    /// - Throws: `noStore`, `foreignIndex`, `newerIndex`, `damagedIndex`; `diskFull` with nothing changed if there is no
    ///   room for the copy; `busy` if another process wrote for longer than the wait limit.
    public static func migrate(
        _ layout: StoreLayout,
        progress: @escaping @Sendable (MigrationProgress) -> Void = { _ in }
    ) throws {
        try requireIndex(at: layout)
        // A new index gets these permissions; one that is there has its own, and so gets its copy.
        let index = try AvatarIndex.open(
            path: layout.indexPath,
            fileMode: fileMode(of: layout.indexPath),
            progress: { step in
                switch step {
                case .copying(let bytes, let total): progress(.copying(bytes: bytes, of: total))
                case .applying(let name, let number, let count):
                    progress(.applying(name: name, number: number, of: count))
                }
            }
        )
        try index.close()
    }

    private static func requireIndex(at layout: StoreLayout) throws {
        guard FileManager.default.fileExists(atPath: layout.indexPath) else {
            throw AvatarStoreError(.noStore, "There is no store at \(layout.indexPath).")
        }
    }

    private static func fileMode(of path: String) throws -> UInt32 {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? NSNumber)?.uint32Value ?? 0o600
    }
}
