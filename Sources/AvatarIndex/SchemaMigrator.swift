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
    static func migrate(
        _ writer: DatabaseQueue,
        by steps: [Migration] = Migration.all,
        _ progress: (WorkProgress) -> Void = { _ in }
    ) throws {
        let applied = try writer.writeWithoutTransaction { try version($0) }
        let pending = steps.filter { $0.version > applied }
        for (number, step) in pending.enumerated() {
            progress(WorkProgress(.migrating, .steps, done: number, of: pending.count))
            try Task.checkCancellation()
            do {
                try writer.writeWithoutTransaction { try apply(step, to: $0) }
            } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
                // The SQL is right for an index of the version before, so this is none.
                throw AvatarStoreError(
                    .damagedIndex,
                    "The index says that it has schema version \(step.version - 1), but step \(step.name) does not fit "
                        + "it (\(error.message ?? "no reason given")). Nothing of that step was applied.",
                    underlying: error
                )
            }
        }
        if !pending.isEmpty { progress(WorkProgress(.migrating, .steps, done: pending.count, of: pending.count)) }
    }

    private static func apply(_ step: Migration, to database: Database) throws {
        try database.inTransaction(.immediate) {
            guard try version(database) < step.version else { return .commit }
            try database.execute(sql: step.sql)
            try database.execute(sql: "PRAGMA application_id = \(SchemaStatus.applicationID)")
            try database.execute(sql: "PRAGMA user_version = \(step.version)")
            return .commit
        }
    }

    /// Reads whether an index of an older version has the tables of that version; the steps would not fit another.
    ///
    /// - Throws: `damagedIndex`, with nothing changed.
    static func requireSoundSchema(of connection: ReadConnection, version: Int) throws {
        guard 0 < version, version < Migration.latestVersion else { return }
        let found = try Set(connection.rows(schemaSQL) { $0.text(0) })
        let missing = try schema(ofVersion: version).filter { !found.contains($0.definition) }.map(\.name)
        guard !missing.isEmpty else { return }
        throw AvatarStoreError(
            .damagedIndex,
            "The index says that it has schema version \(version), but not all is as that version has it: "
                + "\(missing.sorted().joined(separator: ", ")). It was left as it is."
        )
    }

    private static let schemaSQL = "SELECT coalesce(sql, name), name FROM sqlite_schema"

    /// What `version` was when it was the newest.
    private static func schema(ofVersion version: Int) throws -> [(definition: String, name: String)] {
        let database = try DatabaseQueue()
        try migrate(database, by: Array(Migration.all.prefix(version)))
        return try database.read { try Row.fetchAll($0, sql: schemaSQL).map { ($0[0], $0[1]) } }
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

    static func version(_ database: Database) throws -> Int {
        try Int.fetchOne(database.cachedStatement(sql: "PRAGMA user_version")) ?? 0
    }
}
