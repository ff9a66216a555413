import AvatarCore
import AvatarReports
import AvatarSQLite

/// Upgrades an index in place to this program's schema, and keeps a copy of the original until that is done.
struct SchemaUpgrade {
    /// The copy of the original.
    let copy: UpgradeCopy
    /// The steps of the schema, in order. A test may pass others.
    var steps = Migration.all
    /// Receives the progress, first of the copy, then of the steps.
    var progress: ProgressHandler = { _ in }

    /// Copies the index and applies the steps that it lacks. After a kill or a full disk, the next run continues after
    /// the last complete step.
    ///
    /// - Throws: `diskFull` without room for the copy; an error of SQLite. The file has the schema of the last complete
    ///   step.
    func run(on connection: Connection) throws {
        while true {
            let version = try SchemaMigrator.version(connection)
            guard version < steps.count else { return copy.removeLeftovers(before: version) }
            do {
                if version > 0 { try makeCopy(of: version) }
            } catch {
                // Another process applied the last step meanwhile, and removed all copies, this unfinished one too.
                if try SchemaMigrator.version(connection) > version { continue }
                throw error
            }
            try SchemaMigrator.migrate(connection, by: steps, progress)
            if version > 0 {
                // Synchronizes the log, and tells if that fails: the copy is needed until the new schema is on the disk.
                try connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                copy.removeAll()
            }
            return
        }
    }

    /// Makes the copy of an index with schema version `version`, unless there is one.
    private func makeCopy(of version: Int) throws {
        try copy.make(of: version) { [progress] bytes, total in
            progress(WorkProgress(.copyingIndex, .bytes, done: bytes, of: total))
        }
    }
}
