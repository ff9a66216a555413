package import AvatarCore
import Foundation
import GRDB

/// What the index takes on disk, and how much of that is unused.
package struct IndexSpace: Hashable, Sendable {
    package var pageBytes: Int
    package var pages: Int
    package var unusedPages: Int

    package var bytes: Int { pages * pageBytes }
    package var unusedBytes: Int { unusedPages * pageBytes }
}

/// Gives the pages back that deleted rows have left.
///
/// A new index is made with `auto_vacuum = INCREMENTAL`, so that this takes no second copy of it and can stop anywhere.
/// Only a file that somebody put together from a dump has none; that one is rewritten, once.
extension AvatarIndex {
    /// So many pages go in one transaction: what others wait for, and what the log grows by.
    private static let pagesAtOnce = 512

    /// The pages of the file.
    package func space() throws -> IndexSpace {
        try readers.read { connection in
            func number(_ name: String) throws -> Int {
                try connection.firstRow("PRAGMA \(name)") { Int($0.integer(0)) } ?? 0
            }
            return try connection.snapshot {
                IndexSpace(
                    pageBytes: try number("page_size"),
                    pages: try number("page_count"),
                    unusedPages: try number("freelist_count")
                )
            }
        }
    }

    /// Gives unused pages back to the disk, some at a time, until there are none or the task is cancelled.
    ///
    /// - Parameter freeBytes: what the disk has left, for an index that has to be rewritten.
    /// - Throws: `diskFull`, with nothing changed, if that does not suffice.
    package func compact(freeBytes: () throws -> Int, _ progress: (WorkProgress) -> Void) throws {
        guard try mode() == .incremental else { return try rewrite(freeBytes: try freeBytes()) }
        let unused = try space().unusedBytes
        while !Task.isCancelled {
            let left = try space()
            let done = max(0, unused - left.unusedBytes)
            progress(WorkProgress(.compacting, .bytes, done: done, of: max(unused, done)))
            guard left.unusedPages > 0 else { break }
            try vacuumSome()
            // Who reads an older state, or deletes meanwhile, keeps us from getting to the end.
            guard try space().unusedPages < left.unusedPages else { break }
        }
    }

    private enum VacuumMode {
        case none, incremental
    }

    private func mode() throws -> VacuumMode {
        try readers.read { connection in
            try connection.firstRow("PRAGMA auto_vacuum") { $0.integer(0) == 2 ? .incremental : .none } ?? .none
        }
    }

    private func vacuumSome() throws {
        try writeOutsideTransaction("giving back unused pages") { database in
            try database.inTransaction(.immediate) {
                try SchemaMigrator.requireUnchangedVersion(database)
                // It gives back a page for each row that is asked for.
                _ = try Row.fetchAll(database, sql: "PRAGMA incremental_vacuum(\(Self.pagesAtOnce))")
                return .commit
            }
        }
    }

    /// A whole copy is made of it, twice: beside it, and in its log.
    private func rewrite(freeBytes: Int) throws {
        let bytes = try space().bytes
        guard freeBytes >= 2 * bytes else {
            throw AvatarStoreError(
                .diskFull,
                "The index was made without incremental vacuum, so it has to be rewritten; that takes "
                    + "\(2 * bytes) bytes of free disk, and there are \(freeBytes). Nothing was changed."
            )
        }
        try writeOutsideTransaction("rewriting it") { database in
            try SchemaMigrator.requireUnchangedVersion(database)
            try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            try database.execute(sql: "VACUUM")
        }
    }
}
