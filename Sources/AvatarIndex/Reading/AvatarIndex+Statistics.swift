package import AvatarCore
import AvatarMigrations

/// What the index can count.
package struct IndexStatistics: Sendable {
    package var entries = 0
    package var caches = ClassTotal(files: 0, bytes: 0, pendingFiles: 0, pendingBytes: 0)
    package var documents = ClassTotal(files: 0, bytes: 0, pendingFiles: 0, pendingBytes: 0)
    package var states: [String: Int] = [:]
    package var hosts = 0
    package var oldestAccessMicroseconds: Int64?
    package var newestAccessMicroseconds: Int64?
    package var schemaVersion = 0
    package var lastSync: LastSync?
    /// Entries whose last check failed, by the kind of the failure.
    package var failures: [String: Int] = [:]
    /// Entries that a contact uses and of which no image ever came.
    package var neverHad = 0
}

extension AvatarIndex {
    /// Counts of everything. Walks the entries once for their states; everything else is a row each.
    package func statistics() throws -> IndexStatistics {
        try readers.read { connection in
            try connection.snapshot {
                var statistics = IndexStatistics()
                for (state, count) in try connection.rows(
                    "SELECT state, count(*) FROM avatar_overview GROUP BY state",
                    [],
                    { ($0.text(0), Int($0.integer(1))) }
                ) {
                    statistics.states[state] = count
                    statistics.entries += count
                }
                statistics.caches = try Self.total(of: .caches, on: connection)
                statistics.documents = try Self.total(of: .documents, on: connection)
                statistics.hosts = try connection.firstRow("SELECT count(*) FROM host") { Int($0.integer(0)) } ?? 0
                let oldest = try Self.accessBounds("min", on: connection)
                let newest = try Self.accessBounds("max", on: connection)
                statistics.oldestAccessMicroseconds = oldest.min()
                statistics.newestAccessMicroseconds = newest.max()
                statistics.schemaVersion = try SchemaStatus(of: connection).version
                statistics.lastSync = try Self.lastSync(on: connection)
                try Self.countFailures(into: &statistics, on: connection)
                return statistics
            }
        }
    }

    private static func lastSync(on connection: ReadConnection) throws -> LastSync? {
        try connection.firstRow(
            "SELECT ended_ms, duration_ms, outcome, wanted, failed, skipped FROM last_sync"
        ) { row in
            LastSync(
                time: Timestamp(milliseconds: row.integer(0)),
                seconds: Double(row.integer(1)) / 1000,
                // A word that this program does not know is of a newer one, whose sync it cannot judge.
                outcome: SyncOutcome(rawValue: row.text(2)) ?? .failed,
                wanted: Int(row.integer(3)),
                failed: Int(row.integer(4)),
                skipped: Int(row.integer(5))
            )
        }
    }

    /// Walks the entries once. A source that has no picture for an e-mail address is no failure.
    private static func countFailures(
        into statistics: inout IndexStatistics,
        on connection: ReadConnection
    ) throws {
        let rows = try connection.rows(
            """
            SELECT failure, count(*), sum(
                fetched_ms IS NULL AND file_id IS NULL AND absence IS NULL
                AND EXISTS (SELECT 1 FROM owner WHERE owner.avatar_id = avatar.id)
            )
            FROM avatar
            WHERE host_id IS NOT NULL
                AND NOT (substr(key, 1, 6) = 'email:' AND file_id IS NULL AND failure IS 'gone')
            GROUP BY failure
            """,
            []
        ) { (kind: $0.optionalText(0), count: Int($0.integer(1)), neverHad: Int($0.integer(2))) }
        for row in rows {
            if let kind = row.kind { statistics.failures[kind] = row.count }
            statistics.neverHad += row.neverHad
        }
    }

    /// The sums of `storageClass`.
    package func total(of storageClass: StorageClass) throws -> ClassTotal {
        try readers.read { try Self.total(of: storageClass, on: $0) }
    }

    /// How many entries have a file.
    package func imageCount() throws -> Int {
        try readers.read { connection in
            try connection.firstRow("SELECT count(*) FROM avatar WHERE file_id IS NOT NULL") { Int($0.integer(0)) } ?? 0
        }
    }

    /// The value of the setting `name`, if it was ever set.
    package func setting(_ name: String) throws -> Int64? {
        try readers.read { connection in
            try connection.firstRow("SELECT value FROM setting WHERE name = ?", [.text(name)]) { $0.integer(0) }
        }
    }

    /// The boot during which the store was last changed without being closed afterwards, and the last file that was on
    /// stable storage then; `nil`: the store was closed.
    package func openBoot() throws -> (id: String, lastDurableFile: Int64)? {
        try readers.read { connection in
            try connection.firstRow("SELECT boot_id, durable_file_id FROM store WHERE boot_id IS NOT NULL") {
                ($0.text(0), $0.integer(1))
            }
        }
    }

    /// The highest row id of a file; 0 without files.
    package func lastFileID() throws -> Int64 {
        try readers.read { connection in
            try connection.firstRow("SELECT max(id) FROM file") { $0.optionalInteger(0) ?? 0 } ?? 0
        }
    }

    /// The SHA-256 that the bytes of the file must have; `nil` if the file is no longer published.
    package func digest(ofFile id: Int64) throws -> [UInt8]? {
        try readers.read { connection in
            try connection.firstRow("SELECT sha256 FROM file WHERE id = ?", [.integer(id)]) { $0.optionalBlob(0) }
                ?? nil
        }
    }

    /// Walks the files of `caches` in the order in which they would be evicted, until `visit` returns false.
    package func forEachEvictionCandidate(_ visit: (EvictionCandidate) throws -> Bool) throws {
        try readers.read { connection in
            try connection.statement(Self.candidatesSQL).forEachRow([.integer(0), .integer(.max)]) { row in
                try visit(EvictionCandidate(fileID: row.integer(0), sizeBytes: Int(row.integer(1))))
            }
        }
    }

    /// The order of eviction. Relies on the index `file_by_last_access`.
    static let candidatesSQL = """
        SELECT id, size_bytes FROM file WHERE storage_class = ? AND last_access_us < ? ORDER BY last_access_us, id
        """

    /// How many files of `caches` go before the file `id`, last used at `microseconds`, when room is needed. The order is
    /// that of `candidatesSQL`.
    package func filesEvicted(before id: Int64, usedAt microseconds: Int64) throws -> Int {
        try readers.read { connection in
            try connection.firstRow(
                """
                SELECT count(*) FROM file
                WHERE storage_class = 0 AND (last_access_us, id) < (?, ?)
                """,
                [.integer(microseconds), .integer(id)]
            ) { Int($0.integer(0)) } ?? 0
        }
    }

    /// The entries that use the file.
    package func keys(usingFile id: Int64) throws -> [AvatarKey] {
        try readers.read { connection in
            try connection.rows("SELECT key FROM avatar WHERE file_id = ? ORDER BY key", [.integer(id)]) {
                AvatarKey(stored: $0.text(0))
            }
        }
    }

    private static func total(of storageClass: StorageClass, on connection: ReadConnection) throws -> ClassTotal {
        let total = try connection.firstRow(
            "SELECT files, bytes, pending_files, pending_bytes FROM total WHERE storage_class = ?",
            [.integer(storageClass.code)]
        ) { row in
            ClassTotal(
                files: Int(row.integer(0)),
                bytes: Int(row.integer(1)),
                pendingFiles: Int(row.integer(2)),
                pendingBytes: Int(row.integer(3))
            )
        }
        guard let total else { throw AvatarStoreError(.damagedIndex, "The index has lost its totals.") }
        return total
    }

    /// The bound in each class: two look-ups in the index `file_by_last_access`.
    private static func accessBounds(_ bound: String, on connection: ReadConnection) throws -> [Int64] {
        try [StorageClass.caches, .documents].compactMap { storageClass in
            try connection.firstRow(
                "SELECT \(bound)(last_access_us) FROM file WHERE storage_class = ?",
                [.integer(storageClass.code)]
            ) { $0.optionalInteger(0) } ?? nil
        }
    }
}

extension AvatarIndex {
    /// The steps that the index at `path` has behind it and before it; nothing is changed.
    ///
    /// - Parameter isImmutable: the disk cannot be written; the file is read without locks.
    package static func migrationStatus(
        path: String,
        isImmutable: Bool = false
    ) throws -> (version: Int, applied: [String], pending: [String]) {
        let connection = try ReadConnection(
            path: path,
            isImmutable: isImmutable,
            busyTimeoutSeconds: openingTimeoutSeconds
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
