package import AvatarCore
package import AvatarFileSystem
package import AvatarReports
import AvatarSQLite

/// Counts of the index.
package struct IndexStatistics: Sendable {
    /// The number of entries.
    package var entries = 0
    /// The totals of `caches`, the purgeable class.
    package var caches = ClassTotal(files: 0, bytes: 0, pendingBytes: 0)
    /// The totals of `documents`, the durable class.
    package var documents = ClassTotal(files: 0, bytes: 0, pendingBytes: 0)
    /// The number of entries, by the state of `avatar_overview`.
    package var states: [AvatarState: Int] = [:]
    /// The number of hosts.
    package var hosts = 0
    /// When the least recently used file was last used; `nil` without files.
    package var oldestAccessMicroseconds: Int64?
    /// When the most recently used file was last used; `nil` without files.
    package var newestAccessMicroseconds: Int64?
    /// The schema version of the index.
    package var schemaVersion = 0
    /// The outcome of the last sync; `nil` before the first one ended.
    package var lastSync: LastSync?
    /// Entries whose last check failed, by the kind of the failure.
    package var failures: [FailureKind: Int] = [:]
    /// Entries that a contact uses and that never had an image.
    package var neverHad = 0
}

extension AvatarIndex {
    /// Counts of everything. Walks the entries once for their states, and the times of use; all else is a row or a few.
    package func statistics() throws -> IndexStatistics {
        try readers.read { connection in
            try connection.snapshot {
                var statistics = IndexStatistics()
                let states = "SELECT state, count(*) AS entries FROM avatar_overview GROUP BY state"
                try connection.forEachRow(states, []) { row in
                    let count = row.count("entries")
                    statistics.states[try AvatarState(word: row.text("state"))] = count
                    statistics.entries += count
                    return true
                }
                statistics.caches = try Self.total(of: .caches, on: connection)
                statistics.documents = try Self.total(of: .documents, on: connection)
                statistics.hosts = Int(try connection.integer("SELECT count(*) FROM host") ?? 0)
                let bounds = "SELECT min(last_access_us) AS oldest, max(last_access_us) AS newest FROM access"
                try connection.forEachRow(bounds, []) { row in
                    statistics.oldestAccessMicroseconds = row.optionalInteger("oldest")
                    statistics.newestAccessMicroseconds = row.optionalInteger("newest")
                    return true
                }
                statistics.schemaVersion = try SchemaStatus(of: connection).version
                statistics.lastSync = try Self.lastSync(on: connection)
                try Self.countFailures(into: &statistics, on: connection)
                return statistics
            }
        }
    }

    /// The outcome of the last sync; `nil` before the first one ended.
    package func lastSync() throws -> LastSync? {
        try readers.read { try Self.lastSync(on: $0) }
    }

    private static func lastSync(on connection: ReadConnection) throws -> LastSync? {
        try connection.firstRow(
            "SELECT ended_ms, duration_ms, outcome, wanted, failed, skipped, over_budget FROM last_sync"
        ) { row in
            LastSync(
                time: Timestamp(milliseconds: row.integer("ended_ms")),
                duration: .milliseconds(row.integer("duration_ms")),
                // A newer program may write a word that this one does not know.
                outcome: SyncOutcome(rawValue: row.text("outcome")) ?? .failed,
                wanted: row.count("wanted"),
                failed: row.count("failed"),
                skipped: row.count("skipped"),
                overBudget: row.count("over_budget")
            )
        }
    }

    /// Counts failures by kind, and entries that never had an image. Walks the entries once.
    ///
    /// A source without an image for an e-mail address is not a failure.
    private static func countFailures(
        into statistics: inout IndexStatistics,
        on connection: ReadConnection
    ) throws {
        let rows = try connection.rows(
            """
            SELECT failure, count(*) AS entries, sum(
                fetched_ms IS NULL AND file_id IS NULL AND absence IS NULL
                AND EXISTS (SELECT 1 FROM owner WHERE owner.avatar_id = avatar.id)
            ) AS never_had
            FROM avatar
            WHERE host_id IS NOT NULL
                AND NOT (substr(key, 1, 6) = 'email:' AND file_id IS NULL AND failure IS 'gone')
            GROUP BY failure
            """
        ) { row in
            (
                kind: row.optionalText("failure"), count: row.count("entries"),
                neverHad: row.count("never_had")
            )
        }
        for row in rows {
            if let kind = row.kind { statistics.failures[FailureKind(rawValue: kind)] = row.count }
            statistics.neverHad += row.neverHad
        }
    }

    /// The totals of `storageClass`.
    package func total(of storageClass: StorageClass) throws -> ClassTotal {
        try readers.read { try Self.total(of: storageClass, on: $0) }
    }

    /// The number of entries with a file.
    ///
    /// SQLite counts them one by one. An export calls it once, for the total of its progress.
    package func imageCount() throws -> Int {
        try readers.read { connection in
            Int(try connection.integer("SELECT count(*) FROM avatar WHERE file_id IS NOT NULL") ?? 0)
        }
    }

    /// The value of the setting `name`; `nil` if it has its default.
    package func setting(_ name: String) throws -> Int64? {
        try readers.read { connection in
            try connection.integer("SELECT value FROM setting WHERE name = ?", [name])
        }
    }

    /// The values of all settings that were set, by name.
    package func settings() throws -> [String: Int64] {
        try readers.lookUp { try $0.settings() }
    }

    /// The text of the setting `name`; `nil` if it has its default.
    package func textSetting(_ name: String) throws -> String? { try readers.read { try $0.storedText(name) } }

    /// The id of the store that the index belongs to.
    ///
    /// - Throws: `damagedIndex` if the index has lost it.
    package func storeID() throws -> String { try readers.read { try $0.storedID() } }

    /// The state that the opening of a store reads at once: the store's id, `nil` in a new index; whether there is an open
    /// boot (`openBoot`); and the holders of pending files, dead or alive.
    package func openingState() throws -> (storeID: String?, hasOpenBoot: Bool, pendingHolders: [String]) {
        try readers.read { connection in
            try connection.snapshot {
                let store = try connection.firstRow("SELECT store_id, boot_id IS NOT NULL AS is_open FROM store") {
                    (id: $0.text("store_id"), hasOpenBoot: $0.integer("is_open") != 0)
                }
                return (store?.id, store?.hasOpenBoot ?? false, try connection.pendingHolders())
            }
        }
    }

    /// The holders that have pending files, dead or alive.
    package func pendingHolders() throws -> [String] {
        try readers.read { try $0.pendingHolders() }
    }

    /// The boot during which the store was last changed without being closed afterwards, and the last file that was on
    /// stable storage then; `nil`: the store was closed.
    package func openBoot() throws -> (id: String, lastDurableFile: Int64)? {
        try readers.read { try $0.storedBoot() }
    }

    /// The highest row id of a file; 0 without files.
    package func lastFileID() throws -> Int64 { try readers.read { try $0.highestFileID() } }

    /// The places and digests of the files with row ids beyond `id`.
    package func files(beyond id: Int64) throws -> [FileDigest] {
        try readers.read { connection in
            try connection.rows("SELECT id, storage_class, path, sha256 FROM file WHERE id > ?", [id]) {
                FileDigest(
                    id: $0.integer("id"),
                    storageClass: StorageClass(code: $0.integer("storage_class")),
                    path: $0.text("path"),
                    sha256: $0.blob("sha256")
                )
            }
        }
    }

    /// The SHA-256 that the bytes of the file must have; `nil` if the file is no longer published.
    package func digest(ofFile id: Int64) throws -> [UInt8]? { try readers.read { try $0.storedDigest(ofFile: id) } }

    /// Walks the files of `caches` in the order in which they would be evicted, until `visit` returns false: first renditions,
    /// then originals.
    ///
    /// Sorts the files behind the queue by their times if the walk gets there: a reader cannot extend the queue.
    package func forEachEvictionCandidate(_ visit: (EvictionCandidate) throws -> Bool) throws {
        try readers.read { try Self.forEachEvictionCandidate(on: $0, visit) }
    }

    /// Walks the rows of the files in the order of `forEachEvictionCandidate`.
    package func forEachEvictionFile(_ visit: (FileRecord) throws -> Bool) throws {
        try readers.read { connection in
            try Self.forEachEvictionCandidate(on: connection) { candidate in
                let sql = "SELECT \(FileRecord.columns) FROM file WHERE id = ?"
                return try connection.firstRow(sql, [candidate.fileID]) { FileRecord($0) }.map(visit) ?? true
            }
        }
    }

    private static func forEachEvictionCandidate(
        on connection: ReadConnection,
        _ visit: (EvictionCandidate) throws -> Bool
    ) throws {
        try connection.snapshot {
            var goesOn = true
            var renditions: Set<Int64> = []
            func isLast(_ original: EvictionCandidate) throws -> Bool {
                try !renditions.contains(original.fileID) && !visit(original)
            }
            try connection.forEachRow(SharedSQL.orderedRenditionSQL, []) { row in
                let rendition = EvictionCandidate(row)
                renditions.insert(rendition.fileID)
                goesOn = try visit(rendition)
                return goesOn
            }
            guard goesOn else { return }
            try connection.forEachRow(SharedSQL.queueSQL, [Int64.min, Int64.min, Int64.max]) { row in
                goesOn = try !isLast(EvictionCandidate(row))
                return goesOn
            }
            guard goesOn else { return }
            let end = try connection.integer(SharedSQL.queueEndSQL)
            try connection.forEachRow(unqueuedSQL, [end ?? .min]) { try !isLast(EvictionCandidate($0)) }
        }
    }

    /// The files of `caches` that are not in the queue, in the order of eviction. Reads the times of all files.
    static let unqueuedSQL = """
        SELECT file_id, size_bytes FROM access
        WHERE storage_class = 0 AND last_access_us >= ? ORDER BY last_access_us, file_id
        """

    /// The position of the original `id` of `caches`, last used at `microseconds`, in the order of `forEachEvictionCandidate`.
    ///
    /// For a file in the queue, this reads the rows of the queue before it; for any other file, the access times of all files.
    /// - Parameter limit: the limit on the rows read. Default: no limit.
    package func evictionPlace(of id: Int64, usedAt microseconds: Int64, readingAtMost limit: Int = .max) throws
        -> EvictionPlace
    {
        try readers.read { connection in
            try connection.snapshot {
                let isQueued = try microseconds < connection.integer(SharedSQL.queueEndSQL) ?? .min
                let place = try connection.firstRow(
                    isQueued ? Self.queuedBeforeSQL : Self.usedBeforeSQL,
                    [microseconds, id, Int64(limit)]
                ) { EvictionPlace(filesBefore: $0.count("before"), isExact: $0.integer("rows") < limit) }
                guard let place, place.isExact else { return place ?? EvictionPlace(filesBefore: 0, isExact: true) }
                // Renditions used later are evicted before it too.
                let later = try connection.firstRow(
                    Self.laterRenditionsSQL,
                    [microseconds, id, Int64(limit)]
                ) { (rows: $0.count("rows"), before: $0.count("before")) }
                return EvictionPlace(
                    filesBefore: place.filesBefore + (later?.before ?? 0),
                    isExact: (later?.rows ?? 0) < limit
                )
            }
        }
    }

    /// The number of rows of the queue before a time and a row id. The third parameter limits the rows read.
    static let queuedBeforeSQL = """
        SELECT count(*) AS rows, count(*) AS before FROM (
            SELECT 1 FROM eviction_queue WHERE (last_access_us, file_id) < (?1, ?2) LIMIT ?3
        )
        """
    /// The number of files of `caches` before a time and a row id. The third parameter limits the rows read.
    static let usedBeforeSQL = """
        SELECT count(*) AS rows,
            count(*) FILTER (WHERE storage_class = 0 AND (last_access_us, file_id) < (?1, ?2)) AS before
        FROM (SELECT storage_class, last_access_us, file_id FROM access LIMIT ?3)
        """

    /// The number of renditions at or behind a time and a row id. The third parameter limits the rows read.
    static let laterRenditionsSQL = """
        SELECT count(*) AS rows, count(*) FILTER (WHERE (last_access_us, file_id) > (?1, ?2)) AS before
        FROM (\(SharedSQL.renditionSQL) LIMIT ?3)
        """

    /// The entries that use the file.
    package func keys(usingFile id: Int64) throws -> [AvatarKey] {
        try readers.read { connection in
            try connection.rows("SELECT key FROM avatar WHERE file_id = ? ORDER BY key", [id]) {
                AvatarKey(stored: $0.text("key"))
            }
        }
    }

    /// The totals of a class: one row, whatever the number of files.
    private static func total(of storageClass: StorageClass, on connection: ReadConnection) throws -> ClassTotal {
        let total = try connection.firstRow(ClassTotal.sql, [storageClass.code]) { ClassTotal($0) }
        guard let total else { throw AvatarStoreError.lostTotals }
        return total
    }
}

extension AvatarIndex {
    /// The schema version of the index at `path`, and the migrations that are applied and pending. Nothing is changed.
    ///
    /// - Parameter isImmutable: the disk cannot be written; the file is read without locks.
    package static func migrationStatus(
        path: String,
        on fileSystem: any FileSystem,
        isImmutable: Bool = false
    ) throws -> (version: Int, applied: [String], pending: [String]) {
        let connection = try ReadConnection(
            path: path,
            on: fileSystem,
            isImmutable: isImmutable,
            busyTimeoutSeconds: IndexFile.openingTimeoutSeconds
        )
        let status = try SchemaStatus(of: connection)
        try status.requireOurs()
        return (
            status.version,
            Migration.all.filter { $0.version <= status.version }.map(\.name),
            Migration.all.filter { $0.version > status.version }.map(\.name)
        )
    }
}

/// The position of a file in the order of eviction.
package struct EvictionPlace: Equatable, Sendable {
    /// The number of files evicted before it.
    package let filesBefore: Int
    /// Whether all of them were counted. If not, there are at least `filesBefore`.
    package let isExact: Bool
}

extension ReadConnection {
    /// The values of all settings that were set, by name.
    func settings() throws -> [String: Int64] {
        var settings: [String: Int64] = [:]
        try forEachRow("SELECT name, value FROM setting", []) { row in
            settings[row.text("name")] = row.integer("value")
            return true
        }
        return settings
    }
}

/// The place of a published file, and the SHA-256 that its bytes must have.
package struct FileDigest: Sendable {
    /// The row id of the file.
    package let id: Int64
    package let storageClass: StorageClass
    package let path: String
    package let sha256: [UInt8]
}
