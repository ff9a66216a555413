import AvatarCore
import AvatarMigrations

/// Whose database a file is, and how far its schema has come.
struct SchemaStatus: Sendable {
    /// "AVAT" in ASCII, in the file's header (https://www.sqlite.org/pragma.html#pragma_application_id).
    static let applicationID: Int64 = 0x4156_4154

    let applicationID: Int64
    let version: Int
    /// Whether the file has any table; one without is new and nobody's.
    let isEmpty: Bool
    /// Tables and views.
    let tableCount: Int

    /// How many of them this program's schema has. People may have added some of their own.
    static let expectedTableCount = 15

    init(of connection: ReadConnection) throws {
        // In one statement: another process may be at its first migration, and commit it between two.
        let row = try connection.firstRow(
            """
            SELECT
                (SELECT application_id FROM pragma_application_id),
                (SELECT user_version FROM pragma_user_version),
                (SELECT count(*) FROM sqlite_schema),
                (SELECT count(*) FROM sqlite_schema WHERE type IN ('table', 'view'))
            """
        ) { (applicationID: $0.integer(0), version: Int($0.integer(1)), objects: $0.integer(2), tables: $0.integer(3)) }
        applicationID = row?.applicationID ?? 0
        version = row?.version ?? 0
        isEmpty = row?.objects ?? 0 == 0
        tableCount = Int(row?.tables ?? 0)
    }

    /// - Throws: `foreignIndex` or `newerIndex`; `damagedIndex` if it has not what its version says.
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
                "The index has schema version \(version), this program knows versions up to "
                    + "\(Migration.latestVersion). It was left as it is; use a newer version of the program."
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
