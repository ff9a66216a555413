package import AvatarCore
package import AvatarReports
import AvatarSQLite

/// A write that leaves every hit as it is.
///
/// SQLite refuses to prepare one that writes a column which hits read, or that deletes entries (`CommitWatch.watched`):
/// it throws before anything is changed, in a release build too.
struct KeepsHits {
    /// One statement; its parameters are bound when it runs.
    let sql: String

    /// The SQL is checked when SQLite prepares it, not here.
    init(_ sql: String) {
        self.sql = sql
    }
}

/// A write that may change what a hit returns. The hit cache learns of the rows that it changes.
struct ChangesHits {
    /// One statement; its parameters are bound when it runs.
    let sql: String

    /// For a write that changes no hit, `KeepsHits` is cheaper: no row is recorded.
    init(_ sql: String) {
        self.sql = sql
    }
}

/// A state of the index in which a transaction ended.
package struct IndexMoment: Sendable {
    /// Changes with each commit of another connection.
    fileprivate let version: Int64
    /// The use of the write connection.
    fileprivate let number: Int
    /// The transaction's knowledge of tables that are nearly always empty; `nil`: it did not look.
    fileprivate let rareRows: RareRows?
}

/// Whether tables that are nearly always empty have rows.
struct RareRows {
    /// Whether any image is ignored.
    var ignoresImages: Bool
    /// Whether there is an interrupted download.
    var hasPartials: Bool
}

/// The hosts, entries and digests that a transaction has read or added, so that it need not ask again.
final class TransactionMemory {
    /// The hosts, by name and port.
    var hosts: [String: KnownHost] = [:]
    /// The keys of the entries that were added.
    var insertedEntries: Set<AvatarKey> = []
    /// The first bytes of the digests of the files that were published or removed.
    private var changedDigests: Set<UInt64> = []
    /// The files of renditions that were removed from the index with their originals.
    var retiredRenditions: [PendingFile] = []
    /// The hits that were looked up.
    var hits: [IndexHit] = []
    /// Whether tables that are nearly always empty have rows; `nil`: not known.
    var rareRows: RareRows?

    /// Notes that a file with the digest `sha256` was published or removed.
    func noteChange(of sha256: [UInt8]) {
        changedDigests.insert(Self.beginning(of: sha256))
    }

    /// Whether a file with the digest `sha256` may have been published or removed. Two digests may begin alike.
    func mayHaveChanged(_ sha256: [UInt8]) -> Bool {
        changedDigests.contains(Self.beginning(of: sha256))
    }

    private static func beginning(of sha256: [UInt8]) -> UInt64 {
        sha256.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// One write transaction: everything that is changed together. Valid only inside the closure that it is handed to.
package struct IndexTransaction: RowSource {
    // No other file reaches these two: all writes go through `run`, and so the hit cache misses none.
    /// The transaction of SQLite, which `write` commits.
    private let transaction: Transaction
    /// The rows whose hits change. The hit cache gets them after the commit.
    private let changes: ChangedRows
    /// The changes to images, which the feed of changes tells when the transaction ends.
    let news = TransactionNews()
    /// The changes to the totals, which are written when the transaction ends.
    let totals = TransactionTotals()

    /// The hosts, entries and digests that this transaction has read or added so far.
    let memory = TransactionMemory()
    /// The number of the use of the write connection.
    private let number: Int

    /// - Parameter changes: collects the rows whose hits change.
    /// - Parameter number: the number of the use of the write connection. Default: 0, for a connection that no other
    ///   transaction relies on.
    init(_ transaction: Transaction, changes: ChangedRows, number: Int = 0) {
        (self.transaction, self.changes, self.number) = (transaction, changes, number)
    }

    /// The state of the index, as far as this process can tell it from others: the commits of other connections that
    /// this one has seen, and its own uses.
    package func moment() throws -> IndexMoment {
        // The lock for writing is held, so no other connection commits now.
        IndexMoment(version: try integer("PRAGMA data_version") ?? 0, number: number, rareRows: memory.rareRows)
    }

    /// Whether nothing was committed between the transaction at `earlier` and this one, which then knows what that one knew.
    package func follows(_ earlier: IndexMoment) throws -> Bool {
        guard try number == earlier.number + 1 && moment().version == earlier.version else { return false }
        memory.rareRows = memory.rareRows ?? earlier.rareRows
        return true
    }

    /// Whether tables that are nearly always empty have rows. Reads the index once in a transaction.
    func rareRows() throws -> RareRows {
        if let known = memory.rareRows { return known }
        let found = try firstRow(
            """
            SELECT EXISTS (SELECT 1 FROM ignored_picture) AS ignores_images,
                EXISTS (SELECT 1 FROM partial_download) AS has_partials
            """
        ) { RareRows(ignoresImages: $0.bool("ignores_images"), hasPartials: $0.bool("has_partials")) }
        let rows = found ?? RareRows(ignoresImages: true, hasPartials: true)
        memory.rareRows = rows
        return rows
    }

    /// Whether this transaction left the row of entry `id` as it found it.
    func isUntouched(_ id: Int64) -> Bool { !changes.touched.contains(id) }

    /// The number of entries that this transaction added.
    var insertedEntryCount: Int { changes.insertionCount }

    /// Runs a write that leaves every hit as it is.
    ///
    /// - Throws: `SQLiteError`, with the code `notAuthorized` if it does not.
    func run(_ write: KeepsHits, _ values: [any Bindable] = []) throws {
        try transaction.run(write.sql, values)
    }

    /// Runs a write that may change hits, and tells the hit cache of the rows.
    func run(_ write: ChangesHits, _ values: [any Bindable] = []) throws {
        try transaction.run(write.sql, values, telling: changes)
    }

    /// Hands each row of `sql` to `row`, which returns false to stop.
    func forEachRow(_ sql: String, _ values: [any Bindable], row: (borrowing Row) throws -> Bool) throws {
        try transaction.forEachRow(sql, values, row: row)
    }

    /// The row id that the last insertion gave.
    var lastInsertedRowID: Int64 { transaction.lastInsertedRowID }

    /// The number of rows that the last statement changed, without those of triggers.
    var changedRowCount: Int { transaction.changedRowCount }
}

// MARK: The store

extension IndexTransaction {
    /// The store's id; made from `candidate` if the index is new. Written either way, so that a commit that survives a loss
    /// of power makes it durable, even if another process had not.
    package func storeID(orNew candidate: String) throws -> String {
        if let id = try text("SELECT store_id FROM store") {
            try transaction.rewriteHeader()
            return id
        }
        try run(KeepsHits("INSERT INTO store (id, store_id) VALUES (1, ?)"), [candidate])
        return candidate
    }

    /// The holder whose sync is running, or was running when its process died.
    package func syncHolder() throws -> String? {
        try text("SELECT sync_holder FROM store")
    }

    /// Marks the sync of `holder` as running; `nil`: no sync is. If the process is killed, the free lock of its holder
    /// tells other processes that the sync is over.
    package func setSyncHolder(_ holder: String?) throws {
        try run(KeepsHits("UPDATE store SET sync_holder = ?"), [holder])
    }

    /// Stores the outcome of the last sync.
    package func setLastSync(_ sync: LastSync) throws {
        try run(
            KeepsHits(
                """
                INSERT OR REPLACE INTO last_sync (id, ended_ms, duration_ms, outcome, wanted, failed, skipped, over_budget)
                VALUES (1, ?, ?, ?, ?, ?, ?, ?)
                """
            ),
            [
                sync.time.milliseconds, Int64((max(0, sync.duration / .seconds(1)) * 1000).rounded()),
                sync.outcome.rawValue,
                sync.wanted, sync.failed, sync.skipped, sync.overBudget,
            ]
        )
    }

    /// The open boot, as `AvatarIndex.openBoot`, after every commit before this transaction.
    package func openBoot() throws -> (id: String, lastDurableFile: Int64)? { try storedBoot() }

    /// Records that from now on, during the boot `id`, files may not be on stable storage yet. All files that the index
    /// has are, unless another process recorded this first.
    ///
    /// Committed as durable (`AvatarIndex.Durability.power`) before the first change, so that the record survives the
    /// power loss that it is for.
    package func beginBoot(_ id: String) throws {
        try run(
            KeepsHits(
                """
                UPDATE store SET boot_id = ?, durable_file_id = (SELECT coalesce(max(id), 0) FROM file)
                WHERE boot_id IS NULL
                """
            ),
            [id]
        )
    }

    /// Replaces the record of the open boot by `id`: the files up to `lastDurableFile` are durable.
    package func replaceBoot(by id: String, lastDurableFile: Int64) throws {
        try run(
            KeepsHits("UPDATE store SET boot_id = ?, durable_file_id = max(durable_file_id, ?)"),
            [id, lastDurableFile]
        )
    }

    /// Records that all files are on stable storage.
    ///
    /// Called when the last process closes the store, once its file systems are synchronized.
    package func endBoot() throws {
        try run(KeepsHits("UPDATE store SET boot_id = NULL"))
    }

    /// Records that the files with row ids up to `id` are on stable storage.
    package func setLastDurableFile(_ id: Int64) throws {
        try run(KeepsHits("UPDATE store SET durable_file_id = max(durable_file_id, ?)"), [id])
    }

    /// The value of the setting `name`; `nil` if it has its default.
    package func setting(_ name: String) throws -> Int64? {
        try integer("SELECT value FROM setting WHERE name = ?", [name])
    }

    /// Stores `value` for the setting `name`.
    package func setSetting(_ name: String, to value: Int64) throws {
        try run(
            KeepsHits(
                "INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
            ),
            [name, value]
        )
    }

    /// Gives the setting `name` its default again.
    package func removeSetting(_ name: String) throws {
        try run(KeepsHits("DELETE FROM setting WHERE name = ?"), [name])
    }

    /// Stores the text `value` for the setting `name`; `nil` gives it its default again.
    package func setTextSetting(_ name: String, to value: String?) throws {
        try run(KeepsHits("DELETE FROM text_setting WHERE name = ?"), [name])
        if let value { try run(KeepsHits("INSERT INTO text_setting (name, value) VALUES (?, ?)"), [name, value]) }
    }

    /// The most microseconds between the last uses of two files after a clock was set back: a day.
    private static let longestAccessSpan: Int64 = 86_400_000_000

    /// Records the time, and corrects times that a clock running ahead has written: they would put checks off for as
    /// long as the clock was wrong. The entries are walked only if there are such times.
    ///
    /// - Parameter tolerance: in seconds; the difference between clocks that is normal.
    /// - Parameter longestBlock: in seconds; the longest pause that a host can have ahead of it.
    /// - Returns: the number of corrected entries.
    package func noteClock(_ now: Timestamp, tolerance: Int64, longestBlock: Int64) throws -> Int {
        let latest = try integer("SELECT clock_ms FROM store")
        try run(KeepsHits("UPDATE store SET clock_ms = ?"), [now.milliseconds])
        let ahead = now.adding(seconds: tolerance).milliseconds
        guard let latest, latest > ahead else { return 0 }
        try run(
            ChangesHits(
                """
                UPDATE avatar SET next_check_ms = min(next_check_ms, ?1), fresh_until_ms = min(fresh_until_ms, ?1),
                    checked_ms = ?1
                WHERE checked_ms > ?2
                """
            ),
            [now.milliseconds, ahead]
        )
        let count = changedRowCount
        // The files keep their order, and none was used later than now. Files used from now on must not be queued.
        try emptyEvictionQueue()
        try run(
            KeepsHits(
                """
                UPDATE access
                SET last_access_us = ?1 - min(?2, (SELECT max(last_access_us) FROM access) - last_access_us)
                WHERE last_access_us > ?3
                """
            ),
            [now.milliseconds * 1000, Self.longestAccessSpan, ahead * 1000]
        )
        memory.hosts = [:]
        try run(
            KeepsHits("UPDATE host SET blocked_until_ms = 0 WHERE blocked_until_ms > ?"),
            [now.adding(seconds: longestBlock).milliseconds]
        )
        return count
    }
}
