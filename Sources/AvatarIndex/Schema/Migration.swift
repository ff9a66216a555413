import CAvatarMigrations

/// One step of the schema: a numbered SQL file of the folder `Migrations`, embedded in the program.
///
/// A landed file is never edited; a change of the schema is a new file, added at the end of `CAvatarMigrations/Migrations.c`.
package struct Migration: Sendable {
    /// The schema version that this step leads to; the first is 1, and none is left out.
    package let version: Int
    /// The file's name without its ending.
    package let name: String
    /// The file's text.
    package let sql: String

    /// Every step, in order.
    package static let all: [Migration] = {
        var all: [Migration] = []
        while let step = avatar_migration(all.count)?.pointee {
            let (name, sql) = (String(cString: step.name), String(cString: step.sql))
            all.append(Migration(version: all.count + 1, name: name, sql: sql))
        }
        return all
    }()

    /// The schema version of this program.
    package static let latestVersion = all.count
}
