import AvatarCore
import AvatarMigrations
import GRDB

/// Brings an index in its place to this program's schema, and keeps a copy of what it was until that is done.
struct SchemaUpgrade {
    let copy: UpgradeCopy
    var steps = Migration.all
    var progress: ProgressHandler = { _ in }

    /// What a killed process or a full disk stops goes on from the last whole step when it is run again.
    func run(on writer: DatabaseQueue) throws {
        let version = try writer.writeWithoutTransaction { try SchemaMigrator.version($0) }
        guard version < steps.count else { return copy.removeLeftovers(before: version) }
        if version > 0 {
            try copy.make(of: version) { [progress] bytes, total in
                progress(WorkProgress(.copyingIndex, .bytes, done: bytes, of: total))
            }
        }
        try SchemaMigrator.migrate(writer, by: steps, progress)
        if version > 0 { copy.removeAll() }
    }
}
