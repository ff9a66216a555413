import AvatarCore
import AvatarMigrations
import GRDB

/// Brings the schema to this program's version, one step a transaction.
///
/// The version is `PRAGMA user_version`, nothing else. GRDB's migrator reads what is applied before it takes the write
/// lock, so two processes that open a new store at once would both run the first step; here the version is read again
/// under the lock.
enum SchemaMigrator {
    /// - Parameter progress: is told before each step, and after the last one, unless there is none.
    static func migrate(_ writer: DatabaseQueue, _ progress: (WorkProgress) -> Void = { _ in }) throws {
        let applied = try writer.writeWithoutTransaction { try version($0) }
        let pending = Migration.all.filter { $0.version > applied }
        for (number, migration) in pending.enumerated() {
            progress(WorkProgress(.migrating, .steps, done: number, of: pending.count))
            try Task.checkCancellation()
            try writer.writeWithoutTransaction { database in
                try database.inTransaction(.immediate) {
                    guard try version(database) < migration.version else { return .commit }
                    try database.execute(sql: migration.sql)
                    try database.execute(sql: "PRAGMA application_id = \(SchemaStatus.applicationID)")
                    try database.execute(sql: "PRAGMA user_version = \(migration.version)")
                    return .commit
                }
            }
        }
        if !pending.isEmpty { progress(WorkProgress(.migrating, .steps, done: pending.count, of: pending.count)) }
    }

    /// Every write transaction begins with this: another program may have upgraded the schema since the index was
    /// opened, and this program's SQL may no longer fit.
    static func requireUnchangedVersion(_ database: Database) throws {
        let version = try version(database)
        guard version == Migration.latestVersion else {
            throw AvatarStoreError(
                .indexWasUpgraded,
                "The index was brought to schema version \(version) by another program while this one had it open "
                    + "with version \(Migration.latestVersion). Nothing was written; open the store again with the newer program."
            )
        }
    }

    private static func version(_ database: Database) throws -> Int {
        try Int.fetchOne(database.cachedStatement(sql: "PRAGMA user_version")) ?? 0
    }
}
