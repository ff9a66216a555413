package import AvatarCore
import GRDB

extension IndexTransaction {
    /// The store's id; made from `candidate` if the index is new.
    package func storeID(orNew candidate: String) throws -> String {
        if let row = try fetchRow("SELECT store_id FROM store") { return row[0] }
        try execute("INSERT INTO store (id, store_id) VALUES (1, ?)", [candidate])
        return candidate
    }

    /// The holder whose sync is running, or was when it died.
    package func syncHolder() throws -> String? {
        try fetchRow("SELECT sync_holder FROM store").flatMap { $0[0] }
    }

    /// Marks the sync of `holder` as running; `nil`: none is.
    package func setSyncHolder(_ holder: String?) throws {
        try execute("UPDATE store SET sync_holder = ?", [holder])
    }

    /// Keeps how the last sync ended.
    package func setLastSync(_ sync: LastSync) throws {
        try execute(
            """
            INSERT OR REPLACE INTO last_sync (id, ended_ms, duration_ms, outcome, wanted, failed, skipped)
            VALUES (1, ?, ?, ?, ?, ?, ?)
            """,
            [
                sync.time.milliseconds, Int64((max(0, sync.seconds) * 1000).rounded()), sync.outcome.rawValue,
                sync.wanted, sync.failed, sync.skipped,
            ]
        )
    }

    /// Records that files may differ from what is on stable storage from now on, during the boot `id`. All files that the
    /// index has are on stable storage until then, unless another process was first.
    package func beginBoot(_ id: String) throws {
        try execute(
            """
            UPDATE store SET boot_id = ?, durable_file_id = (SELECT coalesce(max(id), 0) FROM file)
            WHERE boot_id IS NULL
            """,
            [id]
        )
    }

    /// Replaces the boot that a power loss ended by the boot `id`: the files up to `lastDurableFile` are durable since.
    package func replaceBoot(by id: String, lastDurableFile: Int64) throws {
        try execute(
            "UPDATE store SET boot_id = ?, durable_file_id = max(durable_file_id, ?)",
            [id, lastDurableFile]
        )
    }

    /// Records that all files are on stable storage.
    package func endBoot() throws {
        try execute("UPDATE store SET boot_id = NULL")
    }

    /// Records that the files with row ids up to `id` are on stable storage.
    package func setLastDurableFile(_ id: Int64) throws {
        try execute("UPDATE store SET durable_file_id = max(durable_file_id, ?)", [id])
    }

    /// The value of the setting `name`, if it was ever set.
    package func setting(_ name: String) throws -> Int64? {
        try fetchRow("SELECT value FROM setting WHERE name = ?", [name]).map { $0[0] }
    }

    /// Keeps `value` for the setting `name`.
    package func setSetting(_ name: String, to value: Int64) throws {
        try execute(
            "INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            [name, value]
        )
    }

    /// Forgets the value of the setting `name`.
    package func removeSetting(_ name: String) throws {
        try execute("DELETE FROM setting WHERE name = ?", [name])
    }

    /// So much the uses of files lie apart at the most, in microseconds, after a clock was set back: a day.
    private static let longestAccessSpan: Int64 = 86_400_000_000

    /// Takes note of the time, and takes back what was written by a clock that ran ahead of it: that would put checks off
    /// for as long as the clock was wrong. Only then are the entries walked.
    ///
    /// - Parameter tolerance: in seconds; clocks differ a little.
    /// - Returns: how many entries that concerned.
    package func noteClock(_ now: Timestamp, tolerance: Int64, longestBlock: Int64) throws -> Int {
        let latest = try fetchRow("SELECT clock_ms FROM store").flatMap { $0[0] as Int64? }
        try execute("UPDATE store SET clock_ms = ?", [now.milliseconds])
        let ahead = now.adding(seconds: tolerance).milliseconds
        guard let latest, latest > ahead else { return 0 }
        try execute(
            """
            UPDATE avatar SET next_check_ms = min(next_check_ms, ?1), fresh_until_ms = min(fresh_until_ms, ?1),
                checked_ms = ?1
            WHERE checked_ms > ?2
            """,
            [now.milliseconds, ahead]
        )
        let count = database.changesCount
        // In their order, and none of them used later than now.
        try execute(
            """
            UPDATE file
            SET last_access_us = ?1 - min(?2, (SELECT max(last_access_us) FROM file) - last_access_us)
            WHERE last_access_us > ?3
            """,
            [now.milliseconds * 1000, Self.longestAccessSpan, ahead * 1000]
        )
        try execute(
            "UPDATE host SET blocked_until_ms = 0 WHERE blocked_until_ms > ?",
            [now.adding(seconds: longestBlock).milliseconds]
        )
        return count
    }

    /// Raises the hosts' earliest due times, which are lower bounds, to what their entries say.
    package func refreshDueTimes(ofHostsDueAt time: Timestamp) throws {
        try execute(
            """
            UPDATE host SET next_check_ms = coalesce(
                (
                    SELECT min(avatar.next_check_ms) FROM avatar
                    WHERE avatar.host_id = host.id
                        AND avatar.next_check_ms IS NOT NULL AND avatar.absence IS NOT 'evicted'
                ),
                9223372036854775807
            )
            WHERE next_check_ms <= ?
            """,
            [time.milliseconds]
        )
    }
}
