import AvatarCore
package import AvatarReports

/// The size of the index file, and the part of it that is unused.
package struct IndexSpace: Hashable, Sendable {
    /// The size of a page in bytes.
    package var pageBytes: Int
    /// The number of pages in the file.
    package var pages: Int
    /// The number of pages that deleted rows have left.
    package var unusedPages: Int

    /// The size of the file in bytes.
    package var bytes: Int { pages * pageBytes }
    /// The bytes that compacting gives back.
    package var unusedBytes: Int { unusedPages * pageBytes }
}

/// Compacting: gives pages that deleted rows have left back to the disk.
///
/// A new index is made with `auto_vacuum = INCREMENTAL`, so that compacting needs no second copy and can stop anywhere.
/// Only a file that was restored from a dump lacks it; that one is rewritten, once.
extension AvatarIndex {
    /// The number of pages that one transaction gives back. Other writers wait that long, and the log grows by it.
    private static let pagesAtOnce = 512

    /// The pages of the file.
    ///
    /// Cheap: SQLite keeps all three numbers in the header of the file.
    ///
    /// - Throws: an error of the index.
    package func space() throws -> IndexSpace {
        try readers.read { connection in
            func number(_ name: String) throws -> Int {
                Int(try connection.integer("PRAGMA \(name)") ?? 0)
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
    /// - Parameter freeBytes: the free bytes of the disk; asked only for an index that has to be rewritten.
    /// - Throws: `diskFull`, with nothing changed, if the disk has no room to rewrite it; what `write` throws.
    package func compact(freeBytes: () throws -> Int, _ progress: (WorkProgress) -> Void) throws {
        guard try isIncremental() else { return try rewrite(freeBytes: try freeBytes()) }
        let unused = try space().unusedBytes
        while !Task.isCancelled {
            let left = try space()
            let done = max(0, unused - left.unusedBytes)
            progress(WorkProgress(.compacting, .bytes, done: done, of: max(unused, done)))
            guard left.unusedPages > 0 else { break }
            try vacuumSome()
            // A reader of an older snapshot, or a deletion meanwhile, can keep this from making progress.
            guard try space().unusedPages < left.unusedPages else { break }
        }
    }

    /// Whether SQLite returns unused pages of the file in steps.
    private func isIncremental() throws -> Bool {
        try readers.read { try $0.integer("PRAGMA auto_vacuum") == 2 }
    }

    /// Returns a bounded number of unused pages to the disk, in one transaction.
    ///
    /// - Throws: `indexWasUpgraded` if another program has upgraded the schema; an error of SQLite.
    private func vacuumSome() throws {
        try onWriteConnection("giving back unused pages") { connection in
            try connection.transaction { transaction in
                try SchemaMigrator.requireUnchangedVersion(connection)
                // Each row that is stepped to gives back a page.
                try transaction.run("PRAGMA incremental_vacuum(\(Self.pagesAtOnce))")
            }
        }
    }

    /// Rewrites the whole file (`VACUUM`). SQLite makes two copies meanwhile: one beside the file, one in the log.
    /// Other writers wait until it is done.
    ///
    /// - Throws: `diskFull`, with nothing changed, if less than twice the size of the file is free; an error of SQLite.
    private func rewrite(freeBytes: Int) throws {
        let bytes = try space().bytes
        guard freeBytes >= 2 * bytes else {
            throw AvatarStoreError(
                .diskFull,
                "The index was made without incremental vacuum, so it has to be rewritten. That needs "
                    + "\(2 * bytes) bytes of free disk; \(freeBytes) are left. Nothing was changed: make room and try again."
            )
        }
        try onWriteConnection("rewriting it") { connection in
            try SchemaMigrator.requireUnchangedVersion(connection)
            try connection.execute("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
        }
    }
}
