import AvatarCore

/// The program that a database belongs to, and the version of its schema.
struct SchemaStatus: Sendable {
    /// "AVAT" in ASCII, in the file's header (https://www.sqlite.org/pragma.html#pragma_application_id).
    static let applicationID: Int64 = 0x4156_4154

    /// The application id in the header of the file; 0 if no program has set one.
    let applicationID: Int64
    /// The schema version (`user_version`); 0 for a new file.
    let version: Int
    /// Whether the file has no table yet. Any program may then use it.
    let isEmpty: Bool
    /// The number of tables and views.
    let tableCount: Int

    /// The number of tables and views in this program's schema. Users may have added some of their own.
    static let expectedTableCount = 34

    /// Reads the status of the database.
    ///
    /// - Throws: an error of the index.
    init(of connection: ReadConnection) throws {
        // In one statement: another process may commit its first migration between two.
        let row = try connection.firstRow(
            """
            SELECT
                (SELECT application_id FROM pragma_application_id) AS application_id,
                (SELECT user_version FROM pragma_user_version) AS version,
                (SELECT count(*) FROM sqlite_schema) AS objects,
                (SELECT count(*) FROM sqlite_schema WHERE type IN ('table', 'view')) AS tables
            """
        ) { row in
            (
                applicationID: row.integer("application_id"), version: Int(row.integer("version")),
                objects: row.integer("objects"), tables: Int(row.integer("tables"))
            )
        }
        applicationID = row?.applicationID ?? 0
        version = row?.version ?? 0
        isEmpty = row?.objects ?? 0 == 0
        tableCount = row?.tables ?? 0
    }

    /// Checks that this program can work with the database: a new file, or an index of this version or an older one.
    ///
    /// - Throws: `foreignIndex` or `newerIndex`; `damagedIndex` if it lacks tables of its version.
    func requireOurs() throws {
        if isEmpty && applicationID == 0 && version == 0 { return }
        guard applicationID == Self.applicationID else {
            throw AvatarStoreError(
                .foreignIndex,
                "The database belongs to another program (its application id is \(applicationID), "
                    + "an avatar index has \(Self.applicationID)). It was left as it is."
            )
        }
        guard version <= Migration.latestVersion else {
            throw AvatarStoreError(
                .newerIndex,
                "The index has schema version \(version), but this program supports at most "
                    + "\(Migration.latestVersion). The index was not changed; use a newer version of the program."
            )
        }
        guard version < Migration.latestVersion || tableCount >= Self.expectedTableCount else {
            throw AvatarStoreError(
                .damagedIndex,
                "The index says that it has schema version \(version), but lacks tables of it. It was left as it is."
            )
        }
    }
}
