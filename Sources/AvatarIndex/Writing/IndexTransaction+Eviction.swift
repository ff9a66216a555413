import AvatarCore
import AvatarSQLite

// The times of use, and the order of eviction that follows from them.
//
// A row of `access` has the last use of a file. An order by time for all files would be a second tree, and each use of a
// file would change one of its pages, somewhere. So only the files that go next are in that order: the table
// `eviction_queue` has those of `caches` used before the time in `eviction_queue_end`, and triggers keep it so. When an
// eviction has used the queue up, it raises that time and reads all rows of `access` once to fill the queue again.

// MARK: Uses

extension IndexTransaction {
    /// Records that the file was used at `microseconds`; the later time wins.
    ///
    /// Hits read no access time, so this write leaves the hit cache as it is.
    package func touch(fileID: Int64, microseconds: Int64) throws {
        try run(
            KeepsHits("UPDATE access SET last_access_us = ?1 WHERE file_id = ?2 AND last_access_us < ?1"),
            [microseconds, fileID]
        )
    }

    /// Records the uses of several files, as `touch(fileID:microseconds:)`. In the order of the row ids it rewrites the
    /// fewest pages.
    ///
    /// - Parameter goesOn: asked after each 512 files.
    /// - Returns: the uses that are left because `goesOn` returned false.
    package func touch(
        _ uses: ArraySlice<(fileID: Int64, time: Int64)>,
        while goesOn: () -> Bool
    ) throws -> ArraySlice<(fileID: Int64, time: Int64)> {
        var rest = uses
        while !rest.isEmpty {
            for (file, time) in rest.prefix(512) { try touch(fileID: file, microseconds: time) }
            rest = rest.dropFirst(512)
            guard goesOn() else { break }
        }
        return rest
    }

    /// Sets the last access of the file, whatever it was.
    func setLastAccess(_ microseconds: Int64, ofFile id: Int64) throws {
        try run(KeepsHits("UPDATE access SET last_access_us = ? WHERE file_id = ?"), [microseconds, id])
    }

    /// When the file was last used, in microseconds; `nil` if it is not published.
    package func lastAccess(ofFile id: Int64) throws -> Int64? {
        try integer("SELECT last_access_us FROM access WHERE file_id = ?", [id])
    }

    /// Makes the rows of the table `access` agree with the files. A file whose row is missing was last used when it was
    /// published.
    ///
    /// Triggers keep them equal. Only another program can have changed one without the other, and then an eviction would
    /// free other bytes than it counts. The next eviction fills the queue again.
    package func repairAccesses() throws {
        try emptyEvictionQueue()
        try run(KeepsHits("DELETE FROM access WHERE file_id NOT IN (SELECT id FROM file)"))
        try run(
            KeepsHits(
                """
                INSERT INTO access (file_id, storage_class, size_bytes, last_access_us)
                SELECT id, storage_class, size_bytes, last_access_us FROM file WHERE true
                ON CONFLICT (file_id) DO UPDATE
                SET storage_class = excluded.storage_class, size_bytes = excluded.size_bytes
                WHERE storage_class <> excluded.storage_class OR size_bytes <> excluded.size_bytes
                """
            )
        )
    }
}

// MARK: The order of eviction

extension IndexTransaction {
    /// The fewest files that an eviction adds to the queue at once. Reading the times of as many files takes as long as
    /// evicting a few of them.
    private static let shortestExtension = 16_384

    /// An eviction adds at least a sixteenth of the other files to the queue at once. So it reads the times of at most 16
    /// files for each file that it evicts.
    private static let extensionPart = 16

    /// The number of files whose times decide how far the queue reaches.
    private static let sampleCount = 4096

    /// Walks the files of `caches` in the order in which they are evicted, until `visit` returns false: first renditions, which
    /// can be made again from what is here, then originals. Each from the least recently used on; equal times are ordered by
    /// row id.
    ///
    /// Extends the queue if the walk comes to its end. `visit` must not change any file.
    ///
    /// - Parameter microseconds: the time before which an original was last used. Renditions may have been used later.
    package func forEachEvictionCandidate(
        accessedBefore microseconds: Int64,
        _ visit: (EvictionCandidate) throws -> Bool
    ) throws {
        var last: (time: Int64, file: Int64) = (.min, .min)
        var goesOn = true
        var renditions: Set<Int64> = []
        try forEachRendition { rendition in
            renditions.insert(rendition.fileID)
            goesOn = try visit(rendition)
            return goesOn
        }
        guard goesOn else { return }
        repeat {
            try forEachRow(SharedSQL.queueSQL, [last.time, last.file, microseconds]) { row in
                last = (row.integer("last_access_us"), row.integer("file_id"))
                guard !renditions.contains(last.file) else { return true }
                goesOn = try visit(EvictionCandidate(row))
                return goesOn
            }
        } while try goesOn && extendEvictionQueue(upTo: microseconds)
    }

    /// Adds the files to the queue that were used first of those that are not in it.
    ///
    /// - Parameter limit: files used at this time or later are not needed.
    /// - Returns: whether files were added, some of them perhaps used before `limit`.
    private func extendEvictionQueue(upTo limit: Int64) throws -> Bool {
        let begin = try integer(SharedSQL.queueEndSQL) ?? .min
        guard begin < limit else { return false }
        let queued = Int(try integer("SELECT count(*) FROM eviction_queue") ?? 0)
        let rest = max(0, try total(of: .caches).files - queued)
        // A walk that evicts nothing doubles the queue each time, so it reads all times only a few times.
        let wanted = max(Self.shortestExtension, rest / Self.extensionPart, queued)
        guard let end = try endOfExtension(from: begin, of: wanted, among: rest) else { return false }
        try run(
            KeepsHits(
                """
                INSERT OR REPLACE INTO eviction_queue (last_access_us, file_id, size_bytes)
                SELECT last_access_us, file_id, size_bytes FROM access
                WHERE storage_class = 0 AND last_access_us >= ?1 AND last_access_us < ?2
                ORDER BY last_access_us, file_id
                """
            ),
            [begin, end]
        )
        try run(KeepsHits("INSERT OR REPLACE INTO eviction_queue_end (id, queued_before_us) VALUES (1, ?)"), [end])
        return true
    }

    /// The time before which about `wanted` of the `rest` files used at `begin` or later were used; `nil` if there are no
    /// such files.
    ///
    /// It is estimated from a part of the files, because sorting the times of all would take as long as reading them. It
    /// never lies after the last use of all files, so files used from now on are not added to the queue.
    private func endOfExtension(from begin: Int64, of wanted: Int, among rest: Int) throws -> Int64? {
        if rest > 2 * wanted {
            // An odd number, so that every pattern of row ids has files in the sample.
            let step = max(1, rest / Self.sampleCount) | 1
            let sample = try rows(
                """
                SELECT last_access_us FROM access
                WHERE storage_class = 0 AND last_access_us >= ? AND file_id % ? = 0
                """,
                [begin, Int64(step)]
            ) { $0.integer("last_access_us") }
            if sample.count > Self.sampleCount / 16 {
                return Self.next(sample.sorted()[wanted * sample.count / rest])
            }
        }
        let last = try integer(
            "SELECT max(last_access_us) FROM access WHERE storage_class = 0 AND last_access_us >= ?",
            [begin]
        )
        return last.map(Self.next)
    }

    /// The time after `microseconds`, which another program may have set to any number.
    private static func next(_ microseconds: Int64) -> Int64 { microseconds == .max ? .max : microseconds + 1 }

    /// Empties the queue; the next eviction fills it again.
    func emptyEvictionQueue() throws {
        try run(KeepsHits("DELETE FROM eviction_queue"))
        try run(KeepsHits("DELETE FROM eviction_queue_end"))
    }
}
