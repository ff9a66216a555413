import AvatarCore
import AvatarReports
import AvatarSQLite

/// Brings the schema to this program's version, one step a transaction; a new index gets all steps in one.
///
/// The version is `PRAGMA user_version`, nothing else. It is read again under the write lock: two processes that open a
/// new store at once must not both run the first step.
enum SchemaMigrator {
    /// Applies the steps that the index lacks.
    ///
    /// - Parameter progress: called before each transaction and after the last one; never called if no step is pending.
    /// - Throws: `damagedIndex` if a step does not fit the schema; what SQLite reports. Earlier steps stay applied.
    static func migrate(
        _ connection: Connection,
        by steps: [Migration] = Migration.all,
        _ progress: (WorkProgress) -> Void = { _ in }
    ) throws {
        let applied = try version(connection)
        let pending = steps.filter { $0.version > applied }
        guard !pending.isEmpty else { return }
        // Nothing is kept of a new index that did not get all, and the disk is waited for once.
        let groups = applied == 0 ? [pending] : pending.map { [$0] }
        var done = 0
        for group in groups {
            progress(WorkProgress(.migrating, .steps, done: done, of: pending.count))
            try Task.checkCancellation()
            try connection.transaction { _ in
                for step in group { try perform(step, on: connection) }
            }
            done += group.count
        }
        progress(WorkProgress(.migrating, .steps, done: done, of: pending.count))
    }

    /// Runs one step and sets the version, within a transaction. Does nothing if another process has applied the step meanwhile.
    ///
    /// - Throws: an error of SQLite; `damagedIndex` if the step does not fit. Nothing of the step must be kept then.
    private static func perform(_ step: Migration, on connection: Connection) throws {
        do {
            guard try version(connection) < step.version else { return }
            try connection.execute(step.sql)
            try connection.execute("PRAGMA application_id = \(SchemaStatus.applicationID)")
            try connection.execute("PRAGMA user_version = \(step.version)")
        } catch let error as SQLiteError where error.code.primary == .error {
            // The SQL fits every index of the version before, so this index is not one.
            throw AvatarStoreError(
                .damagedIndex,
                "The index says that it has schema version \(step.version - 1), but step \(step.name) does not fit "
                    + "it (\(error.message)). Nothing of that step was applied.",
                underlying: error
            )
        }
    }

    /// Checks that an index of an older version has the schema of that version; the steps would not fit another.
    ///
    /// - Throws: `damagedIndex`, with nothing changed, if something of that schema is missing.
    static func requireSoundSchema(of connection: ReadConnection, version: Int) throws {
        guard 0 < version, version < Migration.latestVersion else { return }
        let found = try Set(connection.rows(schemaSQL) { $0.text("definition") })
        let missing = try schema(ofVersion: version).filter { !found.contains($0.definition) }.map(\.name)
        guard !missing.isEmpty else { return }
        throw AvatarStoreError(
            .damagedIndex,
            "The index says that it has schema version \(version), but its schema differs from that version in: "
                + "\(missing.sorted().joined(separator: ", ")). It was left as it is."
        )
    }

    /// The SQL of every table, index, view and trigger. Indexes that SQLite makes by itself have none, so their names
    /// stand in.
    private static let schemaSQL = "SELECT coalesce(sql, name) AS definition, name FROM sqlite_schema"

    /// The schema that a new index had when `version` was the newest.
    private static func schema(ofVersion version: Int) throws -> [(definition: String, name: String)] {
        let connection = try Connection()
        try migrate(connection, by: Array(Migration.all.prefix(version)))
        return try connection.rows(schemaSQL) { ($0.text("definition"), $0.text("name")) }
    }

    /// Every write transaction begins with this: another program may have upgraded the schema since the index was
    /// opened, and this program's SQL may no longer fit.
    ///
    /// - Throws: `indexWasUpgraded`.
    static func requireUnchangedVersion(_ connection: Connection) throws {
        try requireUnchanged(try version(connection))
    }

    /// As `requireUnchangedVersion`, for an index whose schema has `version` now.
    ///
    /// - Throws: `indexWasUpgraded`.
    static func requireUnchanged(_ version: Int) throws {
        guard version == Migration.latestVersion else {
            throw AvatarStoreError(
                .indexWasUpgraded,
                "The index was brought to schema version \(version) by another program while this one had it open "
                    + "with version \(Migration.latestVersion). The store was not changed; open it again with the newer program."
            )
        }
    }

    /// The schema version of the index; 0 for a new file.
    static func version(_ connection: Connection) throws -> Int {
        Int(try connection.integer("PRAGMA user_version") ?? 0)
    }
}
