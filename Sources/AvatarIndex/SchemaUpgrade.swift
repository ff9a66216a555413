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
        while true {
            let version = try self.version(writer)
            guard version < steps.count else { return copy.removeLeftovers(before: version) }
            do {
                if version > 0 { try makeCopy(of: version) }
            } catch {
                // Another process put in the last step meanwhile, and removed all copies, this unfinished one too.
                if try self.version(writer) > version { continue }
                throw error
            }
            try SchemaMigrator.migrate(writer, by: steps, progress)
            if version > 0 { copy.removeAll() }
            return
        }
    }

    private func version(_ writer: DatabaseQueue) throws -> Int {
        try writer.writeWithoutTransaction { try SchemaMigrator.version($0) }
    }

    private func makeCopy(of version: Int) throws {
        try copy.make(of: version) { [progress] bytes, total in
            progress(WorkProgress(.copyingIndex, .bytes, done: bytes, of: total))
        }
    }
}
